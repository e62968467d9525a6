"""Names and patterns: what stands for a value in a vector, and what a message is held against.

Decides nothing of its own; tests/vectors/README.md is the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .text import Number, kind, shorten, write

__all__ = ["Mismatch", "Names", "error_pattern", "hold", "hold_all", "resolve"]

Names = dict[str, Any]

_MATCHERS = {
    "$absent",
    "$any",
    "$bind",
    "$holds",
    "$line",
    "$oneOf",
    "$open",
    "$optional",
    "$type",
    "$unordered",
}


class Mismatch(AssertionError):
    """A message does not fit; the text says where."""


def resolve(value: Any, names: Mapping[str, Any]) -> Any:
    """The value with every `$name` in it replaced."""
    if isinstance(value, str) and not isinstance(value, Number) and value.startswith("$"):
        return value[1:] if value.startswith("$$") else resolve(names[value[1:]], names)
    if isinstance(value, dict):
        if set(value) == {"$join"}:
            return "".join(resolve(value["$join"], names))
        return {key: resolve(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, names) for item in value]
    return value


def hold(pattern: Any, value: Any) -> Names:
    """Holds a value against a pattern whose names are resolved; what `$bind` bound. Raises Mismatch."""
    bound: Names = {}
    _hold(pattern, value, bound, "")
    return bound


def hold_all(patterns: list[Any], values: list[Any]) -> Names:
    """Each pattern takes one value, whatever the order."""
    bound: Names = {}
    _unordered(patterns, values, bound, "")
    return bound


def error_pattern(operand: dict[str, Any]) -> dict[str, Any]:
    """The pattern of an error response that a step describes."""
    error = {
        "code": operand.get("code", {"$any": True}),
        "message": operand.get("message", {"$line": True}),
        "data": operand.get("data", {"$optional": {"$any": True}}),
    }
    identity = {"id": operand["id"]} if "id" in operand else {}
    return {"jsonrpc": "2.0", "error": error, **identity}


def _hold(pattern: Any, value: Any, bound: Names, where: str) -> None:
    matcher = _matcher(pattern)
    if matcher is not None:
        _match(matcher, pattern[matcher], value, bound, where)
    elif isinstance(pattern, dict):
        _members(pattern, value, bound, where, closed=True)
    elif isinstance(pattern, list) and isinstance(value, list) and len(pattern) == len(value):
        for at, (inner, item) in enumerate(zip(pattern, value, strict=True)):
            _hold(inner, item, bound, f"{where}[{at}]")
    else:
        _require(kind(pattern) == kind(value) and pattern == value, pattern, value, where)


def _require(fits: bool, wanted: Any, value: Any, where: str) -> None:
    if not fits:
        raise Mismatch(f"{where or 'message'}: expected {shorten(wanted)}, got {shorten(value)}")


def _matcher(pattern: Any) -> str | None:
    if isinstance(pattern, dict) and len(pattern) == 1:
        (key,) = pattern
        return key if key in _MATCHERS else None
    return None


def _match(matcher: str, operand: Any, value: Any, bound: Names, where: str) -> None:
    wanted = {matcher: operand}
    match matcher:
        case "$any":
            pass
        case "$type":
            fits = kind(value) == operand or (kind(value) == "integer" and operand == "number")
            _require(fits, wanted, value, where)
        case "$oneOf":
            _require(any(_fits(one, value) for one in operand), wanted, value, where)
        case "$line":
            _require(kind(value) == "string" and _is_line(value), wanted, value, where)
        case "$holds":
            _require(operand in write(value), wanted, value, where)
        case "$optional":
            _hold(operand, value, bound, where)
        case "$absent":
            _require(False, wanted, value, where)
        case "$open":
            _members(operand, value, bound, where, closed=False)
        case "$unordered":
            _require(isinstance(value, list), wanted, value, where)
            _unordered(operand, value, bound, where)
        case "$bind":
            bound[operand] = value


def _fits(pattern: Any, value: Any) -> bool:
    try:
        hold(pattern, value)
    except Mismatch:
        return False
    return True


def _is_line(text: str) -> bool:
    short = len(text.encode("utf-8", "surrogatepass")) <= 300
    return short and bool(text.strip()) and "\n" not in text and "\r" not in text


def _members(pattern: dict[str, Any], value: Any, bound: Names, where: str, *, closed: bool) -> None:
    _require(isinstance(value, dict), pattern, value, where)
    for key, inner in pattern.items():
        if key in value:
            _hold(inner, value[key], bound, f"{where}.{key}")
        elif _matcher(inner) not in ("$absent", "$optional"):
            raise Mismatch(f"{where}.{key} is not there in {shorten(value)}")
    for key in value:
        if closed and key not in pattern:
            raise Mismatch(f"{where}.{key} is unexpected: {shorten(value[key])}")


def _unordered(patterns: list[Any], values: list[Any], bound: Names, where: str) -> None:
    rest = list(values)
    for pattern in patterns:
        for at, value in enumerate(rest):
            if _fits(pattern, value):
                bound.update(hold(pattern, value))
                del rest[at]
                break
        else:
            raise Mismatch(f"{where or 'messages'}: nothing fits {shorten(pattern)} among {shorten(rest)}")
    if rest:
        raise Mismatch(f"{where or 'messages'}: unexpected: {shorten(rest[0])}")
