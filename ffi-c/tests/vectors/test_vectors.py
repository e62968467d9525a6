"""The vectors that every door runs, on the C door: a program in C, an engine without a loop, our own clock.

All of them run, each step in whole: what the C level can't do is in LEFT_OUT, with its reason. The runner
of the C tests builds `driver.c` and names the command in FERROMCP_C_DRIVER.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from door import Door
from script import Script
from vectors.pattern import Mismatch
from vectors.plan import CAPABLE, FOLDER, cases, read

# Those in http/ are run by test_vectors_http.py.
FILES = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path
    for path in sorted(FOLDER.glob("*/*.json"))
    if path.parent.name != "http"
}
# Vectors that can't run through this door, and why.
LEFT_OUT: dict[str, str] = {}
# What this runner can do beyond the plain format.
ABLE = {"ask", "principals", "tasks"}
# What `$tasks` stands for: a modern client that can be asked everything, and takes tasks.
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TASKS = {
    **CAPABLE,
    CAPABILITIES: {**CAPABLE[CAPABILITIES], "extensions": {"io.modelcontextprotocol/tasks": {}}},
}
# Whole lines, and seven bytes, which falls into every part of a message sooner or later.
CUTS = pytest.mark.parametrize("cut", [None, 7], ids=["whole", "pieces"])


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """One driver for all vectors; each has an engine of its own in it."""
    driver = Door(shlex.split(os.environ["FERROMCP_C_DRIVER"]))
    yield driver
    # A leak, and whatever else a sanitizer or valgrind sees, is told by the exit code.
    assert driver.close() == 0


@CUTS
@pytest.mark.parametrize("name", FILES)
def test_vector(name: str, cut: int | None, door: Door) -> None:
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    vector = read(FILES[name])
    assert set(vector.get("needs", [])) <= ABLE
    for number, (server, names, steps) in enumerate(cases(vector), 1):
        script = Script(door, server, {"tasks": TASKS, **names}, cut=cut)
        try:
            script.run(steps)
        except AssertionError as error:
            error.args = (f"case {number}: {error}",)
            raise
        assert script.checks, "nothing is held against anything"


def test_corrupted_messages_are_noticed(door: Door) -> None:
    """A control: what would be wrong is noticed."""
    seen = 0
    for name, path in FILES.items():
        for server, names, steps in cases(read(path)):
            expects = any({"error", "transmit", "transmitAll"} & set(step) for step in steps)
            # An array answers a batch; a member can't be added to it.
            if not expects or name.startswith("batches/"):
                continue
            seen += 1
            with pytest.raises(Mismatch):
                Script(door, server, {"tasks": TASKS, **names}, change=_corrupted).run(steps)
    assert seen > 100, "most vectors expect messages"


def _corrupted(message: Any) -> Any:
    return {**message, "corrupt": ""} if isinstance(message, dict) else message
