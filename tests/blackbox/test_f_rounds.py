"""F: multi round-trip requests and tasks, by the example servers that ask (2026-07-28 `basic/patterns/mrtr`;
the extension `io.modelcontextprotocol/tasks`; 2025-11-25 `client/elicitation`, `basic/utilities/tasks`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from checker import Json, Message
from conftest import NODE, ROOT
from process import Process
from wire import Wire, encode, revision_of

EXAMPLES = {
    "python": (sys.executable, str(ROOT / "examples" / "python")),
    "node": (NODE, str(ROOT / "examples" / "node")),
}
ENDING = {"python": ".py", "node": ".mjs"}
ELICITATION: dict[str, Json] = {"elicitation": {}}
TASKS: dict[str, Json] = {**ELICITATION, "sampling": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}

Open = Callable[..., Wire]


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Starts an example and opens a connection to it."""
    program, folder = EXAMPLES[request.param]
    opened: list[Wire] = []

    def start(name: str, era: str, capabilities: dict[str, Json]) -> Wire:
        arguments = [str(tmp_path / "tasks.db")] if name == "tasks" else []
        process = Process((program, f"{folder}/{name}{ENDING[request.param]}", *arguments))
        wire = Wire(process, revision_of(era), capabilities)
        opened.append(wire)
        wire.open()
        return wire

    yield start
    for wire in opened:
        wire.process.close()


def booked(wire: Wire, answer: Json, **more: Json) -> Message:
    """Books a table and answers what is asked; gives the result."""
    params: dict[str, Json] = {"name": "book_table", "arguments": {"day": "Monday"}}
    if wire.modern:
        first = wire.result("tools/call", params)
        assert first["resultType"] == "input_required"
        (key,) = first["inputRequests"]
        assert first["inputRequests"][key]["method"] == "elicitation/create"
        retry = {"inputResponses": {key: answer}, "requestState": first["requestState"], **more}
        return wire.ask("tools/call", {**params, **retry})
    id = wire.request("tools/call", params)
    request = wire.next()
    assert request["method"] == "elicitation/create"
    wire.process.write(encode({"jsonrpc": "2.0", "id": request["id"], "result": answer}))
    return wire.answer(id)


def text_of(answer: Message) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_f1_what_the_user_says_comes_to_the_tool_as_it_is(example: Open, era: str) -> None:
    wire = example("asking", era, ELICITATION)
    odd = '"Ä\\u0041\x7f😀'
    answer = booked(wire, {"action": "accept", "content": {"name": odd, "seats": 4}})
    assert odd in text_of(answer)
    wire.alive()


def test_f1_declining_is_an_answer_and_no_end(example: Open, era: str) -> None:
    wire = example("asking", era, ELICITATION)
    for action in ("decline", "cancel"):
        assert action in text_of(booked(wire, {"action": action}))


@pytest.mark.eras("modern")
def test_f1_a_state_that_was_tampered_with_is_refused(example: Open, era: str) -> None:
    wire = example("asking", era, ELICITATION)
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    for state in ("", "x", "f1.AAAA"):
        assert booked(wire, accepted, requestState=state)["error"]["code"] == -32602
    assert "Ada" in text_of(booked(wire, accepted))


@pytest.mark.eras("modern")
def test_f1_other_answers_than_asked_are_ignored_and_the_question_stands(example: Open, era: str) -> None:
    wire = example("asking", era, ELICITATION)
    answer = booked(wire, {"action": "accept", "content": {"name": 5}})
    assert answer["result"]["resultType"] == "input_required"


def test_f1_what_is_not_declared_is_not_asked(example: Open, era: str) -> None:
    wire = example("asking", era, {})
    answer = wire.ask("tools/call", {"name": "book_table", "arguments": {"day": "Monday"}})
    if wire.modern:
        assert answer["error"]["code"] == -32021
        assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    else:
        assert answer["result"]["isError"] is True
    assert wire.inbox == []


def test_f4_a_task_is_there_as_soon_as_it_is_named_and_unknown_ones_are_not(example: Open) -> None:
    wire = example("tasks", "modern", TASKS)
    task = wire.result("tools/call", {"name": "write_report", "arguments": {"topic": "rain"}})
    assert task["resultType"] == "task"
    found = wire.result("tasks/get", {"taskId": task["taskId"]})
    assert found["status"] in ("working", "input_required")
    assert wire.error("tasks/get", {"taskId": "no-such-task"})["code"] == -32602


@pytest.mark.eras("modern")
def test_f5_a_tools_error_completes_a_modern_task(example: Open, era: str) -> None:
    wire = example("tasks", era, TASKS)
    id = wire.result("tools/call", {"name": "write_report", "arguments": {"topic": "rain"}})["taskId"]
    task = reached(wire, id, "input_required")
    (key,) = task["inputRequests"]
    wire.result("tasks/update", {"taskId": id, "inputResponses": {key: {"action": "decline"}}})
    task = reached(wire, id, "completed")
    assert task["result"]["isError"] is True


@pytest.mark.eras("legacy")
def test_f5_a_tools_error_fails_a_legacy_task(example: Open, era: str) -> None:
    wire = example("tasks", era, ELICITATION)
    params: dict[str, Json] = {"name": "write_report", "arguments": {"topic": "rain"}, "task": {}}
    id = wire.result("tools/call", params)["task"]["taskId"]
    while (request := wire.next()).get("method") != "elicitation/create":
        assert request["method"] == "notifications/tasks/status"
    wire.process.write(encode({"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}}))
    assert wire.result("tasks/result", {"taskId": id})["isError"] is True
    assert wire.result("tasks/get", {"taskId": id})["status"] == "failed"


def reached(wire: Wire, id: str, status: str) -> Message:
    """Looks at a task until it stands where it is wanted."""
    end = time.monotonic() + 20
    while (task := wire.result("tasks/get", {"taskId": id}))["status"] != status:
        assert time.monotonic() < end, task
        time.sleep(0.02)
    return task
