"""The client: runs the steps of one vector against a server in this process, in real time.

Decides how each step is done on a real connection. Nothing sleeps: what has to happen is waited for, and that
nothing happens is proved by a request that is answered next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from ferromcp import ConfigurationError

from .door import COALESCE_MS, Catalogue, Connection
from .host import DEADLINE
from .pattern import Mismatch, Names, error_pattern, hold, hold_all, resolve
from .plan import MODERN, Road, StepSkip, step_skip
from .text import parse, shorten, write

__all__ = ["SILENCE", "Script"]

# So long, in seconds, a silence is listened to where no request can prove it, or a change is due.
SILENCE = (COALESCE_MS + 10) / 1000


class Script:
    """One run of one vector."""

    def __init__(
        self,
        server: dict[str, Any],
        names: Names,
        road: Road,
        loop: asyncio.AbstractEventLoop,
        *,
        change: Callable[[Any], Any] | None = None,
        patience: float = DEADLINE,
    ) -> None:
        """`change` alters what the server sends before it is looked at; `patience` bounds waiting for it."""
        self.checks = 0
        self._names = dict(names)
        self._road = road
        self._change = change
        self._patience = patience
        self._catalogue = Catalogue(server, loop if road is Road.LOOP else None)
        self._host = self._catalogue.host
        self._messages: deque[Any] = deque()
        self._tasks = any(
            "execution" in tool["definition"] or {"begin": True} in tool.get("behaviour", [])
            for tool in server.get("tools", [])
        )
        self._probes = 0
        self._last = b""
        self._unproved = False
        self._changed = False
        self._listens = False
        self._over = False

    def run(self, steps: list[Any]) -> None:
        """Does all steps; afterwards nothing may be left over."""
        self._connection = Connection(self._catalogue)
        complete = False
        try:
            for number, step in enumerate(steps):
                resolved = resolve(step, self._names)
                try:
                    self._step(resolved)
                except AssertionError as error:
                    error.args = (f"step {number} {shorten(resolved)}: {error}",)
                    raise
            self._be_silent(last=True)
            complete = True
        finally:
            self._end(complete)

    def _end(self, complete: bool) -> None:
        waited = self._host.release_all()
        self._connection.end_input()
        while (line := self._connection.line(DEADLINE)) is not None:
            # Calls that wait are answered, subscriptions end; nothing else has anything to say.
            assert not complete or waited or self._listens, f"left over: {line!r}"
        assert self._connection.has_ended, "the server does not end"
        self._connection.close()

    def _step(self, step: dict[str, Any]) -> None:
        skipped = step_skip(step, self._road)
        (verb,) = (key for key in step if key not in ("on", "reason"))
        if skipped in (StepSkip.ADVANCE, StepSkip.EVENT):
            return
        getattr(self, f"_do_{_snake(verb)}")(step[verb], step)

    # What the client sends

    def _send(self, data: bytes) -> None:
        if self._tasks:
            # Nothing but what functions have come to tells a task's client how it stands.
            self._prove()
            self._connection.turn()
            self._host.settle()
            self._connection.turn()
        self._last = data
        self._unproved = True
        self._listens = self._listens or b"subscriptions/listen" in data
        self._connection.send(data)

    def _do_receive(self, operand: Any, _: Any) -> None:
        self._send(write(operand).encode() + b"\n")

    def _do_receive_text(self, operand: str, _: Any) -> None:
        self._send(operand.encode())

    def _do_receive_bytes(self, operand: str, _: Any) -> None:
        self._send(bytes.fromhex(operand))

    def _do_initialize(self, operand: Any, _: Any) -> None:
        wanted = operand if isinstance(operand, dict) else {"version": operand}
        params = {
            "protocolVersion": wanted["version"],
            "capabilities": wanted.get("capabilities", {}),
            "clientInfo": {"name": "vector", "version": "1"},
        }
        request = {"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params}
        self._send(write(request).encode() + b"\n")
        pattern = {"$open": {"id": "initialize", "result": {"$open": {"protocolVersion": wanted["version"]}}}}
        self._hold(pattern)
        self._send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        if self._road is Road.LOOP:
            self._do_event({"kind": "initialized"}, {})

    def _do_end(self, operand: str, _: Any) -> None:
        self._prove()
        self._over = True
        if operand == "input":
            self._connection.end_input()
        else:
            self._connection.lose()

    # What the server sends

    def _read(self, seconds: float) -> bool:
        line = self._connection.line(seconds)
        if line is not None:
            assert not line.endswith(b"\r"), "a line ends with CR"
            self._messages.append(parse(line))
        return line is not None

    def _message(self) -> Any:
        if not self._messages and not self._read(self._patience):
            raise AssertionError("nothing is sent")
        message = self._messages.popleft()
        return message if self._change is None else self._change(message)

    def _hold(self, pattern: Any) -> None:
        message = self._message()
        self.checks += 1
        try:
            self._names.update(hold(pattern, message))
        except Mismatch as error:
            raise Mismatch(f"{error}\n  in {shorten(message)}") from None

    def _do_transmit(self, operand: Any, _: Any) -> None:
        self._hold(operand)

    def _do_error(self, operand: dict[str, Any], _: Any) -> None:
        self._hold(error_pattern(operand))

    def _do_transmit_all(self, operand: list[Any], _: Any) -> None:
        messages = [self._message() for _ in operand]
        self.checks += 1
        self._names.update(hold_all(operand, messages))

    def _do_silence(self, _: Any, __: Any) -> None:
        self.checks += 1
        self._be_silent()

    def _be_silent(self, *, last: bool = False) -> None:
        """What runs comes to its end; then nothing has been sent but the answer to a request of our own."""
        # Where the end of the input makes nobody speak, the end of the output proves it.
        asks = self._can_ask() and (not last or self._listens or self._host.waits())
        self._host.settle()
        self._connection.turn()
        if self._changed or not (asks or last):
            self._read(SILENCE)
        self._changed = False
        if asks:
            self._probe()
        if self._messages:
            raise Mismatch(f"unexpected: {shorten(self._messages[0])}")

    def _can_ask(self) -> bool:
        return not self._over and (not self._last or self._last.endswith(b"\n"))

    def _prove(self) -> None:
        """Returns when the server has taken all that was sent."""
        if self._unproved and self._can_ask():
            self._probe()

    def _probe(self) -> None:
        """Asks something that is answered at once. What comes before the answer is kept for later steps."""
        self._probes += 1
        key = f"probe {self._probes}"
        modern = b"io.modelcontextprotocol/protocolVersion" in self._last
        params = {"params": {"_meta": MODERN}} if modern else {}
        method = "server/discover" if modern else "ping"
        request = {"jsonrpc": "2.0", "id": key, "method": method, **params}
        self._connection.send(write(request).encode() + b"\n")
        while self._read(DEADLINE):
            if isinstance(self._messages[-1], dict) and self._messages[-1].get("id") == key:
                self._messages.pop()
                self._unproved = False
                return
        raise AssertionError("the server does not answer any more")

    # What host code does and sees

    def _do_release(self, operand: str, _: Any) -> None:
        self._host.release(operand)

    def _do_called(self, operand: list[str], _: Any) -> None:
        self.checks += 1
        self._prove()
        self._connection.turn()
        called = self._host.take_called(operand)
        assert sorted(called) == sorted(operand), f"host code was called: {called}"

    def _do_cancelled(self, operand: str, _: Any) -> None:
        self.checks += 1
        self._host.take_cancelled(operand)

    def _do_event(self, operand: dict[str, Any], _: Any) -> None:
        self.checks += 1
        if operand["kind"] == "drained":
            assert not self._read(DEADLINE), f"before the end: {shorten(self._messages[0])}"
            assert self._connection.has_ended, "the server does not end"
            return
        self._connection.take_event(operand)

    def _do_catalogue(self, operand: dict[str, Any], _: Any) -> None:
        self._prove()
        self._changed = True
        self._catalogue.add(operand.get("add", {}))
        self._catalogue.remove(operand.get("remove", {}))

    def _do_refuses(self, operand: Any, step: dict[str, Any]) -> None:
        self._prove()
        ((kind, definition),) = operand.items()
        self.checks += 1
        function = self._host.function(kind, "refused", [])
        with pytest.raises((ConfigurationError, ValueError)) as raised:
            self._catalogue.add_ready_made(kind, definition, function)
        assert step.get("reason", "") in str(raised.value)

    def _do_updated(self, operand: str, _: Any) -> None:
        self._prove()
        self._catalogue.server.resource_updated(operand)

    def _do_shutdown(self, _: Any, __: Any) -> None:
        self._prove()
        self._over = True
        self._connection.stop()


def _snake(verb: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
