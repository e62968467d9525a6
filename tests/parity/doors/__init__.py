"""What each door really offers, read from the door itself.

Each module has `surface()`, a mapping from every public name, spelt as a program spells it, to its value: the
default of an option, the number of a code or an enumerator; None where it has none or the door can't tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

Surface = Mapping[str, object]

DOORS = ("rust", "python", "node", "c", "cpp")


def reader(door: str) -> Callable[[], Surface]:
    """The `surface` of a door's module."""
    read: Callable[[], Surface] = import_module(f"doors.{door}").surface
    return read
