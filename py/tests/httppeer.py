"""A server process that is reached over HTTP, and a client that reads responses as they come."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from support import DEADLINE, MODERN, Message, Peer

LEGACY = "2025-11-25"

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

Headers = Mapping[str, str]


def _mirrored(method: str, params: Message) -> dict[str, str]:
    """The headers of a modern request, which say what its body says."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if name := params.get("name", params.get("uri")):
        headers["Mcp-Name"] = name
    return headers


class Response:
    """A response whose body is still coming."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.kind = response.headers.get_content_type()

    def header(self, name: str) -> str | None:
        """One field of the head."""
        return self._response.headers.get(name)

    def body(self) -> bytes:
        """The rest of the body."""
        return self._response.read()

    def json(self) -> Any:
        """The rest of the body, which is one value."""
        return json.loads(self.body())

    def messages(self) -> Iterator[Message]:
        """What is sent, be it one object or a stream of events, until the end."""
        if self.kind == "application/json":
            yield self.json()
            return
        assert self.kind == "text/event-stream", (self.status, self.kind)
        while line := self._response.readline():
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data:
                yield json.loads(data)

    def result(self) -> Any:
        """The result that the stream, or the object, ends with."""
        *_, last = self.messages()
        assert "result" in last, last
        return last["result"]

    def text(self) -> str:
        """The one text of a tool's result."""
        result = self.result()
        assert not result.get("isError"), result
        (block,) = result["content"]
        return str(block["text"])

    def leave(self) -> None:
        """The client goes away."""
        # The response holds the socket too.
        sock = self._connection.sock
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)
        self._response.close()
        self._connection.close()


class HttpPeer:
    """A client of one endpoint. Each request has a connection of its own."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self.host, self.port, self.path = host, port, path
        self._next_id = 0

    def send(
        self, method: str, body: Any = None, headers: Headers | None = None, *, path: str | None = None
    ) -> Response:
        """One request, as it is."""
        connection = HTTPConnection(self.host, self.port, timeout=DEADLINE)
        connection.request(method, self.path if path is None else path, body, dict(headers or {}))
        return Response(connection, connection.getresponse())

    def post(self, message: Any, headers: Headers | None = None, *, path: str | None = None) -> Response:
        """One message."""
        return self.send("POST", json.dumps(message).encode(), {**JSON, **(headers or {})}, path=path)

    def modern(
        self, method: str, params: Message | None = None, headers: Headers | None = None, **meta: Any
    ) -> Response:
        """One request of the modern era."""
        params = {**(params or {}), "_meta": {**MODERN, **meta}}
        return self.post(self.request(method, params), {**_mirrored(method, params), **(headers or {})})

    def begin(self, name: str, arguments: Message, session: Session | None = None) -> HTTPConnection:
        """A call of a tool whose response is not waited for: modern, or in a session."""
        params: Message = {"name": name, "arguments": arguments}
        if session is None:
            params["_meta"] = MODERN
        own = _mirrored("tools/call", params) if session is None else session.headers
        connection = HTTPConnection(self.host, self.port, timeout=DEADLINE)
        body = json.dumps(self.request("tools/call", params))
        connection.request("POST", self.path, body, {**JSON, **own})
        return connection

    def call(self, name: str, arguments: Message | None = None, **more: Any) -> Response:
        """A call of a tool, modern."""
        return self.modern("tools/call", {"name": name, "arguments": arguments or {}}, **more)

    def request(self, method: str, params: Message | None = None) -> Message:
        """A message with an id of its own."""
        self._next_id += 1
        return {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}}

    def session(self, name: str = "tests", capabilities: Message | None = None) -> Session:
        """Shakes hands as a legacy client."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": capabilities or {},
            "clientInfo": {"name": name, "version": "1"},
        }
        opened = self.post(self.request("initialize", params))
        assert opened.status == 200
        key = opened.header("Mcp-Session-Id")
        assert opened.result()["protocolVersion"] == LEGACY
        assert key
        session = Session(self, key)
        assert session.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return session


class Session:
    """A legacy client's."""

    def __init__(self, peer: HttpPeer, key: str) -> None:
        self.peer = peer
        self.headers = {"Mcp-Session-Id": key, "MCP-Protocol-Version": LEGACY}

    def post(self, message: Message) -> Response:
        """One message of the session."""
        return self.peer.post(message, self.headers)

    def request(self, method: str, params: Message | None = None) -> Response:
        """One request of the session."""
        return self.post(self.peer.request(method, params))

    def call(self, name: str, arguments: Message | None = None, **meta: Any) -> Response:
        """A call of a tool."""
        params: Message = {"name": name, "arguments": arguments or {}}
        return self.request("tools/call", {**params, "_meta": meta} if meta else params)

    def listen(self) -> Response:
        """The stream of what belongs to no request."""
        return self.peer.send("GET", headers={**self.headers, "Accept": "text/event-stream"})

    def delete(self) -> Response:
        """The end of the session."""
        return self.peer.send("DELETE", headers=self.headers)


def reached(process: Peer) -> HttpPeer:
    """The client of a process that says where it listens."""
    process.hears(b"Listening on http://")
    found = re.search(rb"Listening on http://([^:]+):(\d+)(/\S*)\n", process.stderr)
    assert found, process.stderr
    return HttpPeer(found[1].decode(), int(found[2]), found[3].decode())
