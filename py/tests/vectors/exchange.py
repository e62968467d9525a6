"""A client of HTTP on bare sockets: it sends what a step says, and reads a response as it comes.

Decides nothing about MCP but which headers every client sends. Each request has a connection of its own.
"""

from __future__ import annotations

import select
import socket
import time
from typing import Any

from .text import Text, parse, write

__all__ = ["Event", "Exchange", "request"]

# The member of `params` that the header `Mcp-Name` mirrors.
NAMES = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
KEYS = {"method", "path", "headers", "body", "text", "bytes"}

Fields = list[tuple[str, str]]


def request(step: dict[str, Any], host: str, *, announced: bool = True) -> tuple[bytes, Fields]:
    """The bytes of a request, and its fields. A body whose length is not announced is sent in one chunk."""
    assert set(step) <= KEYS, f"a request has no {set(step) - KEYS}"
    body: bytes | None = None
    if "body" in step:
        body = write(step["body"]).encode()
    elif "text" in step:
        body = step["text"].encode()
    elif "bytes" in step:
        body = bytes.fromhex(step["bytes"])
    fields = _fields(step, host, body is not None)
    if body is not None and not any(name.lower() == "content-length" for name, _ in fields):
        if announced:
            fields.append(("Content-Length", str(len(body))))
        else:
            fields.append(("Transfer-Encoding", "chunked"))
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    lines = [f"{step.get('method', 'POST')} {step.get('path', '/mcp')} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b""), fields


def _fields(step: dict[str, Any], host: str, has_body: bool) -> Fields:
    fields = {"host": ("Host", [host]), "accept": ("Accept", ["application/json, text/event-stream"])}

    def put(name: str, values: list[str]) -> None:
        fields[name.lower()] = (name, values)

    if has_body:
        put("Content-Type", ["application/json"])
    body = step.get("body")
    method = body.get("method") if isinstance(body, dict) else None
    params = body.get("params", {}) if isinstance(body, dict) else {}
    meta = params.get("_meta", {}) if isinstance(params, dict) else {}
    version = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else None
    if type(version) in (str, Text) and method is not None:
        put("MCP-Protocol-Version", [str(version)])
        put("Mcp-Method", [str(method)])
        name = params.get(NAMES.get(method, ""))
        if type(name) in (str, Text):
            put("Mcp-Name", [str(name)])
    given = step.get("headers", {})
    for layer in given if isinstance(given, list) else [given]:
        for name, value in layer.items():
            put(name, [] if value is None else value if isinstance(value, list) else [value])
    return [(name, value) for name, values in fields.values() for value in values]


class Event:
    """One block of an event stream."""

    def __init__(self, block: str) -> None:
        self.fields: Fields = []
        self.comment = False
        for line in filter(None, block.split("\n")):
            name, _, value = line.partition(":")
            if not name:
                self.comment = True
                continue
            assert name in ("id", "retry", "event", "data"), f"a stream has a field {name}"
            self.fields.append((name, value.removeprefix(" ")))

    def field(self, name: str) -> str | None:
        """The value of a field; `data` of several lines is one."""
        values = [value for key, value in self.fields if key == name]
        return "\n".join(values) if values else None

    @property
    def message(self) -> str | None:
        """The text of a message; none in comments, and in events that only carry an id."""
        return self.field("data") or None


class Exchange:
    """A request that was sent, and what has come back and was not looked at."""

    def __init__(self, address: tuple[str, int], data: bytes, fields: Fields) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.seen = False
        """A step has looked at the head."""
        self.over = False
        self._raw = bytearray()
        self._rest: int | None = None
        self._chunked = False
        named = {name.lower(): value for name, value in fields}
        self.session = None if "last-event-id" in named else named.get("mcp-session-id")
        """The session that the request names, unless it asks for events again."""
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(data)

    @property
    def is_stream(self) -> bool:
        """Whether the response is a stream of events."""
        return self.headers.get("content-type") == "text/event-stream"

    def read(self, seconds: float) -> bool:
        """Takes what comes next; whether there was something in this time."""
        if self.over or not select.select([self._socket], [], [], max(0.0, seconds))[0]:
            return False
        data = self._socket.recv(1 << 16)
        assert data, f"the response breaks off: {self.show()}"
        self._raw += data
        self._take()
        if self.over:
            self.close()
        return True

    def read_all(self) -> None:
        """Takes what has come by now."""
        while self.read(0):
            pass

    def event(self) -> Event | None:
        """The next block of the stream, if a whole one is there."""
        block, found, rest = bytes(self.body).partition(b"\n\n")
        if not found:
            return None
        self.body = bytearray(rest)
        return Event(block.decode())

    def whole(self, seconds: float) -> Any:
        """The one JSON value of the response."""
        assert self.headers.get("content-type") == "application/json", f"it is no JSON: {self.show()}"
        self.finish(seconds)
        body, self.body = bytes(self.body), bytearray()
        return parse(body)

    def finish(self, seconds: float) -> None:
        """Reads to the end."""
        end = time.monotonic() + seconds
        while not self.over:
            assert self.read(end - time.monotonic()), f"the response does not end: {self.show()}"

    def close(self) -> None:
        """Closes the connection, whatever is still to come."""
        self._socket.close()

    def show(self) -> str:
        """For a failure."""
        return f"{self.status} {self.headers} {bytes(self.body)[:400]!r}"

    def _take(self) -> None:
        if self.status is None and not self._head():
            return
        if self._chunked:
            self._chunks()
        elif self._rest is not None:
            self.body += self._raw[: self._rest]
            self._rest -= len(self._raw)
            assert self._rest >= 0, f"there is more than was announced: {self.show()}"
            self._raw.clear()
            self.over = self._rest == 0

    def _head(self) -> bool:
        head, found, rest = bytes(self._raw).partition(b"\r\n\r\n")
        if not found:
            return False
        self._raw = bytearray(rest)
        first, *lines = head.decode("ascii").split("\r\n")
        for line in lines:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self.status = int(first.split(" ", 2)[1])
        self._chunked = self.headers.get("transfer-encoding") == "chunked"
        empty = self.status in (204, 304)
        length = self.headers.get("content-length", "0" if empty else None)
        assert self._chunked or length is not None, f"the end of the body is not told: {self.show()}"
        self._rest = None if self._chunked or length is None else int(length)
        return True

    def _chunks(self) -> None:
        while not self.over:
            line, found, rest = bytes(self._raw).partition(b"\r\n")
            if not found:
                return
            size = int(line, 16)
            if len(rest) < size + 2:
                return
            self.body += rest[:size]
            assert rest[size : size + 2] == b"\r\n", "a chunk has another length than it says"
            self._raw = bytearray(rest[size + 2 :])
            self.over = size == 0
