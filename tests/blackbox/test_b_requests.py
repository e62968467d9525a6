"""Cases B1, B7 and B17: requests are independent of each other, and every answer carries its own request's
id.
"""

from __future__ import annotations

import statistics
import time

import pytest
from conftest import Start
from process import PATIENCE
from wire import Wire, failed, text_of

# JavaScript has one thread for all tools: one that blocks holds up the others, and not the protocol.
WITH_THREADS = pytest.mark.servers("native", "c", "cpp", "fastmcp", "mcpserver")


@WITH_THREADS
def test_b1_a_blocking_tool_delays_nobody(wire: Wire) -> None:
    delays_nobody(wire, "block")


def test_b1_a_waiting_tool_delays_nobody(wire: Wire) -> None:
    delays_nobody(wire, "slow")


def delays_nobody(wire: Wire, tool: str) -> None:
    waiting = wire.start(tool, ms=600)
    took = []
    for _ in range(8):
        took.append(wire.alive())
        began = time.monotonic()
        assert text_of(wire.call("echo", text="me too")) == "me too"
        took.append(time.monotonic() - began)
    assert statistics.median(took) < 0.1 * PATIENCE
    assert max(took) < 0.4 * PATIENCE, "one of them waited for the tool"
    assert text_of(wire.answer(waiting)["result"]) == "done"


@pytest.mark.parametrize("tool", ["block", "busy"])
def test_b1_a_computing_tool_does_not_stop_what_the_engine_answers(wire: Wire, tool: str) -> None:
    computing = wire.start(tool, ms=500)
    took = [wire.alive() for _ in range(10)]
    assert statistics.median(took) < 0.1 * PATIENCE
    wire.answer(computing)


@WITH_THREADS
@pytest.mark.parametrize(("number", "ms", "bound"), [(2, 500, 0.8), (12, 300, 1.2)])
def test_b1_blocking_tools_run_beside_each_other(wire: Wire, number: int, ms: int, bound: float) -> None:
    began = time.monotonic()
    ids = [wire.start("block", ms=ms) for _ in range(number)]
    for id in ids:
        assert text_of(wire.answer(id)["result"]) == "done"
    assert time.monotonic() - began < bound * PATIENCE


def test_b1_answers_come_as_they_are_ready(wire: Wire, server: str) -> None:
    """A slow call ahead of quick ones in the same write: the quick ones are answered first."""
    slow = wire.call_frame("slow" if server == "node" else "block", {"ms": 400}, id="slow")
    quick = [wire.call_frame("echo", {"text": str(n)}, id=f"quick-{n}") for n in range(50)]
    wire.process.write(slow + b"".join(quick))
    order = [wire.receive()["id"] for _ in range(51)]
    assert order[-1] == "slow"


IDS = [
    '"1"',
    '"001"',
    '"a"',
    "0",
    "-1",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551616",
    "123456789012345678901234567890",
    '""',
    '" "',
    '"\\u00e9"',
    '"\u00e9"',
    '"\\ud83c\\udf78"',
    '"a\\/b"',
    '"' + "x" * 1000 + '"',
]


@pytest.mark.parametrize("id", IDS, ids=range(len(IDS)))
@pytest.mark.parametrize("outcome", ["result", "error", "listed"])
def test_b7_id_is_echoed_byte_for_byte(wire: Wire, id: str, outcome: str) -> None:
    """By the engine itself, by an error, and on the way through host code."""
    frame = {
        "listed": wire.frame("tools/list", id="PLACE"),
        "error": wire.frame("nothing/such", id="PLACE", valid=False),
        "result": wire.call_frame("echo", {"text": "x"}, id="PLACE"),
    }[outcome]
    line = frame.rstrip(b"\n").replace(b'"PLACE"', id.encode())
    wire.raw(line)
    response = wire.receive()
    assert ("error" in response) == (outcome == "error")
    assert b'"id":' + id.encode() in wire.last_line, "the id was respelled"


@pytest.mark.parametrize("id", ["null", "1.5", "true", "false", "[1]", "{}", "1e400", "-0.5"])
def test_b7_ids_that_are_none(wire: Wire, id: str) -> None:
    """Neither a string nor an integer. The answer cannot carry such an id back."""
    wire.raw('{"jsonrpc":"2.0","id":' + id + ',"method":"ping"}')
    wire.alive()
    messages = wire.quiet(0)
    assert [message["error"]["code"] for message in messages] == [-32600]
    assert messages[0].get("id") is None


def test_b7_two_ids_that_only_differ_in_type(wire: Wire) -> None:
    wire.start("slow", id=77, ms=100)
    wire.start("echo", id="77", text="string")
    assert text_of(wire.answer("77")["result"]) == "string"
    assert text_of(wire.answer(77)["result"]) == "done"


def test_b7_an_id_may_be_used_again(wire: Wire) -> None:
    for text in ("one", "two", "three"):
        assert text_of(wire.answer(wire.start("echo", id="again", text=text))["result"]) == text


@pytest.mark.servers("fastmcp", "mcpserver")
def test_b17_no_back_channel_is_an_immediate_error(server: str, era: str, start: Start) -> None:
    """A client that cannot be asked, and a revision in which nobody can be: an error within a second, no
    waiting.
    """
    wire = start(server, era)
    response = wire.ask("tools/call", {"name": "ask_name", "arguments": {}}, timeout=1)
    assert "error" in response or failed(response["result"])
    wire.alive()


@pytest.mark.servers("fastmcp", "mcpserver")
def test_b17_two_round_trips_at_once(server: str, start: Start) -> None:
    wire = start(server, "legacy", capabilities={"elicitation": {}})
    calls = [wire.start("ask_name"), wire.start("ask_name")]
    questions: list[int | str] = []
    while len(questions) < 2:
        message = wire.next()
        assert message["method"] == "elicitation/create"
        questions.append(message["id"])
    assert questions[0] != questions[1]
    # Answered in the other order, and the engine stays awake meanwhile.
    wire.alive()
    for question, name in zip(reversed(questions), ("Ada", "Bob"), strict=True):
        content = '{"action":"accept","content":{"value":"' + name + '"}}'
        wire.raw('{"jsonrpc":"2.0","id":' + _json(question) + ',"result":' + content + "}")
    texts = [text_of(wire.answer(call)["result"]) for call in calls]
    assert ["Bob" in texts[0], "Ada" in texts[1]] == [True, True], texts


def _json(id: object) -> str:
    return f'"{id}"' if isinstance(id, str) else str(id)
