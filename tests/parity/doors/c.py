"""The C door, read from its header: functions, types, enumerators with their numbers, macros with theirs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEADER = ROOT / "ffi-c" / "include" / "ferromcp.h"

FUNCTION = re.compile(r"^[a-z][\w *]*?[ *](fmcp_\w+)\(", re.M)
ENUM = re.compile(r"^typedef enum \{\n(.*?)^\} (fmcp_\w+);", re.M | re.S)
ENUMERATOR = re.compile(r"^\s+(FMCP_\w+) = (-?\d+),", re.M)
STRUCT = re.compile(r"^(?:typedef struct fmcp_\w+|\}) (fmcp_\w+);", re.M)
CALLBACK = re.compile(r"^typedef \w+ \(\*(fmcp_\w+)\)", re.M)
NUMBER = re.compile(r"^#define (FMCP_CODE_\w+) \((-?\d+)\)", re.M)
MACRO = re.compile(r"^#define (FMCP_\w+)(?=[ \n])", re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def surface() -> dict[str, object]:
    """Everything that the header declares."""
    text = COMMENT.sub("", HEADER.read_text())
    names: dict[str, object] = dict.fromkeys([*MACRO.findall(text), *STRUCT.findall(text)])
    names.update(dict.fromkeys([*CALLBACK.findall(text), *FUNCTION.findall(text)]))
    names.update((name, int(number)) for name, number in NUMBER.findall(text))
    for body, kind in ENUM.findall(text):
        names[kind] = None
        names.update((name, int(number)) for name, number in ENUMERATOR.findall(body))
    return names
