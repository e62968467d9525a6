"""The C++ door, read from its headers: classes with their public functions, structs, free functions.

They are written in one manner: a class begins in the first column, its members in the fifth. Enumerators
and codes are those of C.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PARTS = ROOT / "ffi-c" / "include" / "ferromcp"

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DETAIL = re.compile(r"^namespace detail \{.*?^\} // namespace detail$", re.M | re.S)
CLASS = re.compile(r"^class (\w+)[^{;]*\{\n(.*?)^\};", re.M | re.S)
STRUCT = re.compile(r"^struct (\w+) \{(.*?)\};", re.M | re.S)
FIELDS = re.compile(r"^ {4}(?! )[\w:<>]+ (\w+(?:, \w+)*);", re.M)
METHOD = re.compile(r"^ {4}(?! )(?:explicit |static )*(?:[\w:<>*& ]+? )??[*&]?(\w+)\(", re.M)
FUNCTION = re.compile(r"^(?:inline )[\w:<>*& ]+? (\w+)\(", re.M)


def surface() -> dict[str, object]:
    """Everything in the namespace `ferromcp`; a class stands for its constructors too."""
    text = "\n".join(part.read_text() for part in sorted(PARTS.glob("*.hpp")))
    text = DETAIL.sub("", text)
    text = COMMENT.sub("", text)
    names: list[str] = FUNCTION.findall(text)
    for name, body in CLASS.findall(text):
        public = "\n".join(re.findall(r"^public:\n(.*?)(?=^private:|\Z)", body, re.M | re.S))
        names.append(name)
        names.extend(f"{name}::{method}" for method in METHOD.findall(public) if method != name)
    for name, body in STRUCT.findall(text):
        names.append(name)
        names.extend(f"{name}::{field}" for fields in FIELDS.findall(body) for field in fields.split(", "))
    return dict.fromkeys(names)
