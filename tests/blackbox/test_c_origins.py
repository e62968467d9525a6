"""C19, C27: who may use a server from a web page, and under which names it answers (2025-11-25 and 2026-07-28
"Security Warning"; the Fetch standard, "CORS protocol").
"""

from __future__ import annotations

import pytest
from conftest import Serve
from http_peer import JSON, Endpoint, Peer, encode, refused
from http_wire import Response, request_bytes

EVIL = (
    "http://evil.example",
    "https://evil.example:443",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://evil.example/http://localhost",
    "http://localhost@evil.example",
    "http://",
    "localhost",
    "garbage",
    b"http://\xe4.example",
)
LOCAL = ("http://localhost:{port}", "http://127.0.0.1:{port}", "http://[::1]:{port}", "http://localhost")


def with_origin(endpoint: Endpoint, method: str, origin: str | bytes, peer: Peer) -> Response:
    message = peer.message("tools/list")
    if method == "POST":
        return peer.post(message, {"Origin": origin})
    return endpoint.send(method, {**peer.headers(), "Origin": origin})


@pytest.mark.parametrize("origin", EVIL, ids=str)
def test_c19_a_strange_origin_is_forbidden(http_server: Endpoint, era: str, origin: str | bytes) -> None:
    """On all connections, and the body, if there is one, is an error without an id."""
    peer = http_server.peer(era)
    response = with_origin(http_server, "POST", origin, peer)
    assert response.status == 403
    body = response.body()
    if response.content_type == JSON and body:
        assert b'"result"' not in body
        assert b'"error"' in body
    assert response.header("access-control-allow-origin") is None


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_c19_a_strange_origin_is_forbidden_with_every_method(http_server: Endpoint, method: str) -> None:
    peer = http_server.peer()
    assert with_origin(http_server, method, "http://evil.example", peer).status == 403
    # The session has survived the strange DELETE.
    peer.alive()


def test_c19_a_strange_origin_has_no_effect(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    response = peer.post(peer.call_message("grow", name="grown_by_evil"), {"Origin": "http://evil.example"})
    assert response.status == 403
    assert "grown_by_evil" not in {tool["name"] for tool in peer.result("tools/list")["tools"]}


def test_c19_a_strange_origin_gets_no_session(http_server: Endpoint) -> None:
    peer = Peer(http_server)
    response = peer.post(peer.initialize_message(), {"Origin": "http://evil.example"})
    assert response.status == 403
    assert response.header("mcp-session-id") is None


@pytest.mark.parametrize("origin", LOCAL)
def test_c19_local_origins_are_welcome(http_server: Endpoint, era: str, origin: str) -> None:
    peer = http_server.peer(era)
    origin = origin.format(port=http_server.address[1])
    assert with_origin(http_server, "POST", origin, peer).status == 200


@pytest.mark.carriers("native", "asgi", "handler")
def test_c19_allowed_origins(serve: Serve, era: str) -> None:
    endpoint = serve(allowedOrigins=["https://app.example"])
    peer = endpoint.peer(era)
    assert with_origin(endpoint, "POST", "https://app.example", peer).status == 200
    for origin in ("http://app.example", "https://app.example:8443", "https://sub.app.example"):
        assert with_origin(endpoint, "POST", origin, peer).status == 403, origin
    assert with_origin(endpoint, "POST", f"http://{endpoint.host}", peer).status == 200


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}", "localhost"]
)
def test_c19_local_names_are_served(http_server: Endpoint, era: str, host: str) -> None:
    peer = http_server.peer(era)
    host = host.format(port=http_server.address[1])
    assert peer.post(peer.message("tools/list"), {"Host": host}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example"]
)
def test_c19_strange_names_are_not(http_server: Endpoint, era: str, host: str) -> None:
    """Beside the text: a page that has rebound its name sends no Origin with a GET, but its Host."""
    peer = http_server.peer(era)
    host = host.format(port=http_server.address[1])
    assert peer.post(peer.message("tools/list"), {"Host": host}).status in (403, 421)


@pytest.mark.carriers("native", "asgi", "handler")
def test_c19_allowed_hosts(serve: Serve, era: str) -> None:
    endpoint = serve(allowedHosts=["mcp.example"])
    peer = endpoint.peer(era)
    for host in ("mcp.example", f"mcp.example:{endpoint.address[1]}", endpoint.host):
        assert peer.post(peer.message("tools/list"), {"Host": host}).status == 200, host
    assert peer.post(peer.message("tools/list"), {"Host": "other.example"}).status in (403, 421)


def test_c19_a_request_without_a_host(http_server: Endpoint, era: str) -> None:
    """RFC 9112, 3.2: 400, and for two of them as well."""
    peer = http_server.peer(era)
    message = peer.message("tools/list")
    rows = [(name, value) for name, value in peer.headers(message).items() if value is not None]
    for hosts in ([], [("Host", http_server.host), ("Host", http_server.host)]):
        with http_server.connect() as connection:
            connection.send(request_bytes("POST", http_server.path, [*hosts, *rows], encode(message)))
            assert connection.response().status == 400


ASKED = (
    "content-type, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, authorization, last-event-id"
)


@pytest.mark.carriers("native", "asgi", "handler")
def test_c27_preflight(http_server: Endpoint) -> None:
    origin = f"http://{http_server.host}"
    for method in ("POST", "GET", "DELETE"):
        rows: dict[str, str | bytes | None] = {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ASKED,
        }
        response = http_server.send("OPTIONS", rows)
        assert response.status in (200, 204)
        assert response.header("access-control-allow-origin") == origin
        assert method.lower() in response.tokens("access-control-allow-methods")
        # A star would not do: it leaves Authorization out.
        assert set(ASKED.split(", ")) <= response.tokens("access-control-allow-headers")
        assert "origin" in response.tokens("vary")


@pytest.mark.carriers("native", "asgi", "handler")
def test_c27_preflight_of_parameters_in_headers(http_server: Endpoint) -> None:
    """A browser asks for each header by its name, and a tool's are not known beforehand."""
    rows: dict[str, str | bytes | None] = {
        "Origin": f"http://{http_server.host}",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,mcp-param-region",
    }
    assert "mcp-param-region" in http_server.send("OPTIONS", rows).tokens("access-control-allow-headers")


def test_c27_preflight_of_a_strange_origin(http_server: Endpoint) -> None:
    rows: dict[str, str | bytes | None] = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
    }
    response = http_server.send("OPTIONS", rows)
    assert response.header("access-control-allow-origin") is None


@pytest.mark.carriers("native", "asgi", "handler")
def test_c27_a_page_may_read_the_session_header(http_server: Endpoint) -> None:
    peer = Peer(http_server)
    origin = f"http://{http_server.host}"
    response = peer.post(peer.initialize_message(), {"Origin": origin})
    assert response.status == 200
    assert response.header("access-control-allow-origin") == origin
    assert {"mcp-session-id", "www-authenticate"} <= response.tokens("access-control-expose-headers")


@pytest.mark.carriers("native", "asgi", "handler")
def test_c27_a_page_may_read_errors(http_server: Endpoint, era: str) -> None:
    """Without the header a page sees a network error instead of what it did wrong."""
    peer = http_server.peer(era)
    origin = f"http://{http_server.host}"
    rows = {**peer.headers(peer.message("tools/list")), "Origin": origin}
    response = http_server.send("POST", rows, b"{")
    assert response.header("access-control-allow-origin") == origin
    refused(response, 400, -32700)
