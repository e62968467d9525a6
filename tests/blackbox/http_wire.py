"""A raw HTTP/1.1 client: sends any bytes at all, reads answers at whatever pace a test likes, and knows
nothing of MCP.

Decides how a request is written when nobody wants it otherwise, how a body is framed (length, chunks, end
of the connection), and how events are cut out of a stream (WHATWG HTML, "Server-sent events"), strictly:
what is malformed fails the test. Every wait has a deadline.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from process import CHUNK, DEADLINE, PATIENCE, Closed, Silence

Headers = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True)
class Event:
    """One event of a stream. What has no field is None: empty data is something that a client gets to see."""

    data: str | None
    id: str | None = None
    name: str | None = None
    retry: int | None = None


class Connection:
    """One TCP connection. Nothing is read before a test asks for it."""

    def __init__(self, address: tuple[str, int], *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE * PATIENCE)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.ended = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def abort(self) -> None:
        """Ends the connection with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.socket.close()

    # Writing.

    def send(self, data: bytes) -> None:
        """Writes all of `data`. A server that hangs up before it has it all may still have said something."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.ended = self.ended or not self.readable(0)

    def send_cut(self, data: bytes, size: int) -> None:
        """Writes `data` in pieces of `size` bytes, each a segment of its own."""
        for at in range(0, len(data), size):
            self.send(data[at : at + size])

    # Reading.

    def readable(self, seconds: float) -> bool:
        """Whether there is something to read within that time, be it the end."""
        # `select` knows no descriptor beyond 1023, and some tests open a thousand connections.
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def take(self, end: float, most: int = CHUNK) -> bool:
        """Takes in what is there until `end` on the clock; False once the peer has hung up."""
        if self.ended:
            return False
        left = end - time.monotonic()
        if left <= 0 or not self.readable(left):
            raise Silence("the server said nothing in time")
        try:
            chunk = self.socket.recv(most)
        except ConnectionResetError:
            chunk = b""
        self.buffer += chunk
        self.ended = not chunk
        return bool(chunk)

    def line(self, end: float) -> bytes:
        while (at := self.buffer.find(b"\r\n")) < 0:
            if not self.take(end):
                raise Closed(f"the connection ended in the middle of a line: {bytes(self.buffer[-200:])!r}")
        line = bytes(self.buffer[:at])
        del self.buffer[: at + 2]
        return line

    def exactly(self, size: int, end: float) -> bytes:
        while len(self.buffer) < size:
            if not self.take(end):
                raise Closed(f"the connection ended {size - len(self.buffer)} bytes too early")
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def hung_up(self, timeout: float = DEADLINE) -> bool:
        """Whether the server ends the connection within that time; what it says before is kept."""
        end = time.monotonic() + timeout * PATIENCE
        try:
            while self.take(end):
                pass
        except Silence:
            return False
        return True

    def response(self, timeout: float = DEADLINE, *, method: str = "POST") -> Response:
        """Reads the next head. The body is read by whoever wants it."""
        end = time.monotonic() + timeout * PATIENCE
        status_line = self.line(end)
        version, _, rest = status_line.partition(b" ")
        assert version in (b"HTTP/1.1", b"HTTP/1.0"), f"no status line: {status_line!r}"
        assert rest[:3].isdigit(), f"no status: {status_line!r}"
        headers = []
        while line := self.line(end):
            name, colon, value = line.partition(b":")
            assert colon, f"no header: {line!r}"
            assert name.strip(b" \t") == name != b"", f"no header: {line!r}"
            headers.append((name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")))
        return Response(self, int(rest[:3]), headers, method)


class Response:
    """The head of an answer, and its body as it comes."""

    def __init__(
        self, connection: Connection, status: int, headers: list[tuple[str, str]], method: str
    ) -> None:
        self.connection = connection
        self.status = status
        self.headers = headers
        self.done = False
        self._left = self._length(method)
        self._chunked = self.header("transfer-encoding") == "chunked"
        self._stream = bytearray()
        self._started = False
        self.comments = 0

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        assert len(values) < 2 or name in ("vary", "set-cookie"), (
            f"{name} comes {len(values)} times: {values}"
        )
        return ", ".join(values) if values else None

    def tokens(self, name: str) -> set[str]:
        """The members of a list header, in lower case."""
        return {part.strip().lower() for part in (self.header(name) or "").split(",") if part.strip()}

    @property
    def content_type(self) -> str:
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    def body(self, timeout: float = DEADLINE) -> bytes:
        """What is left of the body, to its end."""
        end = time.monotonic() + timeout * PATIENCE
        parts = []
        while part := self.part(end):
            parts.append(part)
        return b"".join(parts)

    def json(self, timeout: float = DEADLINE) -> Any:
        return json.loads(self.body(timeout))

    def part(self, end: float) -> bytes:
        """The next bytes of the body, empty at its end."""
        if self.done:
            return b""
        if self._chunked:
            return self._chunk(end)
        wire = self.connection
        if self._left == 0:
            self.done = True
            return b""
        while not wire.buffer:
            if not wire.take(end):
                self.done = True
                if self._left is not None:
                    raise Closed(f"{self._left} bytes of the body are missing")
                return b""
        size = len(wire.buffer) if self._left is None else min(self._left, len(wire.buffer))
        if self._left is not None:
            self._left -= size
        return wire.exactly(size, end)

    def _chunk(self, end: float) -> bytes:
        size = int(self.connection.line(end).partition(b";")[0], 16)
        if size == 0:
            while self.connection.line(end):
                pass
            self.done = True
            return b""
        data = self.connection.exactly(size, end)
        assert self.connection.exactly(2, end) == b"\r\n", "a chunk that is longer than it says"
        return data

    def _length(self, method: str) -> int | None:
        if self.status < 200 or self.status in (204, 304) or method == "HEAD":
            return 0
        length = self.header("content-length")
        assert length is None or self.header("transfer-encoding") is None, (
            "two ways to say how long the body is"
        )
        return None if length is None else int(length)

    # Events.

    def event(self, timeout: float = DEADLINE) -> Event:
        """The next event. `Closed` where the stream ends first. Comments are counted."""
        assert self.content_type == "text/event-stream", f"no stream: {self.status} {self.headers}"
        end = time.monotonic() + timeout * PATIENCE
        fields: dict[str, str] = {}
        data: list[str] = []
        while (line := self._event_line(end)) or not fields:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line:
                continue
            if not name:
                self.comments += 1
            elif name == "data":
                data.append(value)
                fields["data"] = ""
            else:
                assert name in ("id", "event", "retry"), f"an unknown field: {line!r}"
                assert "\0" not in value
                fields[name] = value
        retry = fields.get("retry")
        return Event(
            "\n".join(data) if data else None,
            fields.get("id"),
            fields.get("event"),
            None if retry is None else int(retry),
        )

    def events(self, timeout: float = DEADLINE) -> Iterator[Event]:
        """Every event to the end of the stream."""
        while True:
            try:
                yield self.event(timeout)
            except Closed:
                assert self.done, "the connection ended before the stream did"
                return

    def quiet(self, seconds: float) -> list[Event]:
        """What comes in the next `seconds`. The stream may end meanwhile."""
        events = []
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                events.append(self.event(left / PATIENCE))
        except (Silence, Closed):
            pass
        return events

    def _event_line(self, end: float) -> str:
        while True:
            for at, byte in enumerate(self._stream):
                if byte == 0x0A or (byte == 0x0D and at + 1 < len(self._stream)):
                    line = bytes(self._stream[:at])
                    skip = 2 if self._stream[at : at + 2] == b"\r\n" else 1
                    del self._stream[: at + skip]
                    return line.decode("utf-8")
            part = self.part(end)
            if not part:
                assert not self._stream.strip(b"\r\n"), f"the stream ended in a line: {bytes(self._stream)!r}"
                raise Closed("the stream ended")
            if not self._started:
                assert not part.startswith(b"\xef\xbb\xbf"), "a byte order mark"
                self._started = True
            self._stream += part


def request_bytes(method: str, target: str, headers: Headers, body: bytes | None = None) -> bytes:
    """A request as it goes over the wire. Headers stand as they are given; only the length is added."""
    lines = [f"{method} {target} HTTP/1.1".encode()]
    rows = list(headers)
    if body is not None and not any(
        name.lower() in ("content-length", "transfer-encoding") for name, _ in rows
    ):
        rows.append(("Content-Length", str(len(body))))
    for name, value in rows:
        lines.append(name.encode() + b": " + (value.encode() if isinstance(value, str) else value))
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def chunked(body: bytes, size: int, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    """A body in chunks of `size` bytes."""
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    return (
        b"".join(b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
        + b"0\r\n"
        + trailers
        + b"\r\n"
    )
