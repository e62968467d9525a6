"""The doors offer what `surface.toml` says and nothing else, with the same words and the same values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache

import pytest
from doors import DOORS, reader
from surface import LIST, Row, Surface, read

UNITS = {"us": "microseconds", "ms": "milliseconds", "s": "seconds"}
# Members of JSON options, which a door can only be tried with: test_options.py does.
TRIED = ("config.", "options.", "policy.", "http.", "listener.")

every_door = pytest.mark.parametrize("door", DOORS)


@cache
def listed() -> Surface:
    return read(LIST.read_text())


@cache
def real(door: str) -> Mapping[str, object]:
    return reader(door)()


def absent(surface: Surface, door: str, found: Mapping[str, object]) -> list[str]:
    """What the list names and the door has not."""
    named = {name for name in surface.names(door) if not name.startswith(TRIED)}
    return sorted((named | set(surface.names_alone(door))) - found.keys())


def unlisted(surface: Surface, door: str, found: Mapping[str, object]) -> list[str]:
    """What the door has and the list does not name."""
    return sorted(found.keys() - surface.names(door) - set(surface.names_alone(door)))


def different(surface: Surface, door: str, found: Mapping[str, object]) -> list[str]:
    """Where the door has another value than the list."""
    return [
        f"{name}: {found[name]}, listed {row.value}"
        for row in surface.rows
        for name in row.cells[door].names
        if row.value is not None and found.get(name) is not None and not same(found[name], row)
    ]


def same(found: object, row: Row) -> bool:
    if isinstance(found, timedelta):
        assert row.unit in UNITS, f"{row.id} needs a unit of time"
        return found == timedelta(**{UNITS[row.unit]: row.value})
    return found == row.value and isinstance(found, bool) == isinstance(row.value, bool)


@every_door
def test_every_name_of_the_list_is_there(door: str) -> None:
    assert absent(listed(), door, real(door)) == []


@every_door
def test_whatever_a_door_offers_is_listed(door: str) -> None:
    assert unlisted(listed(), door, real(door)) == []


@every_door
def test_values_are_the_same(door: str) -> None:
    assert different(listed(), door, real(door)) == []


@every_door
def test_what_stands_alone_stands_once(door: str) -> None:
    alone = listed().names_alone(door)
    assert len(alone) == len(set(alone))
    assert not set(alone) & listed().names(door)


def test_every_reason_is_said_once_and_used() -> None:
    surface = listed()
    used = {cell.why for row in surface.rows for cell in row.cells.values() if cell.why is not None}
    used.update(reason for door in surface.only.values() for reason in door)
    assert used == set(surface.reasons)
    assert len(set(surface.reasons.values())) == len(surface.reasons)


def test_values_are_compared_with_something() -> None:
    """A value that no door can tell would be held against nothing."""
    counts = {
        door: sum(
            row.value is not None and any(real(door).get(name) is not None for name in row.cells[door].names)
            for row in listed().rows
        )
        for door in DOORS
    }
    assert counts["rust"] >= 20, counts
    assert counts["c"] >= 20, counts
    assert counts["python"] > 0, counts
