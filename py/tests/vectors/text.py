"""JSON that keeps what Python's values would lose: the text of numbers and the escapes of strings.

Decides how a message is read and written by the tests; nothing of it is the package's own JSON, which is
under test.
"""

from __future__ import annotations

import json
import json.scanner
from typing import Any

__all__ = ["Number", "Text", "as_python", "kind", "parse", "shorten", "write"]

_LONGEST = 400


class Number(str):
    """A number by its text: 1 is not 1.0."""


class Text(str):
    """A string by what it stands for, with the text that it was read from."""

    raw: str


class _Decoder(json.JSONDecoder):
    def __init__(self) -> None:
        super().__init__(
            parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_members
        )
        self.parse_string = _string
        # The scanner in C does not ask for `parse_string`.
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _string(source: str, start: int, strict: bool = True) -> tuple[Text, int]:
    value, end = json.decoder.scanstring(source, start, strict)  # type: ignore[attr-defined]
    text = Text(value)
    text.raw = source[start - 1 : end]
    return text, end


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"a key stands twice among {[key for key, _ in pairs]}")
    return members


_decoder = _Decoder()


def parse(text: str | bytes) -> Any:
    """One JSON text; ValueError when it is none, or has a key twice."""
    return _decoder.decode(text.decode("utf-8") if isinstance(text, bytes) else text)


def write(value: Any) -> str:
    """Compact text on one line, with numbers and strings as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return value.raw if isinstance(value, Text) else json.dumps(value)


def as_python(value: Any) -> Any:
    """The same as host code would write it down: numbers as int and float."""
    return json.loads(write(value))


def kind(value: Any) -> str:
    """The name of its JSON type; `integer` for a number without fraction and exponent."""
    if isinstance(value, Number):
        return "integer" if value.lstrip("-").isdigit() else "number"
    if value is None:
        return "null"
    return {bool: "boolean", dict: "object", list: "array"}.get(type(value), "string")


def shorten(value: Any) -> str:
    """The text of a value, short enough for a failure."""
    text = write(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
