"""Visits to URLs that have to come before a call: the error -32042 (2025-11-25 `client/elicitation`)."""

from __future__ import annotations

from conftest import Serve

SERVER = """
    from ferromcp import MCPError

    VISIT = {"mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "e-1"}

    @server.tool
    def files() -> str:
        raise MCPError(-32042, "Log in first", {"elicitations": [VISIT]})

    @server.tool
    def logged_in(id: str) -> str:
        return str(server.complete_elicitation(id))
"""


def test_a_visit_is_required_and_then_complete(serve: Serve) -> None:
    peer = serve(SERVER)
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"url": {}}},
        "clientInfo": {"name": "t", "version": "1"},
    }

    def call(key: int, name: str, **arguments: str) -> None:
        params = {"name": name, "arguments": arguments}
        peer.send({"jsonrpc": "2.0", "id": key, "method": "tools/call", "params": params})

    peer.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening})
    peer.answer(1)
    peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    call(2, "files")
    error = peer.answer(2)["error"]
    assert error["code"] == -32042
    assert [visit["elicitationId"] for visit in error["data"]["elicitations"]] == ["e-1"]
    call(3, "logged_in", id="e-2")
    assert peer.answer(3)["result"]["content"][0]["text"] == "False"
    call(4, "logged_in", id="e-1")
    told = peer.message()
    assert told["method"] == "notifications/elicitation/complete"
    assert told["params"] == {"elicitationId": "e-1"}
    assert peer.answer(4)["result"]["content"][0]["text"] == "True"
