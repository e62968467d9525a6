"""The client over HTTP: runs the steps of one vector against a server that listens, in real time.

Decides how each step is done over HTTP. Whose server it is, and how its host code is reached, is decided by
what implements `Served`: this file knows none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Protocol

from .exchange import Event, Exchange, request
from .pattern import Mismatch, Names, error_pattern, hold, hold_all, resolve
from .plan import MODERN
from .text import Number, parse, shorten

__all__ = ["Served", "Web"]

# Seconds for anything that is waited for. Only a test that fails waits for so long.
DEADLINE = 10.0


class Served(Protocol):
    """A server that listens, and its host code."""

    address: tuple[str, int]
    principal: str | None
    """Who sends the requests from now on."""
    silence: float
    """Seconds after which a change of a list has been told."""

    def settle(self) -> None:
        """Returns when host code has done all that it can do without its client."""

    def release(self, name: str) -> None:
        """Lets the oldest call of a handler that waits go on."""

    def take_called(self, wanted: list[str]) -> list[str]:
        """The handlers called since the last time, as soon as there are as many as are wanted."""

    def take_cancelled(self, name: str, reason: str | None) -> None:
        """Returns when a call of this handler was told that nobody waits for it. A reason has to be the one
        that was told, where host code is told one.
        """

    def change(self, operand: dict[str, Any]) -> None:
        """The server's author adds and removes entries, as a step `catalogue` has them."""

    def stop(self) -> None:
        """Begins the end of the server."""

    def close(self) -> None:
        """Lets every call go on, and waits for the end of the server, which was told to stop."""


class Web:
    """One run of one vector over HTTP."""

    def __init__(
        self,
        served: Served,
        names: Names,
        http: dict[str, Any],
        *,
        tasks: bool = False,
        change: Callable[[Any], Any] | None = None,
        patience: float = DEADLINE,
    ) -> None:
        """`http` has the settings of the endpoint; `change` alters what the server sends before it is looked
        at; `patience` bounds waiting for it.
        """
        self.checks = 0
        self._served = served
        self._names = dict(names)
        self._http = http
        self._tasks = tasks
        self._change = change
        self._patience = patience
        self._exchanges: dict[str, Exchange] = {}
        self._ids: set[tuple[str, str]] = set()
        self._unproved = False
        self._changed = False
        self._stopped = False

    def run(self, steps: list[Any]) -> None:
        """Does all steps; afterwards nothing may be left over."""
        try:
            for number, step in enumerate(steps):
                resolved = resolve(step, self._names)
                try:
                    self._step(resolved)
                except AssertionError as error:
                    error.args = (f"step {number} {shorten(resolved)}: {error}",)
                    raise
            self._be_silent()
        finally:
            for exchange in self._exchanges.values():
                exchange.close()
            if not self._stopped:
                self._served.stop()
            self._served.close()

    def _step(self, step: dict[str, Any]) -> None:
        (verb,) = (key for key in step if key not in ("on", "reason"))
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
        getattr(self, f"_do_{snake}")(step[verb], step)

    # What the client sends

    def _exchange(self, step: dict[str, Any]) -> Exchange:
        host, port = self._served.address
        # Where bodies are bounded the bound has to be met on the way.
        data, fields = request(step, f"{host}:{port}", announced="maxBodyBytes" not in self._http)
        return Exchange(self._served.address, data, fields)

    def _do_send(self, operand: dict[str, Any], step: dict[str, Any]) -> None:
        on = str(step.get("on", "1"))
        before = self._exchanges.get(on)
        if before is not None:
            before.finish(self._patience)
            assert before.seen, f"the response to {on} was not looked at"
        if self._tasks:
            # Nothing but what functions have come to tells a task's client how it stands.
            self._prove()
            self._served.settle()
        self._exchanges[on] = self._exchange(operand)
        self._unproved = True

    def _do_initialize(self, operand: Any, _: Any) -> None:
        wanted = operand if isinstance(operand, dict) else {"version": operand}
        version, on = wanted["version"], {"on": "initialize"}
        params = {
            "protocolVersion": version,
            "capabilities": wanted.get("capabilities", {}),
            "clientInfo": {"name": "vector", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params}
        self._do_send({"body": body}, on)
        pattern = {"$open": {"id": "initialize", "result": {"$open": {"protocolVersion": version}}}}
        self._do_transmit(pattern, on)
        own = {"MCP-Protocol-Version": version}
        session = self._at(on).headers.get("mcp-session-id")
        if session is not None:
            assert re.fullmatch("[!-~]+", session), f"the session is {session!r}"
            own["Mcp-Session-Id"] = self._names["session"] = session
        self._names["own"] = own
        self._do_ended(True, on)
        self._do_send({"headers": own, "body": {"jsonrpc": "2.0", "method": "notifications/initialized"}}, on)
        self._do_response({"status": Number("202"), "text": ""}, on)

    def _do_principal(self, operand: str, _: Any) -> None:
        self._served.principal = operand

    def _do_gone(self, _: Any, step: dict[str, Any]) -> None:
        exchange = self._at(step)
        exchange.read_all()
        assert not exchange.over, "the response is over"
        exchange.close()
        del self._exchanges[str(step.get("on", "1"))]

    # What comes back

    def _at(self, step: dict[str, Any]) -> Exchange:
        on = str(step.get("on", "1"))
        assert on in self._exchanges, f"there is no request {on}"
        return self._exchanges[on]

    def _head(self, step: dict[str, Any]) -> Exchange:
        """The exchange, as soon as the head of its response is there."""
        exchange, end = self._at(step), time.monotonic() + self._patience
        while exchange.status is None:
            assert exchange.read(end - time.monotonic()), "nothing is sent"
        exchange.seen = True
        return exchange

    def _next_event(self, exchange: Exchange) -> Event:
        assert exchange.is_stream, f"it is no stream: {exchange.show()}"
        end = time.monotonic() + self._patience
        while (event := exchange.event()) is None:
            assert not exchange.over, "the stream has ended"
            assert exchange.read(end - time.monotonic()), "nothing is sent"
        key = event.field("id")
        if exchange.session is not None and key is not None:
            assert (exchange.session, key) not in self._ids, "the id of an event stands twice in a session"
            self._ids.add((exchange.session, key))
        return event

    def _changed_message(self, message: Any) -> Any:
        return message if self._change is None else self._change(message)

    def _message_of(self, step: dict[str, Any]) -> Any:
        """The next message of a response, in whichever form."""
        exchange = self._head(step)
        assert exchange.status == 200, f"the response is {exchange.show()}"
        if not exchange.is_stream:
            return self._changed_message(exchange.whole(self._patience))
        while (text := self._next_event(exchange).message) is None:
            pass
        return self._changed_message(parse(text))

    def _fit(self, pattern: Any, value: Any) -> None:
        self.checks += 1
        try:
            self._names.update(hold(pattern, value))
        except Mismatch as error:
            raise Mismatch(f"{error}\n  in {shorten(value)}") from None

    def _do_transmit(self, operand: Any, step: dict[str, Any]) -> None:
        self._fit(operand, self._message_of(step))

    def _do_transmit_all(self, operand: list[Any], step: dict[str, Any]) -> None:
        messages = [self._message_of(step) for _ in operand]
        self.checks += 1
        self._names.update(hold_all(operand, messages))

    def _do_error(self, operand: dict[str, Any], step: dict[str, Any]) -> None:
        if "status" not in operand:
            self._do_transmit(error_pattern(operand), step)
            return
        exchange = self._head(step)
        self._check_head(exchange, operand)
        self._fit(error_pattern(operand), self._changed_message(exchange.whole(self._patience)))

    def _do_refused(self, operand: Any, step: dict[str, Any]) -> None:
        exchange = self._head(step)
        self._check_head(exchange, operand if isinstance(operand, dict) else {"status": operand})
        exchange.finish(self._patience)
        if exchange.body:
            pattern = error_pattern({})
            message = self._changed_message(exchange.whole(self._patience))
            self._fit({"$oneOf": [pattern, {**pattern, "id": None}]}, message)

    def _do_response(self, operand: dict[str, Any], step: dict[str, Any]) -> None:
        assert set(operand) <= {"status", "headers", "body", "text"}, f"a response has not all of {operand}"
        exchange = self._head(step)
        self._check_head(exchange, operand)
        if "body" in operand:
            self._fit(operand["body"], self._changed_message(exchange.whole(self._patience)))
        if "text" in operand:
            exchange.finish(self._patience)
            text = exchange.body.decode(errors="replace")
            exchange.body.clear()
            self._fit(operand["text"], text)

    def _check_head(self, exchange: Exchange, wanted: dict[str, Any]) -> None:
        if "status" in wanted:
            self._fit(wanted["status"], Number(exchange.status))
        if "headers" in wanted:
            self._fit({"$open": wanted["headers"]}, exchange.headers)

    def _do_sse(self, operand: dict[str, Any], step: dict[str, Any]) -> None:
        exchange = self._head(step)
        while not (event := self._next_event(exchange)).fields:
            pass
        found: dict[str, Any] = {name: value for name in operand if (value := event.field(name)) is not None}
        if found.get("data", "").startswith(("{", "[")):
            found["data"] = self._changed_message(parse(found["data"]))
        if "retry" in found:
            found["retry"] = Number(found["retry"])
        self._fit(operand, found)

    def _do_comment(self, _: Any, step: dict[str, Any]) -> None:
        event = self._next_event(self._head(step))
        assert event.comment, "it is no comment"
        assert not event.fields, "it is an event"

    def _do_ended(self, _: Any, step: dict[str, Any]) -> None:
        exchange = self._head(step)
        exchange.finish(self._patience)
        while exchange.is_stream and (event := exchange.event()) is not None:
            assert event.message is None, f"before the end there is {event.message}"
        assert not exchange.body, f"there is {exchange.show()}"

    def _do_open(self, _: Any, step: dict[str, Any]) -> None:
        exchange = self._at(step)
        exchange.read_all()
        assert not exchange.over, "the response is over"

    # That nothing comes back

    def _do_silence(self, _: Any, __: Any) -> None:
        self.checks += 1
        self._be_silent()

    def _be_silent(self) -> None:
        """What runs comes to its end; then nothing has come that no step has looked at."""
        self._served.settle()
        if not self._stopped:
            self._probe()
        if self._changed:
            time.sleep(self._served.silence)
        self._changed = False
        for on, exchange in self._exchanges.items():
            exchange.read_all()
            if exchange.status is not None and not exchange.seen:
                raise Mismatch(f"unexpected on {on}: {exchange.show()}")
            while exchange.is_stream and (event := exchange.event()) is not None:
                if event.message is not None:
                    raise Mismatch(f"unexpected on {on}: {event.message}")
            if exchange.body:
                raise Mismatch(f"unexpected on {on}: {exchange.show()}")

    def _prove(self) -> None:
        """Returns when the server has taken all that was sent."""
        if self._unproved and not self._stopped:
            self._probe()

    def _probe(self) -> None:
        """Asks something that is answered at once."""
        params = {"_meta": MODERN}
        body = {"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": params}
        self._exchange({"body": body}).finish(DEADLINE)
        self._unproved = False

    def _do_advance(self, _: Any, __: Any) -> None:
        """Time can't be moved."""

    # Host code and the server's author

    def _do_release(self, operand: str, _: Any) -> None:
        self._served.release(operand)

    def _do_called(self, operand: list[str], _: Any) -> None:
        self.checks += 1
        self._prove()
        called = self._served.take_called(operand)
        assert sorted(called) == sorted(operand), f"host code was called: {called}"

    def _do_cancelled(self, operand: str, step: dict[str, Any]) -> None:
        self.checks += 1
        self._served.take_cancelled(operand, step.get("reason"))

    def _do_catalogue(self, operand: dict[str, Any], _: Any) -> None:
        self._prove()
        self._changed = True
        self._served.change(operand)

    def _do_shutdown(self, _: Any, __: Any) -> None:
        self._prove()
        self._stopped = True
        self._served.stop()
