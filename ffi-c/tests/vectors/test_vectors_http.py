"""The vectors over HTTP on the C door: a program in C whose server listens, and a client on sockets.

The runner of the C tests builds `listener.c` and names the command in FERROMCP_C_LISTENER.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from door import Door
from served import Served
from vectors.pattern import Mismatch
from vectors.plan import ABLE, FOLDER, Road, VectorSkip, cases, read, web_skip
from vectors.web import Web

FILES = {path.stem: path for path in sorted(FOLDER.glob("http/*.json"))}
# Who a client is has to be found out by what carries a request; our own listener leaves that to others.
LEFT_OUT = {VectorSkip.CLOCK: {"keep-alive", "session-idle"}, VectorSkip.NEEDS: {"session-of-another"}}
# How many run. A vector that is added or taken away changes it.
RUN = 80


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """One program for all vectors; each has a server of its own in it."""
    listener = Door(shlex.split(os.environ["FERROMCP_C_LISTENER"]))
    yield listener
    # A leak, and whatever else a sanitizer or valgrind sees, is told by the exit code.
    assert listener.close() == 0


def _skip(vector: dict[str, Any]) -> VectorSkip | None:
    return web_skip(vector, Road.LOOP, ABLE)


@pytest.mark.parametrize("name", FILES)
def test_vector(name: str, door: Door) -> None:
    vector = read(FILES[name])
    skip = _skip(vector)
    if skip is not None:
        pytest.skip(skip.value)
    for number, (server, names, steps) in enumerate(cases(vector), 1):
        served = Served(door, server, vector["http"])
        script = Web(served, names, vector["http"], tasks="tasks" in vector.get("needs", []))
        try:
            script.run(steps)
        except AssertionError as error:
            error.args = (f"case {number}: {error}",)
            raise
        assert script.checks, "nothing is held against anything"


def test_no_vector_stops_running() -> None:
    left_out: dict[VectorSkip, set[str]] = {}
    for name, path in FILES.items():
        if (skip := _skip(read(path))) is not None:
            left_out.setdefault(skip, set()).add(name)
    assert left_out == LEFT_OUT
    assert len(FILES) - sum(map(len, left_out.values())) == RUN, "vectors came or went"


def test_corrupted_messages_are_noticed(door: Door) -> None:
    """A control: what would be wrong is noticed."""
    noticed = 0
    for path in FILES.values():
        vector = read(path)
        server, names, steps = next(cases(vector))
        expects = any({"error", "transmit", "transmitAll"} & set(step) for step in steps)
        if _skip(vector) is not None or not expects:
            continue
        served = Served(door, server, vector["http"])
        script = Web(served, names, vector["http"], change=_corrupted, patience=1.0)
        with pytest.raises(Mismatch):
            script.run(steps)
        noticed += 1
    assert noticed > 50, "most vectors expect messages"


def _corrupted(message: Any) -> Any:
    return [_corrupted(item) for item in message] if isinstance(message, list) else {**message, "corrupt": ""}
