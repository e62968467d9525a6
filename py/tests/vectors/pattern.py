"""Patterns and names, as `tests/vectors/README.md` defines them."""

from __future__ import annotations

import itertools
import json
from typing import Any


class Number(str):
    """A number by its text: 1 is not 1.0."""


def parse(text: str | bytes) -> Any:
    """JSON with numbers by their text."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def plain(value: Any) -> Any:
    """The same with numbers as Python has them."""
    return json.loads(write(value))


def write(value: Any) -> str:
    """JSON text with each number as it was written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write(item) for item in value) + "]"
    return json.dumps(value)


def resolve(value: Any, names: dict[str, Any]) -> Any:
    """Puts what names stand for in their places."""
    if isinstance(value, str) and not isinstance(value, Number) and value.startswith("$"):
        return value[1:] if value.startswith("$$") else resolve(names[value[1:]], names)
    if isinstance(value, dict):
        return {key: resolve(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, names) for item in value]
    return value


TYPES = {
    "number": lambda value: isinstance(value, Number),
    "integer": lambda value: isinstance(value, Number) and value.lstrip("-").isdigit(),
    "string": lambda value: isinstance(value, str) and not isinstance(value, Number),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


MATCHERS = {"$any", "$type", "$oneOf", "$line", "$holds", "$open", "$unordered", "$bind"}


def fits(pattern: Any, value: Any, names: dict[str, Any]) -> bool:
    """Whether a value fits a pattern; `$bind` enters into `names`."""
    if isinstance(pattern, dict):
        if len(pattern) == 1:
            ((key, operand),) = pattern.items()
            if key in MATCHERS:
                return matches(key, operand, value, names)
        return isinstance(value, dict) and members(pattern, value, names, closed=True)
    if isinstance(pattern, list):
        same = isinstance(value, list) and len(pattern) == len(value)
        return same and all(fits(one, other, names) for one, other in zip(pattern, value, strict=True))
    return type(pattern) is type(value) and pattern == value


def members(pattern: dict[str, Any], value: dict[str, Any], names: dict[str, Any], *, closed: bool) -> bool:
    """Whether the members of an object fit."""
    for key, inner in pattern.items():
        if isinstance(inner, dict) and len(inner) == 1 and next(iter(inner)) in ("$optional", "$absent"):
            if key in value and ("$absent" in inner or not fits(inner["$optional"], value[key], names)):
                return False
        elif key not in value or not fits(inner, value[key], names):
            return False
    return not closed or all(key in pattern for key in value)


def matches(key: str, operand: Any, value: Any, names: dict[str, Any]) -> bool:
    """Whether a value fits a matcher."""
    match key:
        case "$any":
            return True
        case "$type":
            return bool(TYPES[operand](value))
        case "$oneOf":
            return any(fits(pattern, value, names) for pattern in operand)
        case "$line":
            text = isinstance(value, str) and not isinstance(value, Number)
            return text and 0 < len(value.encode("utf-8", "surrogatepass")) <= 300 and "\n" not in value
        case "$holds":
            return json.dumps(operand)[1:-1] in write(value) or operand in write(value)
        case "$open":
            return isinstance(value, dict) and members(operand, value, names, closed=False)
        case "$unordered":
            if not isinstance(value, list) or len(value) != len(operand):
                return False
            orders = itertools.permutations(value)
            return any(
                all(fits(o, v, names) for o, v in zip(operand, order, strict=True)) for order in orders
            )
        case "$bind":
            names[operand] = value
            return True
    raise AssertionError(f"no matcher is called {key}")
