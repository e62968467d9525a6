"""The list of the public surface, read and spelt out: which concept has which name in which door.

`surface.toml` says at its head how it is written. What is wrong with the list itself is found here; whether
it is true of the doors, `test_parity.py` asks them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doors import DOORS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("surface.toml")
# Tables of the list that are no chapters.
REASONS, ONLY = "reasons", "only"
# What C puts before a concept's word: the type that it belongs to.
C_TYPES = re.compile(
    r"(?:fmcp_(?:(?:answers|call|server|engine|output|message|error|response)_)?"
    r"|FMCP_(?:ACTION|CODE|STATUS|TARGET|EVENT|DIAGNOSTIC|KIND|OUTCOME|LOG_LEVEL|REENTRY|END)_)(?=\w)"
)
HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass
class Cell:
    """A concept in one door: its names there, or none; `why` is a reason's key where one is given."""

    names: list[str]
    why: str | None


@dataclass
class Row:
    """A concept in all doors. `value` is what every door has that can tell, in `unit`."""

    id: str
    word: str
    cells: dict[str, Cell]
    value: Any = None
    unit: str | None = None


@dataclass
class Surface:
    """The whole list. `only` has, for each door, the names that no row has, by reason."""

    rows: list[Row]
    only: Mapping[str, Mapping[str, list[str]]]
    reasons: Mapping[str, str]

    def names(self, door: str) -> set[str]:
        """What the rows name in a door."""
        return {name for row in self.rows for name in row.cells[door].names}

    def names_alone(self, door: str) -> list[str]:
        """What only this door has."""
        return [name for names in self.only.get(door, {}).values() for name in names]


class Malformed(ValueError):
    """The list is not written as its head says."""


def read(text: str) -> Surface:
    """The list out of its text. Raises Malformed."""
    tables = tomllib.loads(text)
    reasons, only = tables.pop(REASONS, {}), tables.pop(ONLY, {})
    rows = [row for chapter, table in tables.items() for row in _rows(chapter, table)]
    return Surface(rows, only, reasons)


def _rows(chapter: str, table: Mapping[str, Any]) -> Iterator[Row]:
    if unknown := table.keys() - {"names", "none", "rows"}:
        raise Malformed(f"{chapter}: {sorted(unknown)}")
    for word, cells in table["rows"].items():
        place = f"{chapter}.{word}"
        if unknown := cells.keys() - {*DOORS, "value", "unit"}:
            raise Malformed(f"{place}: {sorted(unknown)}")
        read = {door: _cell(f"{place}, {door}", door, word, table, cells.get(door)) for door in DOORS}
        yield Row(place, word, read, cells.get("value"), cells.get("unit"))


def _cell(place: str, door: str, word: str, table: Mapping[str, Any], said: Mapping[str, Any] | None) -> Cell:
    if said is None and door in table.get("none", {}):
        return Cell([], table["none"][door])
    if said is None:
        if door not in table["names"]:
            raise Malformed(f"{place}: neither a name nor a reason for none")
        return Cell([_spelt(pattern, word) for pattern in _listed(table["names"][door])], None)
    if said.keys() == {"none"}:
        return Cell([], said["none"])
    if "as" not in said or said.keys() - {"as", "why"}:
        raise Malformed(f"{place}: {sorted(said)}")
    names = _listed(said["as"])
    others = [name for name in names if word_of(name) != word]
    if others and "why" not in said:
        raise Malformed(f"{place}: {', '.join(others)} is another word than {word}, for no reason")
    if not others and "why" in said:
        raise Malformed(f"{place}: a reason for nothing")
    return Cell(names, said.get("why"))


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _spelt(pattern: str, word: str) -> str:
    pascal = "".join(part.capitalize() for part in word.split("_"))
    camel = pascal[:1].lower() + pascal[1:]
    return pattern.format(snake=word, camel=camel, pascal=pascal, upper=word.upper())


def word_of(name: str) -> str:
    """The concept's word in a name, as a key of the list writes it."""
    last = re.split(r"::|\.|\(", name.rstrip(")"))[-1]
    return HUMPS.sub("_", C_TYPES.sub("", last, count=1)).lower()
