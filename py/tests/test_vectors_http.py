"""The vectors over HTTP on this door: real servers with Python functions, reached by sockets.

They run by the listener of our own, with `async def` functions on an event loop and with plain ones, and as
an ASGI application under uvicorn. tests/vectors/README.md says what the files mean, `vectors/plan.py` what is
left out.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vectors.carrier import Asgi, Listener, Uvicorn
from vectors.door import Catalogue
from vectors.pattern import Mismatch
from vectors.plan import ABLE, FOLDER, Road, StepSkip, VectorSkip, cases, read, step_skip, web_skip
from vectors.web import Served, Web

Start = Callable[[Catalogue, dict[str, Any]], Served]

FILES = {path.stem: path for path in sorted(FOLDER.glob("http/*.json"))}

# By carrier: the road of the functions, and what it can do beyond the plain format. Who a client is has to be
# found out by what carries a request; the listener of our own leaves that to others.
CARRIERS = {
    "loop": (Road.LOOP, ABLE),
    "threads": (Road.THREADS, ABLE),
    "asgi": (Road.LOOP, ABLE | {"principals"}),
}

# How many vectors run, and which do not. A vector that is added or taken away changes a number here; one that
# is left out has to be entered.
RUN = {"loop": 80, "threads": 78, "asgi": 81}
CLOCK = {"keep-alive", "session-idle"}
TASKS = {"task-id-in-header", "tasks-legacy"}
OF_ANOTHER = {"session-of-another"}
LEFT_OUT = {
    "loop": {VectorSkip.CLOCK: CLOCK, VectorSkip.NEEDS: OF_ANOTHER},
    "threads": {VectorSkip.CLOCK: CLOCK, VectorSkip.NEEDS: OF_ANOTHER, VectorSkip.TASKS: TASKS},
    "asgi": {VectorSkip.CLOCK: CLOCK},
}
STEPS_LEFT_OUT = {StepSkip.ADVANCE: 1, StepSkip.REASON: 1}


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


@pytest.fixture(scope="module")
def uvicorn(loop: asyncio.AbstractEventLoop) -> Iterator[Uvicorn]:
    """An ASGI server on that loop."""
    carrier = Uvicorn(loop)
    yield carrier
    carrier.close()


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    """What carries requests, and what functions there are."""
    return str(request.param)


@pytest.fixture
def start(carrier: str, uvicorn: Uvicorn) -> Start:
    """Has a server listened for."""
    return Listener if carrier != "asgi" else lambda catalogue, http: Asgi(catalogue, http, uvicorn)


@pytest.mark.parametrize("name", FILES)
def test_vector(name: str, carrier: str, start: Start, loop: asyncio.AbstractEventLoop) -> None:
    vector, (road, able) = read(FILES[name]), CARRIERS[carrier]
    skip = web_skip(vector, road, able)
    if skip is not None:
        pytest.skip(skip.value)
    for number, (server, names, steps) in enumerate(cases(vector), 1):
        catalogue = Catalogue(server, loop if road is Road.LOOP else None)
        served = start(catalogue, vector["http"])
        script = Web(served, names, vector["http"], tasks="tasks" in vector.get("needs", []))
        try:
            script.run(steps)
        except AssertionError as error:
            error.args = (f"case {number}: {error}",)
            raise
        assert script.checks, "nothing is held against anything"


def test_no_vector_stops_running(carrier: str) -> None:
    ran, steps_left_out = 0, Counter[StepSkip]()
    left_out: dict[VectorSkip, set[str]] = {}
    road, able = CARRIERS[carrier]
    for name, path in FILES.items():
        vector = read(path)
        skip = web_skip(vector, road, able)
        if skip is not None:
            left_out.setdefault(skip, set()).add(name)
            continue
        ran += 1
        for _, _, steps in cases(vector):
            steps_left_out.update(why for step in steps if (why := step_skip(step, road)))
    assert left_out == LEFT_OUT[carrier]
    assert steps_left_out == STEPS_LEFT_OUT
    assert ran == RUN[carrier], "vectors came or went: the number is changed by hand"


def test_corrupted_messages_are_noticed(loop: asyncio.AbstractEventLoop) -> None:
    """A member more, in whichever form a message comes."""
    noticed = 0
    for path in FILES.values():
        vector = read(path)
        if web_skip(vector, Road.LOOP, ABLE) is not None:
            continue
        server, names, steps = next(cases(vector))
        if not any({"error", "transmit", "transmitAll"} & set(step) for step in steps):
            continue
        served = Listener(Catalogue(server, loop), vector["http"])
        script = Web(served, names, vector["http"], change=_more, patience=1.0)
        with pytest.raises(Mismatch):
            script.run(steps)
        noticed += 1
    assert noticed > 50, "most vectors expect messages"


def _more(message: Any) -> Any:
    return [_more(item) for item in message] if isinstance(message, list) else {**message, "corrupt": ""}
