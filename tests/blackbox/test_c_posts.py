"""C: what a POST may look like, and what the status of its answer is (2025-11-25 `basic/transports`, "Sending
Messages to the Server"; 2026-07-28 `basic/transports/streamable-http`, "Sending Messages").

A15, A16, B7 and B16 stand here as far as they are about an HTTP body.
"""

from __future__ import annotations

import gzip
import json
import statistics
import time

import pytest
from checker import Json
from conftest import Serve
from http_peer import JSON, STREAM, Endpoint, refused
from process import PATIENCE
from wire import text_of


def test_c16_a_notification_is_accepted_without_a_body(http_server: Endpoint) -> None:
    peer = http_server.peer()
    response = peer.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (response.status, response.body()) == (202, b"")
    assert response.header("transfer-encoding") is None
    # The connection is good for another request: nothing is left of the one before.
    assert peer.post(peer.message("ping"), on=response.connection).status == 200


def test_c16_notifications_that_nobody_knows_are_no_requests(http_server: Endpoint, era: str) -> None:
    """Never an answer with a result, whatever the server makes of it; and it goes on."""
    peer = http_server.peer(era)
    response = peer.post({"jsonrpc": "2.0", "method": "notifications/of_tomorrow", "params": {}})
    body = response.body()
    assert (response.status, body) == (202, b"") or (400 <= response.status < 500 and b'"result"' not in body)
    peer.alive()


def test_c16_a_response_to_nothing_is_no_error_of_the_server(http_server: Endpoint) -> None:
    peer = http_server.peer()
    response = peer.post({"jsonrpc": "2.0", "id": 77, "result": {}})
    body = response.body()
    assert (response.status, body) == (202, b"") or 400 <= response.status < 500
    peer.alive()


BOTH = f"{JSON}, {STREAM}"


@pytest.mark.parametrize(
    "accept",
    [
        BOTH,
        f"{STREAM}, {JSON}",
        f"{JSON},{STREAM}",
        f"{JSON};q=0.9, {STREAM};q=0.1",
        f"text/html, {STREAM} , {JSON}",
        "Application/JSON, Text/Event-Stream",
        "*/*",
        "*/*;q=0.1",
        "application/*, text/*",
        None,
    ],
)
def test_c17_accept_that_takes_both(http_server: Endpoint, era: str, accept: str | None) -> None:
    """RFC 9110, 12.5.1: a range takes what is in it, and without the header everything is taken."""
    peer = http_server.peer(era)
    response = peer.post(peer.call_message("echo", text="x"), {"Accept": accept})
    assert response.status == 200
    assert text_of(peer.last(response)["result"]) == "x"


@pytest.mark.parametrize("accept", [JSON, STREAM, f"{JSON};q=0, {STREAM}", "text/html"])
def test_c17_accept_that_lacks_one(http_server: Endpoint, era: str, accept: str) -> None:
    """The client is at fault. Refused, or answered in what it does take."""
    peer = http_server.peer(era)
    response = peer.post(peer.call_message("echo", text="x"), {"Accept": accept})
    if response.status == 200 and accept in (JSON, STREAM):
        assert response.content_type == accept
    else:
        assert response.status in (200, 400, 406)
    response.body()
    peer.alive()


@pytest.mark.carriers("native", "asgi", "handler")
def test_c17_strict_accept(serve: Serve, era: str) -> None:
    peer = serve(strictAccept=True).peer(era)
    for accept in (JSON, STREAM, "text/html", f"{JSON};q=0, {STREAM}"):
        assert peer.post(peer.call_message("echo", text="x"), {"Accept": accept}).status == 406, accept
    for accept in (BOTH, "*/*", "application/*, text/*"):
        assert peer.post(peer.call_message("echo", text="x"), {"Accept": accept}).status == 200, accept


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ('application/json;charset="UTF-8"', 200),
        ("application/json-rpc", 415),
        ("application/jsonx", 415),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
        (None, 415),
    ],
)
def test_c18_content_types(http_server: Endpoint, era: str, content_type: str | None, status: int) -> None:
    """A web page can post text/plain anywhere unasked, and so it must not be taken for a message."""
    peer = http_server.peer(era)
    response = peer.post(peer.message("tools/list"), {"Content-Type": content_type})
    assert response.status == status, response.body()


def test_c18_a_coded_body_is_refused(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    message = peer.message("tools/list")
    body = gzip.compress(json.dumps(message).encode())
    rows = {**peer.headers(message), "Content-Encoding": "gzip"}
    assert http_server.send("POST", rows, body).status in (400, 415)
    peer.alive()


def test_c20_other_paths_are_not_there(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    for path in ("/", "/mcpx", "/mcp/x", "/MCP", "/other?x=/mcp"):
        message = peer.message("tools/list")
        response = http_server.send("POST", peer.headers(message), json.dumps(message).encode(), path=path)
        assert response.status == 404, path
    for path in (http_server.path, f"{http_server.path}?tenant=a"):
        message = peer.message("tools/list")
        response = http_server.send("POST", peer.headers(message), json.dumps(message).encode(), path=path)
        assert response.status == 200, path


@pytest.mark.parametrize("method", ["PUT", "PATCH", "PROPFIND"])
def test_c20_other_methods_are_not_allowed(http_server: Endpoint, method: str) -> None:
    """RFC 9110, 15.5.6: the answer says which are."""
    peer = http_server.peer()
    response = http_server.send(method, peer.headers({}), b"{}")
    assert response.status == 405
    assert "post" in response.tokens("allow")


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,',
        b"",
        b"\xb0\xa1",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
        b"{'id':1}",
    ],
)
def test_a15_a_body_that_is_no_json(http_server: Endpoint, era: str, body: bytes) -> None:
    peer = http_server.peer(era)
    rows = {**peer.headers(peer.message("tools/list")), "Mcp-Method": "tools/list"}
    refused(http_server.send("POST", rows, body), 400, -32700)
    peer.alive()


@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b"null", b"true", b"{}", b'{"id":1,"method":"ping"}'])
def test_a16_json_that_is_no_message(http_server: Endpoint, era: str, body: bytes) -> None:
    """Valid JSON, and so no parse error (JSON-RPC 2.0, 5.1)."""
    peer = http_server.peer(era)
    rows = peer.headers(peer.message("tools/list"))
    response = http_server.send("POST", rows, body)
    refused(response, 400, -32600, id=1 if b'"id"' in body else None)
    peer.alive()


@pytest.mark.parametrize("version", ["1.0", 2, None])
def test_a16_another_version_of_json_rpc(http_server: Endpoint, era: str, version: Json) -> None:
    peer = http_server.peer(era)
    message = {**peer.message("tools/list"), "jsonrpc": version}
    refused(peer.post(message), 400, -32600, id=message["id"])


def test_a16_a_batch_is_one_message_too_many(http_server: Endpoint, era: str) -> None:
    """The body has to be a single message, in every revision but 2025-03-26."""
    peer = http_server.peer(era)
    message = peer.message("tools/list")
    refused(peer.post([message], peer.headers(message)), 400, -32600)
    peer.alive()


@pytest.mark.parametrize("id", [0, -7, "1", "001", "", "a b\u00e9\U0001f600", 9007199254740993, -(2**63)])
def test_b7_ids_come_back_as_they_are(http_server: Endpoint, era: str, id: Json) -> None:
    peer = http_server.peer(era)
    for method, params in (("tools/call", {"name": "echo", "arguments": {"text": "x"}}), ("no/such", {})):
        response = peer.post(peer.message(method, params, id=id, valid=False))
        answer = peer.last(response)
        assert (type(answer["id"]), answer["id"]) == (type(id), id)


@pytest.mark.carriers("native", "asgi", "handler")
def test_b16_errors_of_requests_in_a_session_keep_the_session(http_server: Endpoint) -> None:
    """404 says to a legacy client that its session is over, so no error within it may say so."""
    peer = http_server.peer()
    for method, params, code in (
        ("no/such", {}, -32601),
        ("tools/call", {"name": "no_such_tool", "arguments": {}}, -32602),
        ("resources/read", {"uri": "mem://none"}, -32002),
    ):
        response = peer.post(peer.message(method, params, valid=False))
        assert response.status != 404, method
        answer = peer.last(response)
        assert answer["error"]["code"] == code, method
    peer.alive()


def test_c14_a_call_on_an_open_connection_takes_no_delayed_acknowledgement(
    http_server: Endpoint, era: str
) -> None:
    """Two small writes for one answer cost 40 ms each, where Nagle's algorithm is left on."""
    peer = http_server.peer(era)
    times = []
    with http_server.connect() as connection:
        for _ in range(100):
            began = time.perf_counter()
            peer.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}}, on=connection)
            times.append(time.perf_counter() - began)
    assert statistics.median(times) < 0.005 * PATIENCE


@pytest.mark.carriers("native", "asgi", "handler")
def test_body_that_is_larger_than_the_bound(serve: Serve, era: str) -> None:
    endpoint = serve(maxBodyBytes=10_000)
    peer = endpoint.peer(era)
    assert text_of(peer.call("echo", text="x" * 9_000)) == "x" * 9_000
    response = peer.post(peer.call_message("echo", text="x" * 10_001))
    assert response.status == 413
    peer.alive()


def test_body_of_5_mib_is_refused_by_default(http_server: Endpoint, era: str) -> None:
    """By its length alone, before it has come."""
    peer = http_server.peer(era)
    rows = {**peer.headers(peer.call_message("echo", text="x")), "Content-Length": str(5 << 20)}
    with http_server.connect() as connection:
        connection.send(http_server.frame("POST", rows))
        assert connection.response().status == 413
    peer.alive()
