"""The client's side of one connection, in either era: frames what is sent, sorts what comes back.

A `Wire` knows how each era opens a connection and dresses a request; every line that it reads goes through
the `Checker`. It answers nothing by itself, so that a test sees what the server really said.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any

from checker import LEGACY, MODERN, Checker, Json, Message, id_key, modern_meta
from process import DEADLINE, PATIENCE, Closed, Process, Silence

# What a crash of host code is to a peer: an internal error, or the 0 that mcp 2.x has for it in legacy
# revisions.
CRASH = (-32603, 0)


class Wire:
    """One process, one revision. `send_*` writes, `answer` waits for one id, everything else stays in the
    inbox.
    """

    def __init__(
        self, process: Process, revision: str, capabilities: Mapping[str, Json] | None = None
    ) -> None:
        self.process = process
        self.revision = revision
        self.capabilities = dict(capabilities or {})
        self.checker = Checker()
        self.inbox: list[Message] = []
        self.arrivals: list[tuple[float, Message]] = []
        self.last_line = b""
        self.opened: Message = {}
        self._last_id = 0

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    # Opening.

    def open(self) -> Message:
        """What each era does before anything else: the handshake, or a look at what the server offers."""
        if self.modern:
            self.opened = self.result("server/discover")
        else:
            self.opened = self.initialize()
            self.notify("notifications/initialized")
        return self.opened

    def initialize(self, version: str | None = None) -> Message:
        params = {
            "protocolVersion": version or self.revision,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "blackbox", "version": "1"},
        }
        return self.result("initialize", params)

    # Sending.

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def dress(
        self, params: Mapping[str, Json] | None, meta: Mapping[str, Json] | None = None
    ) -> Message | None:
        """The params as this era sends them."""
        own = {**(modern_meta(self.capabilities) if self.modern else {}), **(meta or {})}
        if own:
            return {**(params or {}), "_meta": own}
        return dict(params) if params is not None else None

    def frame(
        self,
        method: str,
        params: Mapping[str, Json] | None = None,
        *,
        id: Json = None,
        meta: Mapping[str, Json] | None = None,
        valid: bool = True,
    ) -> bytes:
        """One request as a line, noted as asked. The caller writes it."""
        dressed = self.dress(params, meta)
        id = self.new_id() if id is None else id
        self.checker.sent_request(id, method, dressed, self.revision, valid=valid)
        message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
        if dressed is not None:
            message["params"] = dressed
        return encode(message)

    def call_frame(self, tool: str, arguments: Mapping[str, Json] | None = None, *, id: Json = None) -> bytes:
        return self.frame("tools/call", {"name": tool, "arguments": dict(arguments or {})}, id=id)

    def request(
        self,
        method: str,
        params: Mapping[str, Json] | None = None,
        *,
        id: Json = None,
        meta: Mapping[str, Json] | None = None,
        valid: bool = True,
    ) -> Json:
        """Sends a request and gives its id."""
        id = self.new_id() if id is None else id
        self.process.write(self.frame(method, params, id=id, meta=meta, valid=valid))
        return id

    def start(
        self, tool: str, /, *, id: Json = None, meta: Mapping[str, Json] | None = None, **arguments: Json
    ) -> Json:
        """Sends a tools/call and gives its id."""
        return self.request("tools/call", {"name": tool, "arguments": arguments}, id=id, meta=meta)

    def notify(self, method: str, params: Mapping[str, Json] | None = None, *, valid: bool = True) -> None:
        self.checker.sent_notification(method, params, self.revision, valid=valid)
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        self.process.write(encode(message))

    def cancel(self, id: Json) -> None:
        self.notify("notifications/cancelled", {"requestId": id})

    def raw(self, line: bytes | str, end: bytes = b"\n", timeout: float = DEADLINE) -> None:
        """Sends a line as it stands."""
        data = line.encode() if isinstance(line, str) else line
        self.checker.sent_raw(data)
        self.process.write(data + end, timeout=timeout)

    def tamper(self, frame: bytes, old: bytes, new: bytes, timeout: float = DEADLINE) -> None:
        """Sends a frame with some of its bytes replaced, which may cost it its id."""
        assert old in frame
        self.checker.raw_lines += 1
        self.process.write(frame.replace(old, new), timeout=timeout)

    # Receiving.

    def receive(self, timeout: float = DEADLINE) -> Message:
        """The next message off the pipe, checked. The inbox is left alone."""
        self.last_line = self.process.line(timeout)
        message = self.checker.received(self.last_line)
        self.arrivals.append((time.monotonic(), message))
        return message

    def next(self, timeout: float = DEADLINE) -> Message:
        """The oldest message that nobody has taken yet."""
        return self.inbox.pop(0) if self.inbox else self.receive(timeout)

    def answer(self, id: Json, timeout: float = DEADLINE) -> Message:
        """The whole response to one id. Everything that comes before it stays in the inbox."""
        key = id_key(id)
        for index, message in enumerate(self.inbox):
            if "method" not in message and id_key(message.get("id")) == key:
                return self.inbox.pop(index)
        end = time.monotonic() + timeout * PATIENCE
        while (left := end - time.monotonic()) > 0:
            message = self.receive(left / PATIENCE)
            if "method" not in message and id_key(message.get("id")) == key:
                return message
            self.inbox.append(message)
        raise Silence(f"id {id!r} was not answered within {timeout} s\n{self.process.complaint()}")

    def ask(self, method: str, params: Mapping[str, Json] | None = None, **more: Any) -> Message:
        """A request and its whole response."""
        timeout = more.pop("timeout", DEADLINE)
        return self.answer(self.request(method, params, **more), timeout)

    def result(self, method: str, params: Mapping[str, Json] | None = None, **more: Any) -> Message:
        response = self.ask(method, params, **more)
        assert "result" in response, f"an error instead of a result: {response}"
        result: Message = response["result"]
        return result

    def error(self, method: str, params: Mapping[str, Json] | None = None, **more: Any) -> Message:
        response = self.ask(method, params, **more)
        assert "error" in response, f"a result instead of an error: {response}"
        error: Message = response["error"]
        return error

    def call(self, tool: str, /, **arguments: Json) -> Message:
        """A tools/call and its result."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def notifications(self, method: str) -> list[Message]:
        """Takes the notifications of one method out of the inbox."""
        taken = [message for message in self.inbox if message.get("method") == method]
        self.inbox = [message for message in self.inbox if message.get("method") != method]
        return taken

    def alive(self, timeout: float = DEADLINE) -> float:
        """Proof of life by what the engine answers itself; gives the seconds it took."""
        began = time.monotonic()
        if self.modern:
            self.result("server/discover", timeout=timeout)
        else:
            assert self.result("ping", timeout=timeout) == {}
        return time.monotonic() - began

    def quiet(self, seconds: float) -> list[Message]:
        """Everything that comes in the next `seconds`, the inbox included."""
        end = time.monotonic() + seconds
        with contextlib.suppress(Silence, Closed):
            while (left := end - time.monotonic()) > 0:
                self.inbox.append(self.receive(left / PATIENCE))
        taken, self.inbox = self.inbox, []
        return taken

    def finish(self, timeout: float = DEADLINE) -> int:
        """Closes input, reads to the end, gives the exit code."""
        self.process.end_input()
        with contextlib.suppress(Closed):
            while True:
                self.inbox.append(self.receive(timeout))
        assert self.process.rest() == b"", "output ended in the middle of a line"
        return self.process.wait(timeout)


def encode(message: Json) -> bytes:
    """A message as one line, as compact as peers send it."""
    return (
        json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        + b"\n"
    )


def text_of(result: Message) -> str:
    """The text of a tool result, its blocks joined."""
    return "".join(block.get("text", "") for block in result["content"])


def failed(result: Message) -> bool:
    return result.get("isError") is True


def revision_of(era: str) -> str:
    return MODERN if era == "modern" else LEGACY
