"""Cases B13, B15, B16: which error a mistake gets, in which revision, and how a connection may begin."""

from __future__ import annotations

from typing import Any

import pytest
from checker import LEGACY_REVISIONS
from conftest import Start
from wire import CRASH, Wire, failed, text_of

ASK = {"type": "ref/prompt", "name": "ask"}
INVALID_PARAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown tool": ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    "tool without a name": ("tools/call", {"arguments": {}}),
    "tool name of a wrong type": ("tools/call", {"name": 5, "arguments": {}}),
    "arguments of a wrong type": ("tools/call", {"name": "echo", "arguments": [1]}),
    "unknown prompt": ("prompts/get", {"name": "no_such_prompt"}),
    "prompt without its argument": ("prompts/get", {"name": "ask"}),
    "prompt argument of a wrong type": ("prompts/get", {"name": "ask", "arguments": {"topic": 5}}),
    "bad cursor": ("tools/list", {"cursor": "made up by a test"}),
    "bad cursor of resources": ("resources/list", {"cursor": "made up by a test"}),
    "bad cursor of templates": ("resources/templates/list", {"cursor": "made up by a test"}),
    "bad cursor of prompts": ("prompts/list", {"cursor": "made up by a test"}),
    "cursor of a wrong type": ("tools/list", {"cursor": 5}),
    "uri of a wrong type": ("resources/read", {"uri": 5}),
    "read without a uri": ("resources/read", {}),
    "completion without a reference": ("completion/complete", {"argument": {"name": "topic", "value": "p"}}),
    "completion of an unknown kind": (
        "completion/complete",
        {"ref": {"type": "ref/none"}, "argument": {"name": "topic", "value": "p"}},
    ),
}


# Where another library's server has handlers of its own for these, it is that library's answer that its users
# keep.
HOST_DECIDES = {
    "unknown tool": "both libraries answer with a tool error, so that a model reads it",
    "bad cursor": "a list without pages ignores cursors",
    "bad cursor of resources": "a list without pages ignores cursors",
    "bad cursor of templates": "a list without pages ignores cursors",
    "bad cursor of prompts": "a list without pages ignores cursors",
}


@pytest.mark.parametrize("mistake", INVALID_PARAMS)
def test_b16_invalid_params(wire: Wire, server: str, mistake: str) -> None:
    method, params = INVALID_PARAMS[mistake]
    response = wire.ask(method, params, valid=False)
    if server != "native" and mistake in HOST_DECIDES and "result" in response:
        assert mistake != "unknown tool" or failed(response["result"])
    elif "mcpserver" in server and "prompt" in mistake:
        # MCPServer raises what its library takes for a crash of the handler.
        assert response["error"]["code"] in (-32602, *CRASH), response
    else:
        assert response["error"]["code"] == -32602, response
    wire.alive()


def test_b16_bad_level(wire: Wire) -> None:
    if wire.modern:
        meta = {"io.modelcontextprotocol/logLevel": "loud"}
        error = wire.error("tools/call", {"name": "noargs", "arguments": {}}, meta=meta, valid=False)
    else:
        error = wire.error("logging/setLevel", {"level": "loud"}, valid=False)
    lacks_logging = not wire.modern and "logging" not in wire.opened["capabilities"]
    assert error["code"] == (-32601 if lacks_logging else -32602)


def test_b16_unknown_resource(wire: Wire, server: str) -> None:
    error = wire.error("resources/read", {"uri": "mem://no/such/thing"})
    # Legacy revisions recommend -32002, and the two libraries say -32602 in every revision.
    assert error["code"] == (-32602 if wire.modern else -32002) or (
        server != "native" and error["code"] == -32602
    )
    if wire.modern:
        assert error["data"]["uri"] == "mem://no/such/thing"


@pytest.mark.parametrize("method", ["foo/bar", "tools", "tools/call/", "Tools/List", "rpc.discover", ""])
def test_b16_unknown_method(wire: Wire, method: str) -> None:
    assert wire.error(method, {}, valid=False)["code"] == -32601


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "mem://broken"}), ("prompts/get", {"name": "broken_prompt"})],
)
def test_b16_handler_that_raises(wire: Wire, server: str, method: str, params: dict[str, Any]) -> None:
    error = wire.error(method, params)
    assert error["code"] in (CRASH if server == "mcpserver" else CRASH[:1])
    assert "Traceback" not in error["message"]


def test_b16_tool_that_raises_is_a_result(wire: Wire, server: str) -> None:
    result = wire.call("fail", msg="out of cheese")
    assert failed(result)
    # MCPServer keeps the text of an unexpected exception to itself.
    assert "out of cheese" in text_of(result) or "mcpserver" in server
    assert "Traceback" not in text_of(result)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"a": 1}, {"a": "one", "b": 2}, {"a": 1, "b": None}, {"a": 1, "b": 2.5}, {"a": [], "b": {}}],
)
def test_b16_bad_arguments_are_a_result(wire: Wire, arguments: dict[str, Any]) -> None:
    """A known tool called wrongly: something a model can mend, so a tool error and no protocol error."""
    result = wire.result("tools/call", {"name": "add", "arguments": arguments})
    assert failed(result), result
    assert text_of(result)


def test_b16_good_arguments_are_no_error(wire: Wire) -> None:
    result = wire.call("add", a=2, b=40)
    assert not failed(result)
    assert text_of(result) == "42"


@pytest.mark.parametrize(
    "revision",
    ["2024-11-05", *(pytest.param(name, marks=pytest.mark.engine) for name in LEGACY_REVISIONS[1:-1])],
)
def test_b16_older_revisions(server: str, start: Start, revision: str) -> None:
    """The same table in short for each older revision, and the shapes that those revisions know."""
    wire = start(server, revision=revision)
    for mistake in ("unknown tool", "unknown prompt", "bad cursor"):
        if server == "native":
            method, params = INVALID_PARAMS[mistake]
            assert wire.error(method, params)["code"] == -32602, mistake
    code = wire.error("resources/read", {"uri": "mem://no/such/thing"})["code"]
    assert code == -32002 or (server != "native" and code == -32602)
    assert wire.error("server/discover", {}, valid=False)["code"] == -32601
    result = wire.call("add", a=1, b=2)
    assert text_of(result) == "3"
    assert ("structuredContent" in result) <= (revision >= "2025-06-18")
    for tool in wire.result("tools/list")["tools"]:
        assert ("outputSchema" in tool) <= (revision >= "2025-06-18"), tool
        assert ("title" in tool) <= (revision >= "2025-06-18"), tool
        assert ("annotations" in tool) <= (revision >= "2025-03-26"), tool
    assert wire.result("resources/read", {"uri": "mem://greeting"})["contents"][0]["text"] == "hello"
    assert "Tell me about MCP" in str(
        wire.result("prompts/get", {"name": "ask", "arguments": {"topic": "MCP"}})
    )


def test_b13_requests_between_initialize_and_initialized(server: str, start: Start) -> None:
    """Legal from the moment that `initialize` is answered: that answer is all a client has to wait for."""
    wire = start(server, open=False)
    wire.initialize()
    assert wire.result("ping") == {}
    assert wire.result("tools/list")["tools"]
    assert wire.result("prompts/list")["prompts"]
    wire.notify("notifications/initialized")
    assert wire.call("echo", text="x")


@pytest.mark.engine
def test_b13_requests_in_one_write_with_initialize(server: str, start: Start) -> None:
    """What impatient clients do. Each is answered with a result or an error; the connection goes on."""
    wire = start(server, open=False)
    params = {
        "protocolVersion": wire.revision,
        "capabilities": {},
        "clientInfo": {"name": "b", "version": "1"},
    }
    frames = wire.frame("initialize", params, id="init") + wire.frame("tools/list", id="list")
    wire.process.write(frames + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert "result" in wire.answer("init")
    assert "result" in wire.answer("list")


@pytest.mark.engine
@pytest.mark.parametrize("version", ["2099-01-01", "1.0", "", "2025-11-25 ", "2026-07-28"])
def test_b15_version_the_server_lacks(server: str, start: Start, version: str) -> None:
    """Answered with the newest revision that has a handshake. The modern revision has none, so it cannot be
    agreed on.
    """
    wire = start(server, open=False)
    result = wire.initialize(version)
    assert result["protocolVersion"] == LEGACY_REVISIONS[-1]
    assert wire.result("ping") == {}


@pytest.mark.engine
@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_b15_version_the_server_has(server: str, start: Start, version: str) -> None:
    wire = start(server, revision=version, open=False)
    result = wire.initialize()
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "fixture"
    assert result["instructions"] == "A small server for tests."
    assert {"tools", "resources", "prompts"} <= set(result["capabilities"])


@pytest.mark.engine
@pytest.mark.parametrize(
    "params", ["{}", "null", '{"protocolVersion":5}', '{"protocolVersion":"2025-11-25"}']
)
def test_b15_malformed_initialize(server: str, start: Start, params: str) -> None:
    wire = start(server, open=False)
    wire.raw('{"jsonrpc":"2.0","id":"init","method":"initialize","params":' + params + "}")
    response = wire.answer("init")
    assert "result" in response or response["error"]["code"] in (-32602, -32600)
    wire.open()
    assert wire.result("ping") == {}


@pytest.mark.engine
def test_b15_initialize_twice(server: str, start: Start) -> None:
    """Refused or answered again; the session stays usable."""
    wire = start(server)
    response = wire.ask(
        "initialize",
        {"protocolVersion": wire.revision, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}},
    )
    assert "result" in response or response["error"]["code"] == -32600
    assert text_of(wire.call("echo", text="still")) == "still"
