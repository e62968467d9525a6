"""D3, D7, D8, D11, B2, B17 and what else the modern era has over HTTP (2026-07-28
`basic/transports/streamable-http`, `basic/patterns`): each request stands for itself, and ends with its
connection.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from checker import MODERN, Json, Message
from conftest import Serve
from http_peer import JSON, STREAM, Endpoint, Peer, refused
from test_c_streams import ELICITATION, marks, streaming, wait_for_mark
from wire import text_of

# The plain servers of other libraries ask in the words of the legacy era only.
ASKS = pytest.mark.carriers("native", "asgi", "handler")
LEVEL = "io.modelcontextprotocol/logLevel"


@pytest.fixture
def peer(http_server: Endpoint) -> Peer:
    return http_server.peer("modern")


def test_d7_an_unknown_method_is_not_found(peer: Peer) -> None:
    """The JSON-RPC body is what tells this 404 from one of a server without MCP."""
    for method in ("foo/bar", "ping", "logging/setLevel", "resources/subscribe"):
        message = peer.message(method, {}, valid=False)
        refused(peer.post(message), 404, -32601, id=message["id"])
    peer.alive()


def test_d3_discovery(peer: Peer) -> None:
    result = peer.opened
    assert MODERN in result["supportedVersions"]
    assert result["resultType"] == "complete"
    assert "serverInfo" not in result
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"


def test_d8_results_say_what_they_are(peer: Peer) -> None:
    assert peer.call("echo", text="x")["resultType"] == "complete"
    assert peer.result("resources/read", {"uri": "mem://greeting"})["resultType"] == "complete"


def test_d8_nothing_of_it_in_a_session(http_server: Endpoint) -> None:
    """The other era at the same endpoint, at the same time."""
    modern, legacy = http_server.peer("modern"), http_server.peer("legacy")
    for _ in range(3):
        assert "resultType" not in legacy.call("echo", text="x")
        assert "resultType" in modern.call("echo", text="x")


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (None, []),
        ("error", ["error"]),
        ("warning", ["warning", "error"]),
        ("debug", ["debug", "info", "warning", "error"]),
    ],
)
def test_d11_logs_are_for_who_asks(peer: Peer, level: str | None, said: list[str]) -> None:
    meta = {} if level is None else {LEVEL: level}
    response = peer.post(peer.message("tools/call", {"name": "logs", "arguments": {"n": 1}}, meta=meta))
    *logs, answer = peer.messages(response)
    assert [message["params"]["level"] for message in logs] == said
    assert "result" in answer


def test_d11_a_level_that_is_none(peer: Peer) -> None:
    message = peer.message(
        "tools/call", {"name": "logs", "arguments": {"n": 1}}, meta={LEVEL: "loud"}, valid=False
    )
    response = peer.post(message)
    assert response.status in (200, 400)
    assert peer.last(response)["error"]["code"] == -32602


def test_progress_comes_before_the_answer_on_the_same_stream(peer: Peer) -> None:
    messages = peer.messages(streaming(peer, n=5))
    assert [message["params"]["progress"] for message in messages[:-1]] == [1, 2, 3, 4, 5]
    assert {message["params"]["progressToken"] for message in messages[:-1]} == {"p"}
    assert "result" in messages[-1]


def test_streams_have_no_ids(peer: Peer) -> None:
    """ "Resumable SSE streams via Last-Event-ID are not supported", so nothing invites a client to try."""
    events = list(streaming(peer, n=2).events())
    assert [event.id for event in events] == [None] * 3
    assert all(event.data and event.retry is None for event in events)


def test_the_same_id_in_two_requests_at_once(peer: Peer, http_server: Endpoint) -> None:
    """Two clients count from one, and nothing else tells them apart."""
    slow = peer.message("tools/call", {"name": "slow", "arguments": {"ms": 400}}, id=1)
    checker = peer.checker
    with http_server.connect() as connection:
        connection.send(peer.frame(slow))
        time.sleep(0.1)
        quick = peer.message("tools/call", {"name": "echo", "arguments": {"text": "x"}}, id=1)
        assert text_of(peer.last(peer.post(quick))["result"]) == "x"
        peer.checker = checker
        assert text_of(peer.last(connection.response())["result"]) == "done"


@pytest.mark.parametrize("reset", [False, True])
def test_b2_closing_the_connection_cancels(
    http_server: Endpoint, peer: Peer, tmp_path: Path, reset: bool
) -> None:
    path = tmp_path / "marks"
    connection = http_server.connect()
    connection.send(peer.frame(peer.call_message("count", path=str(path), ms=30_000)))
    wait_for_mark(path, ".")
    if reset:
        connection.abort()
    else:
        connection.close()
    wait_for_mark(path, "C")
    after = marks(path)
    time.sleep(0.1)
    assert marks(path) == after
    peer.alive()


@pytest.mark.carriers("native", "asgi", "handler")
def test_b2_closing_a_stream_cancels(http_server: Endpoint, peer: Peer, tmp_path: Path) -> None:
    """One that has carried something, of a request behind another on the same connection."""
    path = tmp_path / "marks"
    with http_server.connect() as connection:
        peer.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}, on=connection)
        connection.send(peer.frame(peer.call_message("count", path=str(path), ms=30_000)))
        wait_for_mark(path, ".")
    wait_for_mark(path, "C")


def test_b2_one_connection_of_many(http_server: Endpoint, peer: Peer, tmp_path: Path) -> None:
    """Who leaves takes nobody along, whatever ids they use."""
    paths = [tmp_path / "one", tmp_path / "other"]
    connections = [http_server.connect() for _ in paths]
    checkers = []
    for connection, path, ms in zip(connections, paths, (30_000, 700), strict=True):
        message = peer.message(
            "tools/call", {"name": "count", "arguments": {"path": str(path), "ms": ms}}, id=1
        )
        connection.send(peer.frame(message))
        checkers.append(peer.checker)
        wait_for_mark(path, ".")
    connections[0].abort()
    wait_for_mark(paths[0], "C")
    peer.checker = checkers[1]
    assert text_of(peer.last(connections[1].response())["result"]) == "done"
    assert "C" not in marks(paths[1])


def asking(peer: Peer, **more: Json) -> Message:
    return peer.message("tools/call", {"name": "ask_name", "arguments": {}, **more})


@ASKS
def test_b17_questions_are_answers(http_server: Endpoint) -> None:
    """No requests on any stream: the result says what is needed, and the client calls again, wherever."""
    peer = http_server.peer("modern", capabilities=ELICITATION)
    first = peer.last(peer.post(asking(peer)))["result"]
    assert first["resultType"] == "input_required"
    (key,) = first["inputRequests"]
    assert first["inputRequests"][key]["method"] == "elicitation/create"
    more: dict[str, Json] = {"inputResponses": {key: {"action": "accept", "content": {"value": "Ada"}}}}
    if "requestState" in first:
        more["requestState"] = first["requestState"]
    second = peer.last(peer.post(asking(peer, **more)))["result"]
    assert second["resultType"] == "complete"
    assert "Ada" in text_of(second)


@ASKS
def test_b17_who_can_not_be_asked_is_told_so(peer: Peer) -> None:
    """`basic/index`: -32021 with status 400, and which capabilities are missing."""
    message = asking(peer)
    response = peer.post(message)
    answer = response.json() if response.content_type == JSON else peer.last(response)
    assert answer["error"]["code"] == -32021
    assert "elicitation" in answer["error"]["data"]["requiredCapabilities"]
    assert response.status == 400


def test_a_legacy_initialize_at_a_server_of_both_eras(http_server: Endpoint) -> None:
    """`basic/versioning`: it opens a session, as before."""
    peer = Peer(http_server)
    response = peer.post(peer.initialize_message())
    assert response.status == 200
    assert response.header("mcp-session-id")
    assert peer.last(response)["result"]["protocolVersion"] == "2025-11-25"


def test_a_modern_request_needs_no_opening(http_server: Endpoint) -> None:
    peer = Peer(http_server, revision=MODERN)
    assert text_of(peer.call("echo", text="x")) == "x"


def test_a_response_of_the_client_is_no_message_of_this_era(peer: Peer) -> None:
    response = peer.post({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert 400 <= response.status < 500 or (response.status, response.body()) == (202, b"")
    peer.alive()


def test_answers_are_one_object_or_a_stream(peer: Peer) -> None:
    response = peer.post(peer.call_message("echo", text="x"))
    assert response.status == 200
    assert response.content_type in (JSON, STREAM)
    assert len(peer.messages(response)) == 1


@pytest.mark.carriers("native", "asgi", "handler")
def test_json_only(serve: Serve) -> None:
    """`jsonResponse`: nothing but the answer, as one object, in both eras."""
    endpoint = serve(jsonResponse=True)
    for era in ("legacy", "modern"):
        peer = endpoint.peer(era)
        params = {"name": "progress", "arguments": {"n": 3}}
        response = peer.post(peer.message("tools/call", params, meta={"progressToken": "p"}))
        assert response.content_type == JSON
        assert text_of(peer.last(response)["result"]) == "ok"
