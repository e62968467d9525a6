"""B19, C21 and the HTTP below the protocol: framing of bodies, connections that stay, break off, stall or
never say anything (RFC 9112; 2025-11-25 and 2026-07-28 say nothing of it but "HTTP").
"""

from __future__ import annotations

import json
import random
import resource
import time

import pytest
from checker import Message
from conftest import Serve
from http_peer import JSON, Endpoint, Peer, encode
from http_wire import Connection, chunked, request_bytes
from process import PATIENCE
from wire import text_of

# The loop of the fixture in C knows only what the tests of MCP need: no chunks, a few connections.
WHOLE = pytest.mark.carriers("native", "asgi", "handler-node", "stock")
RAISED = ("Traceback", "panicked", "Unhandled", "Uncaught", "RuntimeError")


def complaints(endpoint: Endpoint) -> list[str]:
    return [word for word in RAISED if word in endpoint.process.stderr]


def frame_chunked(peer: Peer, message: Message, body: bytes) -> bytes:
    return peer.endpoint.frame("POST", {**peer.headers(message), "Transfer-Encoding": "chunked"}) + body


def test_b19_posts_that_break_off(serve: Serve, era: str) -> None:
    """A hundred of them, and nobody is the worse for it."""
    endpoint = serve()
    peer = endpoint.peer(era)
    whole = peer.frame(peer.call_message("echo", text="x" * 1000))
    head = whole.index(b"\r\n\r\n") + 4
    for number in range(100):
        connection = endpoint.connect()
        connection.send(whole[: head + 10] if number % 2 else whole[: number + 1])
        if number % 3:
            connection.close()
        else:
            connection.abort()
    assert text_of(peer.call("echo", text="x")) == "x"
    assert complaints(endpoint) == []


def test_b19_readers_that_leave(serve: Serve, era: str) -> None:
    """After the request, in the middle of a stream."""
    endpoint = serve()
    peer = endpoint.peer(era)
    for number in range(50):
        connection = endpoint.connect()
        params = {"name": "progress", "arguments": {"n": 20, "ms": 2}}
        connection.send(peer.frame(peer.message("tools/call", params, meta={"progressToken": number})))
        if number % 2:
            connection.response()
        connection.abort()
    assert text_of(peer.call("echo", text="x")) == "x"
    assert complaints(endpoint) == []


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a6_requests_in_pieces(http_server: Endpoint, era: str, size: int) -> None:
    """A character split over two reads, and a header too."""
    peer = http_server.peer(era)
    text = "\u2014\U0001f600\u4e16" * 20
    with http_server.connect() as connection:
        connection.send_cut(peer.frame(peer.call_message("echo", text=text)), size)
        assert text_of(peer.last(connection.response())["result"]) == text


@WHOLE
@pytest.mark.parametrize(
    ("size", "extension", "trailers"), [(1, b"", b""), (50, b";a=b", b""), (50, b"", b"X-Sum: 1\r\n")]
)
def test_bodies_in_chunks(
    http_server: Endpoint, era: str, size: int, extension: bytes, trailers: bytes
) -> None:
    peer = http_server.peer(era)
    message = peer.call_message("echo", text="\u4e16" * 50)
    body = chunked(encode(message), size, extension, trailers)
    with http_server.connect() as connection:
        connection.send(frame_chunked(peer, message, body))
        assert text_of(peer.last(connection.response())["result"]) == "\u4e16" * 50
        # The connection goes on where the last chunk ended.
        assert peer.ask("tools/list", on=connection)["result"]


@WHOLE
def test_bodies_in_chunks_are_bounded(http_server: Endpoint, era: str) -> None:
    """By what has come, since nobody says how much will."""
    peer = http_server.peer(era)
    message = peer.call_message("echo", text="x" * (5 << 20))
    with http_server.connect() as connection:
        connection.send(frame_chunked(peer, message, chunked(encode(message), 1 << 16)))
        assert connection.response().status == 413
    peer.alive()


@WHOLE
def test_expect_100_continue(http_server: Endpoint, era: str) -> None:
    """RFC 9110, 10.1.1: a client may wait for it a while, and for ever if it likes."""
    peer = http_server.peer(era)
    message = peer.call_message("echo", text="x")
    body = encode(message)
    rows = {**peer.headers(message), "Content-Length": str(len(body)), "Expect": "100-continue"}
    with http_server.connect() as connection:
        connection.send(http_server.frame("POST", rows))
        assert connection.response(3).status == 100
        connection.send(body)
        assert text_of(peer.last(connection.response())["result"]) == "x"


@pytest.mark.carriers("native", "asgi", "handler-node")
def test_expect_100_continue_of_what_is_refused(http_server: Endpoint, era: str) -> None:
    """Whoever asks first need not send 5 MiB to hear that they are too many."""
    peer = http_server.peer(era)
    rows = {
        **peer.headers(peer.message("tools/list")),
        "Content-Length": str(5 << 20),
        "Expect": "100-continue",
    }
    with http_server.connect() as connection:
        connection.send(http_server.frame("POST", rows))
        response = connection.response()
        # A library's HTTP server may have said 100 before it asked anybody.
        assert (connection.response() if response.status == 100 else response).status in (413, 417)


def test_requests_behind_each_other(http_server: Endpoint, era: str) -> None:
    """Pipelined: all at once, answered in their order."""
    peer = http_server.peer(era)
    messages = [
        peer.call_message(
            "slow" if n % 5 == 0 else "echo", **({"ms": 30} if n % 5 == 0 else {"text": str(n)})
        )
        for n in range(20)
    ]
    with http_server.connect() as connection:
        connection.send(b"".join(peer.frame(message) for message in messages))
        for number, message in enumerate(messages):
            response = connection.response()
            assert response.status == 200
            body = response.body().decode()
            data = body if response.content_type == JSON else body.rpartition("data:")[2]
            answer = json.loads(data)
            assert answer["id"] == message["id"]
            assert text_of(answer["result"]) == ("done" if number % 5 == 0 else str(number))


@WHOLE
def test_a_thousand_idle_connections(http_server: Endpoint, era: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    peer = http_server.peer(era)
    connections: list[Connection] = []
    try:
        for number in range(1000):
            connections.append(http_server.connect())
            if number % 2:
                connections[-1].send(b"POST /mcp HTTP/1.1\r\nHost: ")
        began = time.monotonic()
        assert text_of(peer.call("echo", text="x")) == "x"
        assert time.monotonic() - began < 2 * PATIENCE
    finally:
        for connection in connections:
            connection.close()
    peer.alive()


@pytest.mark.carriers("native")
@pytest.mark.parametrize("part", ["nothing", "head", "body"])
def test_slow_senders_are_left(serve: Serve, era: str, part: str) -> None:
    """A byte now and then holds a connection only so long."""
    endpoint = serve(headerTimeoutMs=500, bodyTimeoutMs=500)
    peer = endpoint.peer(era)
    whole = peer.frame(peer.call_message("echo", text="x" * 100))
    head = whole.index(b"\r\n\r\n") + 4
    begin = {"nothing": b"", "head": whole[:20], "body": whole[: head + 5]}[part]
    rest = whole[len(begin) :] if begin else b""
    with endpoint.connect() as connection:
        connection.send(begin)
        end = time.monotonic() + 5 * PATIENCE
        for byte in rest[:60]:
            if connection.ended or time.monotonic() > end:
                break
            connection.send(bytes([byte]))
            if not connection.hung_up(0.1 / PATIENCE):
                continue
        assert connection.hung_up(5)
        assert connection.buffer == b"" or connection.response().status in (400, 408)
    peer.alive()


def test_slow_senders_are_served(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    whole = peer.frame(peer.call_message("echo", text="x"))
    with http_server.connect() as connection:
        for at in range(0, len(whole), 40):
            connection.send(whole[at : at + 40])
            time.sleep(0.02)
        assert text_of(peer.last(connection.response())["result"]) == "x"


def raw(endpoint: Endpoint, lines: list[bytes], body: bytes = b"") -> bytes:
    head = [f"POST {endpoint.path} HTTP/1.1".encode(), b"Host: " + endpoint.host.encode(), *lines]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@WHOLE
@pytest.mark.parametrize(
    "lines",
    [
        [b"Content-Length: 5", b"Content-Length: 6"],
        [b"Content-Length: +5"],
        [b"Content-Length: 5, 6"],
        [b"Content-Length: x"],
        [b"Content-Length : 5"],
        [b"Transfer-Encoding: chunked, identity"],
        [b"Bad Header: x"],
        [b"X: a\x00b"],
    ],
    ids=str,
)
def test_heads_that_mean_two_things_are_refused(http_server: Endpoint, lines: list[bytes]) -> None:
    """RFC 9112, 5.1, 6.1, 6.3; RFC 9110, 5.5: whoever stands before the server may read them otherwise."""
    with http_server.connect() as connection:
        connection.send(raw(http_server, [b"Content-Type: application/json", *lines], b"{}xxx"))
        assert connection.response().status in (400, 501)
        assert connection.hung_up(3)
    http_server.peer().alive()


@pytest.mark.carriers("native")
def test_a_length_and_chunks(http_server: Endpoint, era: str) -> None:
    """RFC 9112, 6.3: refused, or the chunks count, and the connection is not used again."""
    peer = http_server.peer(era)
    message = peer.call_message("echo", text="x")
    body = chunked(encode(message), 50)
    rows = {**peer.headers(message), "Content-Length": "4", "Transfer-Encoding": "chunked"}
    with http_server.connect() as connection:
        connection.send(http_server.frame("POST", rows) + body)
        response = connection.response()
        assert response.status in (200, 400)
        if response.status == 200:
            assert text_of(peer.last(response)["result"]) == "x"
        connection.send(peer.frame(peer.message("tools/list")))
        assert connection.hung_up(3)


@WHOLE
@pytest.mark.parametrize("size", [100_000, 10_000_000])
def test_heads_are_bounded(http_server: Endpoint, size: int) -> None:
    with http_server.connect() as connection:
        connection.send(raw(http_server, [b"X-Long: " + b"x" * size]))
        if not connection.hung_up(3) or connection.buffer:
            # Where the bound lies is each library's affair.
            assert 400 <= connection.response().status < 500
    http_server.peer().alive()


def test_random_bytes(http_server: Endpoint) -> None:
    source = random.Random(7)
    for _ in range(100):
        with http_server.connect() as connection:
            connection.send(source.randbytes(source.randrange(1, 2000)))
            connection.send(b"\r\n\r\n")
    http_server.peer().alive()
    assert complaints(http_server) == []


def test_http_1_0(http_server: Endpoint) -> None:
    """Such a client can't read chunks, and the end of the connection is the end of the answer."""
    peer = http_server.peer("modern")
    message = peer.call_message("echo", text="x")
    frame = peer.frame(message).replace(b" HTTP/1.1", b" HTTP/1.0", 1)
    with http_server.connect() as connection:
        connection.send(frame)
        response = connection.response()
        assert response.status in (200, 505)
        assert response.header("transfer-encoding") is None
        if response.status == 200:
            assert text_of(peer.last(response)["result"]) == "x"


def test_connections_end_when_asked(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    with http_server.connect() as connection:
        response = peer.post(peer.message("tools/list"), {"Connection": "close"}, on=connection)
        assert response.status == 200
        response.body()
        assert connection.hung_up(2)


@pytest.mark.carriers("native")
def test_targets_of_other_forms(http_server: Endpoint) -> None:
    """An absolute target means the same (RFC 9112, 3.2.2), and a list of everything is no endpoint."""
    peer = http_server.peer("modern")
    message = peer.call_message("echo", text="x")
    for target, statuses in (
        (f"http://{http_server.host}{http_server.path}", (200,)),
        ("*", (400, 404, 405)),
    ):
        rows = [("Host", http_server.host)] + [
            (k, v) for k, v in peer.headers(message).items() if v is not None
        ]
        with http_server.connect() as connection:
            connection.send(request_bytes("POST", target, rows, encode(message)))
            assert connection.response().status in statuses, target


@pytest.mark.carriers("asgi-python")
@pytest.mark.parametrize("path", ["/x/mcp", "/x/mcp?a=b"])
def test_c21_mounted_in_another_app(serve: Serve, path: str) -> None:
    """Without its lifespan: an outer app that knows nothing of it passes none on."""
    endpoint = serve("--mount", "/x")
    endpoint.path = path
    peer = endpoint.peer("modern")
    assert text_of(peer.call("echo", text="x")) == "x"
    assert text_of(endpoint.peer("legacy").call("echo", text="x")) == "x"


@pytest.mark.carriers("asgi-python")
def test_c21_mounted_at_its_path(serve: Serve) -> None:
    """With a slash at the end or not; what the outer app redirects keeps its method and body (307, 308)."""
    endpoint = serve("--mount", "/x", path=None)
    for path in ("/x/", "/x"):
        endpoint.path = path
        peer = Peer(endpoint, revision="2026-07-28")
        response = peer.post(peer.call_message("echo", text="x"))
        if response.status in (307, 308):
            assert (response.header("location") or "").endswith("/x/")
        else:
            assert text_of(peer.last(response)["result"]) == "x"
