"""The client's half of Streamable HTTP, in either era: which headers a request has, and what its answer
says.

An `Endpoint` is a server process that listens. A `Peer` is one client of it: a legacy session, or a client
of the modern era, whose requests have nothing in common but their dress. Whatever a server sends is held
against the official models, as on a pipe (`checker.py`); a modern request and each legacy session have a
`Checker` of their own.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from checker import LEGACY, MODERN, Checker, Json, Message, modern_meta
from http_wire import Connection, Event, Response, request_bytes
from process import DEADLINE, PATIENCE, Closed, Process, Silence

JSON = "application/json"
STREAM = "text/event-stream"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
LISTENS = re.compile(r"Listening on http://([^\s:/]+|\[[^\]]+\]):(\d+)(/\S*)?\s")
SAFE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")


class Endpoint:
    """A server process, and the address that it says on standard error."""

    def __init__(self, name: str, command: Iterable[str], options: Mapping[str, Json]) -> None:
        self.name = name
        arguments = ("--options", json.dumps(options)) if options else ()
        self.process = Process((*command, "--port", "0", *arguments))
        end = time.monotonic() + 20 * PATIENCE
        while not (found := LISTENS.search(self.process.stderr)):
            over = self.process.child.poll() is not None or time.monotonic() > end
            if over:
                self.process.close()
                raise Silence(f"{name} does not listen\n{self.process.complaint()}")
            time.sleep(0.01)
        self.address = (found[1], int(found[2]))
        self.host = f"{found[1]}:{found[2]}"
        self.path = found[3] or "/"

    def connect(self, **more: Any) -> Connection:
        return Connection(self.address, **more)

    def close(self) -> None:
        # The end of its input, which `close` gives it some time for, ends no server that listens.
        self.process.child.kill()
        self.process.close()

    def send(
        self,
        method: str,
        headers: Mapping[str, str | bytes | None] | None = None,
        body: bytes | None = None,
        *,
        path: str | None = None,
        on: Connection | None = None,
        timeout: float = DEADLINE,
    ) -> Response:
        """One request, and the head of its answer. A header of None is left out."""
        connection = on or self.connect()
        connection.send(self.frame(method, headers, body, path=path))
        return connection.response(timeout, method=method)

    def frame(
        self,
        method: str,
        headers: Mapping[str, str | bytes | None] | None = None,
        body: bytes | None = None,
        *,
        path: str | None = None,
    ) -> bytes:
        rows = merged({"Host": self.host}, headers)
        return request_bytes(method, path or self.path, rows.items(), body)

    def peer(self, era: str = "legacy", **more: Any) -> Peer:
        """A client that is ready for requests."""
        peer = Peer(self, revision=more.pop("revision", MODERN if era == "modern" else LEGACY), **more)
        peer.open()
        return peer


def merged(
    own: Mapping[str, str | bytes | None], other: Mapping[str, str | bytes | None] | None
) -> dict[str, str | bytes]:
    """Headers of which the later ones win, whatever the case of their names."""
    rows: dict[str, tuple[str, str | bytes | None]] = {
        name.lower(): (name, value) for name, value in own.items()
    }
    for name, value in (other or {}).items():
        rows[name.lower()] = (name, value)
    return {name: value for name, value in rows.values() if value is not None}


def encoded(value: str) -> str:
    """A value as a header carries it (2026-07-28 `basic/transports/streamable-http`, "Value Encoding")."""
    if SAFE.fullmatch(value) and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return sentinel(value.encode())


def sentinel(value: bytes) -> str:
    return "=?base64?" + base64.b64encode(value).decode() + "?="


def encode(message: Json) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


class Peer:
    """One client. `post` gives the raw answer; what is built on it gives messages."""

    def __init__(
        self, endpoint: Endpoint, *, revision: str = LEGACY, capabilities: Mapping[str, Json] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.revision = revision
        self.capabilities = dict(capabilities or {})
        self.session: str | None = None
        self.checker = Checker()
        self.opened: Message = {}
        self._last_id = 0

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    def open(self) -> Message:
        if self.modern:
            self.opened = self.result("server/discover")
            return self.opened
        response = self.post(self.initialize_message())
        assert response.status == 200, (response.status, response.body())
        self.session = response.header("mcp-session-id")
        self.opened = self.last(response)["result"]
        self.notify("notifications/initialized")
        return self.opened

    def initialize_message(self, version: str | None = None) -> Message:
        params = {
            "protocolVersion": version or self.revision,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "blackbox", "version": "1"},
        }
        return self.message("initialize", params)

    # Requests.

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def message(
        self,
        method: str,
        params: Mapping[str, Json] | None = None,
        *,
        id: Json = None,
        meta: Mapping[str, Json] | None = None,
        valid: bool = True,
    ) -> Message:
        """A request as this era dresses it, noted as asked."""
        own = {**(modern_meta(self.capabilities) if self.modern else {}), **(meta or {})}
        dressed = {**(params or {}), "_meta": own} if own else (None if params is None else dict(params))
        id = self.new_id() if id is None else id
        if self.modern:
            self.checker = Checker()
        self.checker.sent_request(id, method, dressed, self.revision, valid=valid)
        message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
        return message if dressed is None else {**message, "params": dressed}

    def call_message(self, tool: str, /, **arguments: Json) -> Message:
        return self.message("tools/call", {"name": tool, "arguments": arguments})

    def headers(self, message: Json = None) -> dict[str, str | bytes | None]:
        """What goes with a message, or with a GET or DELETE."""
        rows: dict[str, str | bytes | None] = {"Accept": f"{JSON}, {STREAM}"}
        if message is not None:
            rows["Content-Type"] = JSON
        if not (isinstance(message, dict) and message.get("method") == "initialize"):
            rows["MCP-Protocol-Version"] = self.revision if self.revision >= "2025-06-18" else None
            rows["Mcp-Session-Id"] = self.session
        if self.modern and isinstance(message, dict) and isinstance(message.get("method"), str):
            rows["Mcp-Method"] = message["method"]
            name = (message.get("params") or {}).get(NAMED.get(message["method"], ""))
            rows["Mcp-Name"] = encoded(name) if isinstance(name, str) else None
        return rows

    def frame(self, message: Json, headers: Mapping[str, str | bytes | None] | None = None) -> bytes:
        return self.endpoint.frame("POST", merged(self.headers(message), headers), encode(message))

    def post(
        self,
        message: Json,
        headers: Mapping[str, str | bytes | None] | None = None,
        *,
        on: Connection | None = None,
        timeout: float = DEADLINE,
    ) -> Response:
        """Posts a message; the answer's head has come."""
        rows = merged(self.headers(message), headers)
        return self.endpoint.send("POST", rows, encode(message), on=on, timeout=timeout)

    def get(self, headers: Mapping[str, str | bytes | None] | None = None) -> Response:
        """Opens the stream of what belongs to no request."""
        return self.endpoint.send("GET", merged(self.headers(), {"Accept": STREAM, **(headers or {})}))

    def resume(self, event: str) -> Response:
        return self.get({"Last-Event-ID": event})

    def delete(self, headers: Mapping[str, str | bytes | None] | None = None) -> Response:
        return self.endpoint.send("DELETE", merged(self.headers(), headers))

    # Answers.

    def check(self, event: Event) -> Message | None:
        """The message in an event. None: there is none, it only gives an id."""
        assert event.name in (None, "message"), f"an event of another kind: {event}"
        return self.checker.received(event.data.encode()) if event.data else None

    def next(self, response: Response, timeout: float = DEADLINE) -> Message:
        """The next message of a stream."""
        while (message := self.check(response.event(timeout))) is None:
            pass
        return message

    def messages(self, response: Response, timeout: float = DEADLINE) -> list[Message]:
        """All that an answer says, checked."""
        if response.content_type == STREAM:
            return [m for m in (self.check(event) for event in response.events(timeout)) if m is not None]
        assert response.content_type == JSON, (response.status, response.headers)
        return [self.checker.received(response.body(timeout))]

    def last(self, response: Response, timeout: float = DEADLINE) -> Message:
        """The answer to the request, after which nothing may come."""
        *before, answer = self.messages(response, timeout)
        assert "method" not in answer, f"the answer is not the last message: {answer}"
        assert all("method" in message for message in before), f"more than one answer: {before}"
        return answer

    def ask(self, method: str, params: Mapping[str, Json] | None = None, **more: Any) -> Message:
        on, timeout = more.pop("on", None), more.pop("timeout", DEADLINE)
        response = self.post(self.message(method, params, **more), on=on, timeout=timeout)
        return self.last(response, timeout)

    def result(self, method: str, params: Mapping[str, Json] | None = None, **more: Any) -> Message:
        response = self.ask(method, params, **more)
        assert "result" in response, f"an error instead of a result: {response}"
        result: Message = response["result"]
        return result

    def call(self, tool: str, /, **arguments: Json) -> Message:
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def notify(self, method: str, params: Mapping[str, Json] | None = None) -> Response:
        """Posts a notification, which is answered with 202 and nothing else."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        response = self.post(message if params is None else {**message, "params": dict(params)})
        assert (response.status, response.body()) == (202, b"")
        return response

    def answer(self, id: Json, result: Json) -> None:
        """Answers what the server has asked."""
        response = self.post({"jsonrpc": "2.0", "id": id, "result": result})
        assert (response.status, response.body()) == (202, b"")

    def alive(self) -> None:
        """Proof of life by what the engine answers itself."""
        if self.modern:
            self.result("server/discover")
        else:
            assert self.result("ping") == {}


def refused(
    response: Response, status: int | tuple[int, ...], code: int | None = None, id: Json = None
) -> Message:
    """A refusal: its status, and the JSON-RPC error in its body, which belongs to `id` or to nothing."""
    statuses = (status,) if isinstance(status, int) else status
    body = response.body()
    assert response.status in statuses, (response.status, body)
    if code is None:
        return {}
    assert response.content_type == JSON, (response.headers, body)
    message = json.loads(body)
    assert message["jsonrpc"] == "2.0"
    assert message["error"]["code"] == code, message
    assert isinstance(message["error"]["message"], str)
    assert message.get("id") == id, message
    error: Message = message["error"]
    return error


def ended(connection: Connection) -> bool:
    """Whether nothing but the end is left on a connection."""
    try:
        return connection.hung_up(1) and not connection.buffer
    except Closed:
        return True
