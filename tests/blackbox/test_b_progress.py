"""Cases B10, B11, C28 and the server's half of D11: what is said while a request runs, and to whom."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from checker import Message
from wire import Wire, text_of

PROGRESS = "notifications/progress"
LOG = "notifications/message"


def with_token(wire: Wire, tool: str, token: Any, **arguments: Any) -> list[Message]:
    """Calls a tool with a progress token; gives the params of the progress that came before the answer."""
    wire.answer(wire.start(tool, meta={"progressToken": token}, **arguments))
    return [message["params"] for message in wire.notifications(PROGRESS)]


@pytest.mark.parametrize("token", [0, 1, -5, "a/b", "", "7", 7, 2**53 + 1])
def test_b10_token_and_its_type_come_back(wire: Wire, token: Any) -> None:
    progress = with_token(wire, "progress", token, n=3)
    assert [params["progressToken"] for params in progress] == [token] * 3
    assert all(type(params["progressToken"]) is type(token) for params in progress)
    assert [params["progress"] for params in progress] == [1, 2, 3]
    assert [params["total"] for params in progress] == [3, 3, 3]
    assert [params["message"] for params in progress] == ["step 1", "step 2", "step 3"]


def test_b10_no_token_no_progress(wire: Wire) -> None:
    assert text_of(wire.call("progress", n=3)) == "ok"
    assert wire.quiet(0.05) == []


@pytest.mark.parametrize("token", ["null", "1.5", "true", "{}", "[]"])
def test_b10_a_token_that_is_none(wire: Wire, token: str) -> None:
    """Refused, or treated as absent; never echoed."""
    frame = wire.frame(
        "tools/call", {"name": "progress", "arguments": {"n": 2}}, id="odd", meta={"progressToken": "PLACE"}
    )
    wire.tamper(frame, b'"PLACE"', token.encode())
    response = wire.answer("odd")
    assert "result" in response or response["error"]["code"] in (-32602, -32600)
    assert wire.notifications(PROGRESS) == []


def test_b11_values_rise_and_stop_with_the_answer(wire: Wire) -> None:
    progress = with_token(wire, "unruly_progress", "unruly")
    assert [params["progress"] for params in progress] == [5]
    assert wire.quiet(0.3) == []
    wire.alive()


def test_b11_progress_arrives_while_the_tool_runs(wire: Wire) -> None:
    """It is worth nothing beside the answer: each report is on its way before the tool goes on sleeping."""
    id = wire.start("progress", meta={"progressToken": "live"}, n=3, ms=200)
    for value in (1, 2, 3):
        message = wire.next()
        assert message["params"]["progress"] == value
    wire.answer(id)
    times = [at for at, message in wire.arrivals[-4:]]
    assert all(later - earlier > 0.1 for earlier, later in pairwise(times))


def test_b11_progress_of_two_requests_is_not_mixed(wire: Wire) -> None:
    first = wire.start("progress", meta={"progressToken": 1}, n=20)
    second = wire.start("progress", meta={"progressToken": "1"}, n=20)
    wire.answer(first)
    wire.answer(second)
    by_token: dict[Any, list[int]] = {}
    for message in wire.notifications(PROGRESS):
        params = message["params"]
        by_token.setdefault((type(params["progressToken"]), params["progressToken"]), []).append(
            params["progress"]
        )
    assert by_token == {(int, 1): list(range(1, 21)), (str, "1"): list(range(1, 21))}


@pytest.mark.servers("native", "node", "c", "cpp")
def test_b11_eight_threads_report_at_once(wire: Wire) -> None:
    """H12 too: callbacks from many threads neither mix lines nor lock each other out."""
    progress = with_token(wire, "crowd", "crowd", n=200)
    values = [params["progress"] for params in progress]
    assert values == sorted(set(values))
    assert 1 <= len(values) <= 1600


def level_of(wire: Wire, level: str) -> dict[str, str]:
    """Asks for logs from a level on, as the era does it."""
    if wire.modern:
        return {"io.modelcontextprotocol/logLevel": level}
    if "logging" in wire.opened["capabilities"]:
        assert wire.result("logging/setLevel", {"level": level}) == {}
    else:
        assert wire.error("logging/setLevel", {"level": level})["code"] == -32601
    return {}


@pytest.mark.parametrize(
    ("level", "expected"),
    [("debug", ["debug", "info", "warning", "error"]), ("warning", ["warning", "error"]), ("emergency", [])],
)
def test_d11_logs_from_the_level_asked_for(wire: Wire, level: str, expected: list[str]) -> None:
    wire.answer(wire.start("logs", meta=level_of(wire, level), n=2))
    levels = [message["params"]["level"] for message in wire.notifications(LOG)]
    if "logging" in wire.opened["capabilities"] or wire.modern:
        assert levels == expected * 2


@pytest.mark.eras("modern")
def test_d11_no_logs_without_opting_in(wire: Wire) -> None:
    wire.call("logs", n=2)
    assert wire.quiet(0.05) == []


def test_c28_lists_are_answered_amid_a_flood_of_notifications(wire: Wire) -> None:
    """A tool that logs and reports a lot, the four lists asked for meanwhile: all within a second or so."""
    meta = level_of(wire, "debug")
    progress = wire.start("progress", meta={"progressToken": "flood"}, n=100)
    logs = wire.start("logs", meta=meta, n=25)
    lists = [
        wire.request(method)
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
    ]
    for id in (*lists, progress, logs):
        assert "result" in wire.answer(id, timeout=2)
    assert len(wire.notifications(PROGRESS)) == 100
    assert len(wire.notifications(LOG)) in (100, 0 if "logging" not in wire.opened["capabilities"] else 100)
