"""The Python door, imported: what the package exports, with members of classes and options of functions.

`Server.tool(title)` is a parameter that has a default, and `Server(title)` one of the constructor; with the
default as its value.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import is_typeddict

import ferromcp


def surface() -> dict[str, object]:
    """Everything in `ferromcp.__all__`."""
    names: dict[str, object] = {}
    for name in ferromcp.__all__:
        item = getattr(ferromcp, name)
        names[name] = None
        if inspect.isclass(item):
            if item.__name__ != name:
                continue  # Another name of a class that is here already.
            names.update(_members(name, item))
        elif inspect.isfunction(item):
            names.update(_options(name, item))
    return names


def _members(name: str, item: type) -> Iterator[tuple[str, object]]:
    if dataclasses.is_dataclass(item):
        yield from ((f"{name}.{field.name}", None) for field in dataclasses.fields(item))
        return
    if is_typeddict(item):
        yield from ((f"{name}.{field}", None) for field in item.__annotations__)
        return
    if fields := getattr(item, "_fields", ()):  # a named tuple
        yield from ((f"{name}.{field}", None) for field in fields)
        return
    if issubclass(item, Exception):
        if "__init__" in vars(item):
            yield from ((f"{name}.{field}", None) for field in inspect.signature(item).parameters)
        return
    # With what it has from classes of ours.
    classes = [cls for cls in reversed(item.__mro__) if cls.__module__.startswith("ferromcp.")]
    for member, value in {name: value for cls in classes for name, value in vars(cls).items()}.items():
        if not member.startswith("_"):
            yield f"{name}.{member}", None
            if inspect.isfunction(value) and item is ferromcp.Server:
                yield from _options(f"{name}.{member}", value)
    if item is ferromcp.Server:
        yield f"{name}.name", None
        yield from _options(name, item)


def _options(name: str, function: object) -> Iterator[tuple[str, object]]:
    assert callable(function)
    for option in inspect.signature(function).parameters.values():
        if option.default is not option.empty and option.kind is not option.POSITIONAL_ONLY:
            yield f"{name}({option.name})", option.default
