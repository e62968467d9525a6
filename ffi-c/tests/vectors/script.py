"""Runs the steps of one vector on an engine behind the C door, under a clock that only the steps move."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from door import KINDS, Answers, Call, Door, Refused, Response
from host import Host
from vectors.pattern import Mismatch, Names, hold, hold_all, resolve
from vectors.text import parse, shorten, write

__all__ = ["Script"]

# The longest that `transmit` lets time pass, in milliseconds.
PATIENCE = 60_000


class Script:
    """One server, its host code, its clients and the time."""

    def __init__(
        self,
        door: Door,
        server: dict[str, Any],
        names: Names,
        *,
        cut: int | None = None,
        change: Callable[[Any], Any] | None = None,
    ) -> None:
        """`cut` is how many bytes are fed at a time; `change` alters what is sent before it is looked at."""
        self.checks = 0
        self._door = door
        self._names = dict(names)
        self._cut = cut
        self._change = change
        self._now = 0
        self._streams: dict[int, int] = {}
        self._sent: defaultdict[int, deque[Any]] = defaultdict(deque)
        self._events: list[dict[str, Any]] = []
        door.do("new", write({key: value for key, value in server.items() if key not in KINDS}))
        self._host = Host(door)
        for kind in KINDS:
            for entry in server.get(kind, []):
                self._host.add(kind, entry, 0)
        self._drain()
        self._do_advance(PATIENCE, {})
        self._events.clear()

    def run(self, steps: list[Any]) -> None:
        """Does all steps; afterwards nothing may be left over."""
        for number, step in enumerate(steps):
            resolved = resolve(step, self._names)
            try:
                self._step(resolved)
            except AssertionError as error:
                error.args = (f"step {number} {shorten(resolved)}: {error}",)
                raise
        self._nothing_sent()

    def _step(self, step: dict[str, Any]) -> None:
        (verb,) = (key for key in step if key not in ("on", "reason"))
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
        getattr(self, f"_do_{snake}")(step[verb], step)

    # The client's side

    def _stream(self, step: dict[str, Any]) -> int:
        number = int(step.get("on", 1))
        if number not in self._streams:
            (stream,) = self._door.do("open", self._now)
            self._streams[number] = int(stream)
        return self._streams[number]

    def _send(self, data: bytes, step: dict[str, Any]) -> None:
        stream, size = self._stream(step), self._cut or max(len(data), 1)
        for start in range(0, len(data), size):
            self._door.do("receive", stream, self._now, data[start : start + size])
            self._drain()

    def _do_receive(self, operand: Any, step: dict[str, Any]) -> None:
        self._send(write(operand).encode() + b"\n", step)

    def _do_receive_text(self, operand: str, step: dict[str, Any]) -> None:
        self._send(operand.encode(), step)

    def _do_receive_bytes(self, operand: str, step: dict[str, Any]) -> None:
        self._send(bytes.fromhex(operand), step)

    def _do_initialize(self, operand: Any, step: dict[str, Any]) -> None:
        wanted = operand if isinstance(operand, dict) else {"version": operand}
        params = {
            "protocolVersion": wanted["version"],
            "capabilities": wanted.get("capabilities", {}),
            "clientInfo": {"name": "vector", "version": "1"},
        }
        request = {"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params}
        self._do_receive(request, step)
        self._hold({"$open": {"result": {"$open": {"protocolVersion": wanted["version"]}}}}, step)
        self._do_receive({"jsonrpc": "2.0", "method": "notifications/initialized"}, step)
        self._events = [event for event in self._events if event["kind"] != "initialized"]

    def _do_end(self, operand: Any, step: dict[str, Any]) -> None:
        self._door.do("end" if operand == "input" else "close", self._stream(step), self._now)
        self._drain()

    def _message(self, step: dict[str, Any]) -> Any:
        """The next message on a stream, letting time pass until there is one."""
        sent, end = self._sent[self._stream(step)], self._now + PATIENCE
        while not sent:
            due = self._due()
            if due is None or due > end:
                raise AssertionError("nothing is sent")
            self._pass(due)
        return sent.popleft()

    def _hold(self, pattern: Any, step: dict[str, Any]) -> None:
        message = self._message(step)
        self.checks += 1
        try:
            self._names.update(hold(pattern, message))
        except Mismatch as error:
            raise Mismatch(f"{error}\n  in {shorten(message)}") from None

    def _do_transmit(self, operand: Any, step: dict[str, Any]) -> None:
        self._hold(operand, step)

    def _do_error(self, operand: dict[str, Any], step: dict[str, Any]) -> None:
        error = {
            "code": operand.get("code", {"$any": True}),
            "message": operand.get("message", {"$line": True}),
            "data": operand.get("data", {"$optional": {"$any": True}}),
        }
        identity = {"id": operand["id"]} if "id" in operand else {}
        self._hold({"jsonrpc": "2.0", "error": error, **identity}, step)

    def _do_transmit_all(self, operand: list[Any], step: dict[str, Any]) -> None:
        messages = [self._message(step) for _ in operand]
        self.checks += 1
        self._names.update(hold_all(operand, messages))

    def _nothing_sent(self) -> None:
        for sent in self._sent.values():
            if sent:
                raise Mismatch(f"unexpected: {shorten(sent[0])}")

    # Time

    def _due(self) -> int | None:
        (due,) = self._door.do("due")
        return None if due == "-" else int(due)

    def _pass(self, until: int) -> None:
        self._now = max(self._now, until)
        self._door.do("timeout", self._now)
        self._drain()

    def _do_advance(self, operand: Any, _: Any) -> None:
        end = self._now + int(operand)
        while (due := self._due()) is not None and due <= end:
            self._pass(due)
        self._now = end

    def _do_silence(self, operand: Any, step: Any) -> None:
        self.checks += 1
        self._do_advance(operand, step)
        self._nothing_sent()

    # Host code and the server's author

    def _do_release(self, operand: str, _: Any) -> None:
        self._host.release(operand)
        self._drain()

    def _do_called(self, operand: list[str], _: Any) -> None:
        self.checks += 1
        called, self._host.called = self._host.called, []
        assert sorted(called) == sorted(operand), f"host code was called: {called}"

    def _do_cancelled(self, operand: str, step: dict[str, Any]) -> None:
        self.checks += 1
        told = [reason for name, reason in self._host.cancelled if name == operand]
        assert told, "host code was told of no cancellation"
        self._host.cancelled.remove((operand, told[0]))
        assert "reason" not in step or told[0] == step["reason"], f"the reason was {told[0]}"

    def _do_event(self, operand: dict[str, Any], _: Any) -> None:
        self.checks += 1
        if operand["kind"] == "none":
            assert not self._events, f"events: {self._events}"
            return
        assert operand in self._events, f"events: {self._events}"
        self._events.remove(operand)

    def _do_catalogue(self, operand: dict[str, Any], _: Any) -> None:
        for number, kind in enumerate(KINDS):
            for entry in operand.get("add", {}).get(kind, []):
                self._host.add(kind, entry, self._now)
            for name in operand.get("remove", {}).get(kind, []):
                self._door.do("remove", number, self._now, str(name))
        self._drain()

    def _do_refuses(self, operand: Any, step: dict[str, Any]) -> None:
        self.checks += 1
        ((kind, definition),) = operand.items()
        with pytest.raises(Refused) as raised:
            self._host.add(f"{kind}s", {"definition": definition}, self._now)
        assert step.get("reason", "") in str(raised.value)
        self._drain()

    def _do_principal(self, operand: str | None, step: dict[str, Any]) -> None:
        self._door.do("principal", self._stream(step), operand)

    def _do_updated(self, operand: str, _: Any) -> None:
        self._door.do("updated", operand)
        self._drain()

    def _do_shutdown(self, _: Any, __: Any) -> None:
        self._door.do("shutdown", self._now)
        self._drain()

    def _drain(self) -> None:
        """Takes all outputs and lets host code do what they ask for, until there are none."""
        while (output := self._door.poll()) is not None:
            if isinstance(output, Call):
                self._host.start(output)
            elif isinstance(output, Response):
                self._host.answered(output)
            elif isinstance(output, Answers):
                self._host.inputs(output)
            elif output.kind == "taskBegun":
                self._host.begun(output.key, output.text)
            elif output.kind == "transmit":
                self._take(output.stream, output.text or "")
            elif output.kind == "cancelled":
                self._host.cancel(output.key, output.text)
            else:
                event: dict[str, Any] = {"kind": output.kind}
                if output.kind in ("subscribed", "unsubscribed"):
                    event["uri"] = output.text
                elif output.kind == "notification":
                    event["method"] = output.text
                elif output.kind == "diagnostic":
                    event["diagnostic"] = output.diagnostic
                self._events.append(event)

    def _take(self, stream: int, text: str) -> None:
        assert text.endswith("\n"), "a transmission ends within a line"
        for line in text[:-1].split("\n"):
            assert not line.endswith("\r"), "a line ends with CR"
            message = parse(line)
            self._sent[stream].append(message if self._change is None else self._change(message))
