"""Cases B2 and B5: a cancelled request is stopped and never answered; a cancellation that means nothing is
ignored.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from process import PATIENCE
from wire import Wire, text_of

STOPPED = 0.3


def wait_for_marks(path: Path, number: int = 3) -> None:
    end = time.monotonic() + 10 * PATIENCE
    while not path.exists() or len(path.read_text()) < number:
        assert time.monotonic() < end, "the tool never began"
        time.sleep(0.01)


def assert_stopped_and_silent(wire: Wire, id: Any, path: Path) -> None:
    """The tool has seen the cancellation, its effect has stopped, and the wire says nothing about it."""
    end = time.monotonic() + 5 * PATIENCE
    while not path.read_text().endswith("C"):
        assert time.monotonic() < end, "the tool never learnt of the cancellation"
        time.sleep(0.01)
    marks = path.read_text()
    said = wire.quiet(STOPPED)
    assert path.read_text() == marks, "the tool went on"
    assert [message for message in said if message.get("id") == id] == []
    wire.alive()


@pytest.mark.parametrize("id", [0, "", pytest.param("text", marks=pytest.mark.engine)])
def test_b2_cancelled_coroutine(wire: Wire, tmp_path: Path, id: Any) -> None:
    path = tmp_path / "marks"
    wire.start("count", id=id, path=str(path), ms=10_000)
    wait_for_marks(path)
    wire.cancel(id)
    assert_stopped_and_silent(wire, id, path)


@pytest.mark.servers("native", "node", "c", "cpp")
def test_b2_cancelled_sync_tool_that_polls(wire: Wire, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    id = wire.start("count_sync", path=str(path), ms=10_000)
    wait_for_marks(path)
    wire.cancel(id)
    assert_stopped_and_silent(wire, id, path)


def test_b2_cancelled_sync_tool_that_does_not_poll(wire: Wire) -> None:
    """It cannot be stopped, but its answer is dropped."""
    id = wire.start("block", ms=300)
    wire.cancel(id)
    assert [message for message in wire.quiet(0.7) if message.get("id") == id] == []
    wire.alive()


def test_b2_cancelled_before_it_began(wire: Wire) -> None:
    """Request and cancellation in one write."""
    id = wire.new_id()
    frame = wire.call_frame("slow", {"ms": 300}, id=id)
    cancel = (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"why"}}\n'
        % id
    )
    wire.process.write(frame + cancel)
    assert [message for message in wire.quiet(0.6) if message.get("id") == id] == []
    wire.alive()


def test_b2_progress_stops_with_the_cancellation(wire: Wire) -> None:
    """Nothing further about a cancelled request: no progress and no log either."""
    id = wire.start("unruly_progress", meta={"progressToken": "gone"})
    wire.answer(id)
    id = wire.start("slow", meta={"progressToken": "gone"}, ms=200)
    wire.cancel(id)
    wire.alive()
    wire.inbox.clear()
    assert [
        m for m in wire.quiet(0.3) if m.get("id") == id or m.get("method") == "notifications/progress"
    ] == []


@pytest.mark.parametrize(
    "params",
    [
        '{"requestId":987654321}',
        '{"requestId":"987654321"}',
        '{"requestId":null}',
        '{"requestId":1.5}',
        '{"requestId":{}}',
        '{"reason":"no id"}',
        "{}",
        "[]",
        "null",
        '"x"',
        "",
    ],
)
def test_b5_cancellation_that_means_nothing(wire: Wire, params: str) -> None:
    line = (
        '{"jsonrpc":"2.0","method":"notifications/cancelled"'
        + (f',"params":{params}' if params else "")
        + "}"
    )
    wire.raw(line)
    wire.alive()
    assert wire.quiet(0.02) == []


def test_b5_late_cancellation(wire: Wire) -> None:
    id = wire.start("echo", text="quick")
    assert text_of(wire.answer(id)["result"]) == "quick"
    wire.cancel(id)
    wire.cancel(id)
    wire.alive()
    # The id is free again, and the late cancellation does not stick to it.
    assert text_of(wire.answer(wire.start("echo", id=id, text="again"))["result"]) == "again"
    assert wire.quiet(0.02) == []


def test_b5_cancelling_the_other_type_of_id(wire: Wire) -> None:
    """`"61"` is not `61`."""
    id = wire.start("slow", id=61, ms=150)
    wire.cancel("61")
    assert text_of(wire.answer(id)["result"]) == "done"


def test_b5_initialize_and_unknown_notifications_leave_no_trace(wire: Wire) -> None:
    wire.notify("notifications/nothing/such", {"x": 1}, valid=False)
    wire.notify("notifications/progress", {"progressToken": "mine", "progress": 1}, valid=False)
    wire.raw('{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}')
    wire.raw('{"jsonrpc":"2.0","method":"ping"}')
    wire.alive()
    assert wire.quiet(0.02) == []
