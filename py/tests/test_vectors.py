"""The vectors that every door runs, on this one: real servers with Python functions, served on pipes.

Each vector runs on two roads: `async def` functions on an event loop, and plain functions on the server's
threads without one. tests/vectors/README.md says what the files mean, `vectors/plan.py` what is left out.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vectors.host import DEADLINE
from vectors.pattern import Mismatch, hold, resolve
from vectors.plan import FOLDER, Road, StepSkip, VectorSkip, cases, read, step_skip, vector_skip
from vectors.script import Script
from vectors.text import Number, kind, parse, write

# Those in http/ are run by test_vectors_http.py.
FILES = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path
    for path in sorted(FOLDER.glob("*/*.json"))
    if path.parent.name != "http"
}

# How many vectors run, which do not, and how many of the others' steps do not, over all their cases. A vector
# that is added or taken away changes a number here; one that is left out has to be entered.
RUN = {Road.LOOP: 320, Road.THREADS: 285}
LEFT_OUT: dict[VectorSkip, set[str]] = {
    VectorSkip.CLOCK: {
        "asking/held-unanswered",
        "asking/state-expired",
        "cancellation/never-sent-to-modern",
        "lifecycle/call-deadline",
        "stdio/end-of-input-bounded",
        "tasks/expired",
    },
    VectorSkip.NEEDS: {"tasks/legacy-principal", "tasks/principal"},
    VectorSkip.CONNECTIONS: {
        "asking/any-connection",
        "asking/legacy-url-complete",
        "modern/two-connections",
    },
}
LEFT_OUT_ON_THREADS: dict[VectorSkip, set[str]] = {
    VectorSkip.ASKS: {
        "lifecycle/no-requests-to-modern",
        "lifecycle/ping-to-client",
        "lifecycle/requests-before-initialized",
        "lifecycle/requests-time-out",
        "lifecycle/requests-to-client",
        "lifecycle/requests-to-client-capabilities",
        "lifecycle/requests-to-client-ids",
        "lifecycle/requests-to-client-refused",
        "lifecycle/requests-to-client-undeclared",
    },
    VectorSkip.TASKS: {name for name in FILES if name.startswith("tasks/")}
    - LEFT_OUT[VectorSkip.CLOCK]
    - LEFT_OUT[VectorSkip.NEEDS],
    VectorSkip.SPELLING: {"jsonrpc/numbers-untouched"},
}
STEPS_LEFT_OUT = {
    Road.LOOP: {StepSkip.ADVANCE: 2, StepSkip.EVENT: 21, StepSkip.REASON: 15},
    Road.THREADS: {StepSkip.EVENT: 24, StepSkip.REASON: 15},
}

ROADS = pytest.mark.parametrize("road", list(Road), ids=[road.value for road in Road])
EXPECTATIONS = {"error", "transmit", "transmitAll"}

Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop on a thread of its own, for the functions of all servers."""
    event_loop = asyncio.new_event_loop()
    thread = threading.Thread(target=event_loop.run_forever, name="loop")
    thread.start()
    yield event_loop
    event_loop.call_soon_threadsafe(event_loop.stop)
    thread.join()
    event_loop.close()


@ROADS
@pytest.mark.parametrize("name", FILES)
def test_vector(name: str, road: Road, loop: asyncio.AbstractEventLoop) -> None:
    vector = read(FILES[name])
    skip = vector_skip(name, vector, road)
    if skip is not None:
        pytest.skip(skip.value)
    for number, (server, names, steps) in enumerate(cases(vector), 1):
        script = Script(server, names, road, loop)
        try:
            script.run(steps)
        except AssertionError as error:
            error.args = (f"case {number}: {error}",)
            raise
        assert script.checks, "nothing is held against anything"


@ROADS
def test_no_vector_stops_running(road: Road) -> None:
    ran, steps_left_out = 0, Counter[StepSkip]()
    left_out: dict[VectorSkip, set[str]] = {}
    for name, path in FILES.items():
        vector = read(path)
        skip = vector_skip(name, vector, road)
        if skip is not None:
            left_out.setdefault(skip, set()).add(name)
            continue
        ran += 1
        for _, _, steps in cases(vector):
            steps_left_out.update(why for step in steps if (why := step_skip(step, road)))
    assert left_out == {**LEFT_OUT, **(LEFT_OUT_ON_THREADS if road is Road.THREADS else {})}
    assert steps_left_out == STEPS_LEFT_OUT[road]
    assert ran == RUN[road], "vectors came or went: the number is changed by hand"


# Controls: what would be wrong is noticed.


def _more(message: Any) -> Any:
    """A member that no message has."""
    return [_more(item) for item in message] if isinstance(message, list) else {**message, "corrupt": ""}


def _other_version(message: Any) -> Any:
    """Another value in the member that every message has."""
    if isinstance(message, list):
        return [_other_version(item) for item in message]
    return {**message, "jsonrpc": "2.1"}


def _other_value(message: Any) -> Any:
    """Another value in one member of the result, the parameters or the error: the innermost of the last."""
    if isinstance(message, list):
        return [*message[:-1], _other_value(message[-1])] if message else ["corrupt"]
    if isinstance(message, dict):
        # What an error says is free; its code is not.
        last = "code" if "code" in message and "message" in message else next(reversed(message), "corrupt")
        return {**message, last: _other_value(message.get(last))}
    if isinstance(message, Number):
        return Number(message + "1")
    return f"{message}~" if isinstance(message, str) else not message


@pytest.mark.parametrize(
    ("change", "most"),
    [(_more, 0), (_other_version, 0), (_other_value, 17)],
    ids=["member", "version", "value"],
)
def test_corrupted_messages_are_noticed(change: Change, most: int, loop: asyncio.AbstractEventLoop) -> None:
    noticed, unnoticed = 0, []
    for name, path in FILES.items():
        vector = read(path)
        if vector_skip(name, vector, Road.LOOP) is not None:
            continue
        for server, names, steps in cases(vector):
            if not any(EXPECTATIONS & set(step) for step in steps):
                break
            try:
                Script(server, names, Road.LOOP, loop, change=change, patience=1.0).run(steps)
            except Mismatch:
                noticed += 1
                break
        else:
            unnoticed.append(name)
    assert noticed > 200, "most vectors expect messages"
    assert len(unnoticed) <= most, f"these hold by patterns that take anything: {unnoticed}"


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("1", "1", "1.0"),
        ("1", "1", '"1"'),
        ("true", "true", "1"),
        (r'"\u00e9"', '"é"', '"e"'),
        (r'"\ud800"', r'"\uD800"', r'"\ud801"'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1}'),
        ('{"a": 1}', '{"a": 1}', '{"a": 1, "b": 2}'),
        ("[1, 2]", "[1, 2]", "[2, 1]"),
        ("[1, 2]", "[1, 2]", "[1, 2, 3]"),
        ('[{"$any": true}]', '["x"]', "[]"),
        ('{"$type": "string"}', '"1"', "1"),
        ('{"$type": "number"}', "1", "true"),
        ('{"$type": "integer"}', "-1", "1.0"),
        ('{"$type": "null"}', "null", "false"),
        ('{"$oneOf": [1, 2]}', "2", "3"),
        ('{"$line": true}', '"one line"', r'"two\nlines"'),
        ('{"$line": true}', '"one line"', '" "'),
        ('{"$holds": "1.50"}', '{"a": 1.50}', '{"a": 1.5}'),
        ('{"$open": {"a": 1}}', '{"a": 1, "b": 2}', '{"b": 2}'),
        ('{"$unordered": [1, 2]}', "[2, 1]", "[1, 1]"),
        ('{"$unordered": [1]}', "[1]", "[1, 1]"),
        ('{"a": {"$optional": 1}}', "{}", '{"a": 2}'),
        ('{"a": {"$absent": true}}', "{}", '{"a": null}'),
    ],
)
def test_patterns(pattern: str, fits: str, does_not: str) -> None:
    hold(parse(pattern), parse(fits))
    with pytest.raises(Mismatch):
        hold(parse(pattern), parse(does_not))


def test_names() -> None:
    names = hold(parse('{"a": {"$bind": "x"}, "b": [{"$bind": "y"}]}'), parse('{"a": 1.50, "b": ["$$"]}'))
    assert write(names["x"]) == "1.50"
    assert resolve(parse('["$x", {"k": "$x"}, "$$x"]'), names) == ["1.50", {"k": "1.50"}, "$x"]
    assert kind(resolve("$x", names)) == "number"
    with pytest.raises(KeyError):
        resolve("$z", names)


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', "NaN", "[1,]", '"\n"', "1 2"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@ROADS
def test_servers_leave_nothing_behind(road: Road, loop: asyncio.AbstractEventLoop) -> None:
    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/dev/fd"))

    def run(times: int) -> None:
        for _ in range(times):
            for server, names, steps in cases(read(FILES["cancellation/cancel"])):
                Script(server, names, road, loop).run(steps)

    run(1)
    before = descriptors()
    run(5)
    # The server's last thread, which told of the end, is about to end itself.
    end = time.monotonic() + DEADLINE
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert descriptors() <= before
