"""The example servers in C and C++ as a client sees them: processes with pipes.

Each is built on an installed tree: with pkg-config, and the servers with CMake too. The runner of the C tests
names the folder in FERROMCP_C_BUILT.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(os.environ["FERROMCP_C_BUILT"])
SERVERS = [
    "examples/c_server",
    "examples/cpp_server",
    "outside/c-server",
    "outside/cpp-server",
    "outside/c-server-static",
]
LOOPS = ["examples/c_own_loop", "examples/cpp_own_loop"]
REPORTS = ["examples/c_tasks", "examples/cpp_tasks"]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

# Seconds between two looks at a task: a server takes no more than 1000 in a second.
PAUSE = 0.005

# Each test takes milliseconds; one that hangs must not take the run with it.
pytestmark = pytest.mark.timeout(30)


class Client:
    """One server process."""

    def __init__(self, name: str, *arguments: str) -> None:
        if not (BUILT / name).is_file():
            pytest.skip(f"{name} was not built: its tools are not there")
        command = [BUILT / name, *arguments]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = 0

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                pipe.close()

    def send(self, method: str, meta: dict[str, Any], **params: Any) -> None:
        """Sends a request under the next id."""
        assert self.child.stdin is not None
        self.ids += 1
        params["_meta"] = {**META, **meta}
        request = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.child.stdin.write(json.dumps(request).encode() + b"\n")
        self.child.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        """Sends a notification."""
        assert self.child.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def line(self) -> Any:
        """The next message."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line, f"the server is gone: {self.child.wait()}"
        return json.loads(line)

    def ask(self, method: str, **params: Any) -> Any:
        """A request and its result or error."""
        self.send(method, {}, **params)
        answer = self.line()
        assert answer["id"] == self.ids
        return answer.get("result", answer.get("error"))

    def tool(self, name: str, **arguments: Any) -> Any:
        """A call of a tool and its text."""
        result = self.ask("tools/call", name=name, arguments=arguments)
        return ("error " if result.get("isError") else "") + result["content"][0]["text"]

    def end(self) -> None:
        """The input ends, and the server with it."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()
        assert self.child.stdout.read() == b""
        assert self.child.wait(10) == 0


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with Client(request.param) as one:
        yield one


servers = pytest.mark.parametrize("client", SERVERS, indirect=True)
everyone = pytest.mark.parametrize("client", SERVERS + LOOPS, indirect=True)
loops = pytest.mark.parametrize("client", LOOPS, indirect=True)


@servers
def test_tools_answer(client: Client) -> None:
    assert client.tool("echo", text='é\n"') == 'é\n"'
    assert client.tool("add", a=2, b=40) == "42"
    assert client.tool("add", a=-(2**63), b=2**63 - 1) == "-1"
    assert client.tool("add", a=2**63 - 1, b=1) == "error the sum does not fit into 64 bits"
    assert client.tool("add", a="two", b=1).startswith("error ")
    assert client.tool("fail", msg="why") == "error why"
    assert client.tool("slow", ms=1) == "done"
    client.end()


@servers
def test_resources_and_prompts_answer(client: Client) -> None:
    about = client.ask("resources/read", uri="example://about")
    text = "An example server of FerroMCP."
    assert about["contents"] == [{"uri": "example://about", "mimeType": "text/plain", "text": text}]
    assert client.ask("resources/read", uri="example://square/12")["contents"][0]["text"] == "144"
    assert client.ask("resources/read", uri="example://square/twelve")["code"] == -32602
    prompt = client.ask("prompts/get", name="greet", arguments={"name": "Ada"})
    assert prompt["messages"][0]["content"] == {"type": "text", "text": "Greet Ada in one sentence."}
    client.end()


@servers
def test_progress_comes_before_the_answer(client: Client) -> None:
    client.send("tools/call", {"progressToken": 0}, name="progress", arguments={"n": 2})
    for step in (1, 2):
        assert client.line()["params"] == {"progressToken": 0, "progress": step, "total": 2}
    assert client.line()["result"]["content"][0]["text"] == "2"
    client.end()


@servers
def test_cancellation_ends_a_tool_early(client: Client) -> None:
    client.send("tools/call", {}, name="slow", arguments={"ms": 60_000})
    client.tell("notifications/cancelled", requestId=1)
    # Other calls go on meanwhile, and the end need not wait for a minute.
    assert client.tool("echo", text="on") == "on"
    client.end()


@servers
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"action": "accept", "content": {"name": "Ada"}}, '{"name": "Ada"}'),
        ({"action": "decline"}, "The user does not want to say."),
    ],
)
def test_the_user_is_asked(client: Client, answer: dict[str, Any], text: str) -> None:
    assert client.ask("tools/call", name="ask")["code"] == -32021
    meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    client.send("tools/call", meta, name="ask")
    asked = client.line()["result"]
    assert asked["inputRequests"]["name"]["params"]["message"] == "Whom shall I greet?"
    responses = {"name": answer}
    client.send("tools/call", meta, name="ask", requestState=asked["requestState"], inputResponses=responses)
    assert client.line()["result"]["content"][0]["text"] == text
    client.end()


@servers
def test_a_report_is_fetched_later(client: Client) -> None:
    assert client.tool("report", pages=0) == "0 pages"
    taking = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta = {"io.modelcontextprotocol/clientCapabilities": taking}
    client.send("tools/call", meta, name="report", arguments={"pages": 2})
    task = client.line()["result"]
    assert task["resultType"] == "task"
    while task["status"] == "working":
        time.sleep(PAUSE)
        client.send("tasks/get", meta, taskId=task["taskId"])
        task = client.line()["result"]
    assert task["status"] == "completed"
    assert task["result"]["content"][0]["text"] == "2 pages"
    client.end()


class Reports:
    """A client that takes tasks, and what it asks of them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def ask(self, method: str, **params: Any) -> Any:
        """A request and its result."""
        taking = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
        self.client.send(method, {"io.modelcontextprotocol/clientCapabilities": taking}, **params)
        answer = self.client.line()
        assert answer["id"] == self.client.ids
        return answer["result"]

    def begin(self, topic: str) -> str:
        """The id of the task of a new report."""
        task = self.ask("tools/call", name="write_report", arguments={"topic": topic, "pages": 2})
        assert task["resultType"] == "task"
        return str(task["taskId"])

    def settled(self, task_id: str) -> Any:
        """A task that waits for its client, or has ended."""
        while (task := self.ask("tasks/get", taskId=task_id))["status"] == "working":
            time.sleep(PAUSE)
        return task


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_found_again_after_the_server_was_killed(name: str, tmp_path: Path) -> None:
    file = str(tmp_path / "tasks.db")
    with Client(name, file) as client:
        reports = Reports(client)
        done, running, declined = (reports.begin(topic) for topic in ("crabs", "rain", "nothing"))
        asked = reports.settled(done)["inputRequests"]
        assert asked["agreed"]["params"]["message"] == "Write 2 pages on crabs?"
        agreed = {"agreed": {"action": "accept", "content": {}}}
        reports.ask("tasks/update", taskId=done, inputResponses=agreed)
        assert reports.settled(running)["status"] == "input_required"
        assert reports.settled(declined)["status"] == "input_required"
        reports.ask("tasks/update", taskId=declined, inputResponses={"agreed": {"action": "decline"}})
        assert reports.settled(done)["status"] == "completed"
        assert reports.settled(declined)["result"]["isError"]
        # In the middle of the one that waits for its user.
        client.child.send_signal(signal.SIGKILL)
        assert client.child.wait(10) == -signal.SIGKILL
    with Client(name, file) as client:
        reports = Reports(client)
        task = reports.ask("tasks/get", taskId=done)
        assert task["status"] == "completed"
        assert task["result"]["content"][0]["text"] == "Page 1 on crabs\nPage 2 on crabs"
        task = reports.ask("tasks/get", taskId=declined)
        assert task["result"]["content"][0]["text"] == "No report: the user wants none."
        task = reports.ask("tasks/get", taskId=running)
        assert (task["status"], task["error"]["code"]) == ("failed", -32603)
        client.end()


@pytest.mark.parametrize("client", ["examples/cpp_server"], indirect=True)
def test_an_answer_from_another_thread(client: Client) -> None:
    assert client.tool("later", ms=1) == "later"
    client.end()


@loops
def test_a_loop_of_its_own(client: Client) -> None:
    assert client.tool("echo", text="é") == "é"
    assert client.ask("resources/read", uri="example://about")["contents"][0]["text"].startswith("An example")
    assert (
        client.ask("prompts/get", name="greet", arguments={"name": "Ada"})["messages"][0]["content"]["text"]
        == "Ada"
    )
    client.send("tools/call", {"progressToken": "t"}, name="count", arguments={"n": 3})
    for step in (1, 2, 3):
        assert client.line()["params"] == {"progressToken": "t", "progress": step, "total": 3}
    assert client.line()["result"]["content"][0]["text"] == "3"
    client.end()


@loops
def test_a_loop_answers_while_a_tool_counts(client: Client) -> None:
    client.send("tools/call", {}, name="count", arguments={"n": 1_000_000})
    assert client.tool("echo", text="on") == "on"
    client.tell("notifications/cancelled", requestId=1)
    assert client.tool("echo", text="still on") == "still on"
    client.end()


@everyone
def test_a_text_that_is_no_unicode_ends_nothing(client: Client) -> None:
    answer = client.ask("tools/call", name="echo", arguments={"text": "\ud800"})
    assert "code" in answer or answer["isError"]
    assert client.tool("echo", text="on") == "on"
    client.end()


@everyone
def test_the_end_of_input_ends_the_process(client: Client) -> None:
    client.end()
