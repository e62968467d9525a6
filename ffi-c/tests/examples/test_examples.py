"""The example servers in C and C++ as a client sees them: processes with pipes.

Each is built on an installed tree: with pkg-config, and the servers with CMake too. The runner of the C tests
names the folder in FERROMCP_C_BUILT.
"""

from __future__ import annotations

import json
import os
import subprocess
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
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

# Each test takes milliseconds; one that hangs must not take the run with it.
pytestmark = pytest.mark.timeout(30)


class Client:
    """One server process."""

    def __init__(self, name: str) -> None:
        if not (BUILT / name).is_file():
            pytest.skip(f"{name} was not built: its tools are not there")
        self.child = subprocess.Popen([BUILT / name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = 0

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
    one = Client(request.param)
    yield one
    one.child.kill()
    one.child.wait()
    for pipe in (one.child.stdin, one.child.stdout):
        if pipe is not None:
            pipe.close()


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
    assert about["contents"] == [{"uri": "example://about", "text": "An example server of FerroMCP."}]
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
        client.send("tasks/get", meta, taskId=task["taskId"])
        task = client.line()["result"]
    assert task["status"] == "completed"
    assert task["result"]["content"][0]["text"] == "2 pages"
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
