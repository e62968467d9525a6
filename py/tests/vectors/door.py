"""A server of a vector on the Python door: a `ferromcp.Server`, served on pipes in this process.

Decides how an entry is declared: as users do it where that can say the definition, else the definition goes
to the same server ready made. What the functions do is decided in `host.py`.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from ferromcp import Server
from ferromcp._declare import Declared, Kind, Reentry, variables_of
from ferromcp._native import Call, Handler, loads
from ferromcp._native import Server as NativeServer

from .host import DEADLINE, Host
from .text import as_python, write

__all__ = ["Catalogue", "Connection", "turns"]

KINDS: dict[str, Kind] = {
    "tools": "tool",
    "resources": "resource",
    "templates": "template",
    "prompts": "prompt",
}
KEYS = {"tool": "name", "resource": "uri", "template": "uriTemplate", "prompt": "name"}

# Changes of a list are told together after this time: longer than a busy machine needs for three of them,
# shorter than `silence` is listened to.
COALESCE_MS = 20

# What the decorators can say. A prompt's arguments come from a signature, and its listing always says
# `required`.
SAYS = {
    "tool": {"name", "title", "description", "annotations", "icons", "_meta", "inputSchema", "outputSchema"},
    "resource": {"uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"},
    "template": {"uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"},
}
PARAMETERS = {
    "_meta": "meta",
    "inputSchema": "input_schema",
    "mimeType": "mime_type",
    "outputSchema": "output_schema",
}
INFO = {
    "name": "name",
    "version": "version",
    "title": "title",
    "description": "description",
    "websiteUrl": "website_url",
    "icons": "icons",
}


class Catalogue:
    """The server of a vector and its entries."""

    def __init__(self, description: dict[str, Any], loop: asyncio.AbstractEventLoop | None) -> None:
        self.host = Host(loop)
        self.loop = loop
        self._whole: dict[str, Any] = {}
        config = as_python({key: value for key, value in description.items() if key not in KINDS})
        entries = {lists: description.get(lists, []) for lists in KINDS}
        config["limits"] = {"coalesceMs": COALESCE_MS, **config.get("limits", {})}
        config["delegate"] = self._delegated(entries)
        info = {INFO[key]: value for key, value in config.pop("info").items()}
        options = {"instructions": "instructions", "outputValidation": "output_validation"}
        given = {name: config.pop(key) for key, name in options.items() if key in config}
        self.server = Server(**info, **given, config=config)
        self.add(entries)

    def add(self, entries: dict[str, Any]) -> None:
        """Declares entries as `server.json` has them."""
        for lists, members in entries.items():
            for entry in members:
                self._add(KINDS[lists], entry)

    def remove(self, keys: dict[str, Any]) -> None:
        """Takes entries away."""
        for lists, names in keys.items():
            remove = {
                "tools": self.server.remove_tool,
                "resources": self.server.remove_resource,
                "templates": self.server.remove_resource,
                "prompts": self.server.remove_prompt,
            }[lists]
            for name in names:
                assert remove(name), f"there is no {name} to remove"

    def add_ready_made(
        self,
        kind: Kind,
        definition: dict[str, Any],
        function: Callable[..., Any],
        reentry: Reentry = "replay",
    ) -> None:
        """Declares an entry by its definition as it stands."""
        key = str(definition.get(KEYS[kind], ""))
        is_async = self.loop is not None
        mime_type = as_python(definition.get("mimeType"))
        handler = Handler(
            kind, key, function, is_async=is_async, context="ctx_", mime_type=mime_type, reentry=reentry
        )
        self.server._add(Declared(kind, key, write(definition).encode(), handler, function, is_async))

    def start(self) -> NativeServer:
        """The native server with all that was declared."""
        native, _ = self.server._start()
        delegate = _delegate_to(self.host, self._whole)
        if self._whole and self.loop is None:
            native.set_sync_delegate(delegate, ["completion/complete", "resources/read"])
        elif self._whole:
            native.set_delegate(delegate)
        return native

    def _add(self, kind: Kind, entry: dict[str, Any]) -> None:
        definition, key = entry["definition"], str(entry["definition"].get(KEYS[kind], ""))
        acts, reentry = entry.get("behaviour", []), as_python(entry.get("reentry", "replay"))
        function = self.host.function(kind, key, acts)
        if kind in SAYS and set(definition) <= SAYS[kind] and "name" in definition:
            self._declare(kind, as_python(definition), function, reentry)
        else:
            self.add_ready_made(kind, definition, function, reentry)
        for argument, completion in entry.get("completions", {}).items():
            if f"{key}/{argument}" not in self._whole:
                complete = self.host.completion(key, argument, completion)
                self.server.completion(key, str(argument))(complete)

    def _declare(
        self, kind: Kind, definition: dict[str, Any], function: Callable[..., Any], reentry: Reentry
    ) -> None:
        options = {PARAMETERS.get(name, name): value for name, value in definition.items()}
        options["reentry"] = reentry
        if kind == "tool":
            self.server.add_tool(function, **options)
            return
        uri = options.pop("uri" if kind == "resource" else "uriTemplate")
        assert bool(variables_of(uri)) == (kind == "template"), f"{uri} is no {kind} for the decorators"
        self.server.resource(uri, **options)(function)

    def _delegated(self, entries: dict[str, Any]) -> list[str]:
        """The methods that a delegate serves, because host code gives whole results to them."""
        methods = set()
        for lists, members in entries.items():
            for entry in members:
                key = str(entry["definition"].get(KEYS[KINDS[lists]]))
                for act in entry.get("behaviour", []):
                    if "result" in act:
                        assert lists == "resources", "whole results are given to reads and completions here"
                        methods.add("resources/read")
                        self._whole[key] = act["result"]
                for argument, completion in entry.get("completions", {}).items():
                    if "result" in completion:
                        methods.add("completion/complete")
                        self._whole[f"{key}/{argument}"] = completion["result"]
        return sorted(methods)


def _delegate_to(host: Host, results: dict[str, Any]) -> Callable[[Call], bytes]:
    """A delegate that gives whole results."""

    def serve(call: Call) -> bytes:
        params = loads(call.params)
        key = params["uri"] if "uri" in params else f"{params['ref']['name']}/{params['argument']['name']}"
        return host.whole_result(key, results[key])

    return serve


class Events:
    """What host code was told beside calls."""

    # Apart from the connection, which holds the server that holds this.

    def __init__(self) -> None:
        self._told = threading.Condition()
        self._events: list[dict[str, Any]] = []

    def on_stream(self, _stream: int, kind: str) -> None:
        """The server's handler for streams."""
        self._tell({"kind": kind})

    def on_notification(self, _stream: int, method: str, _params: bytes | None) -> None:
        """The server's handler for notifications."""
        self._tell({"kind": "notification", "method": method})

    def _tell(self, event: dict[str, Any]) -> None:
        with self._told:
            self._events.append(event)
            self._told.notify_all()

    def take(self, event: dict[str, Any]) -> None:
        """Takes one out, as soon as it is there."""
        with self._told:
            assert self._told.wait_for(lambda: event in self._events, DEADLINE), f"events: {self._events}"
            self._events.remove(event)


class Connection:
    """The client's ends of the pipes that a server is served on."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._events = Events()
        self._loop = catalogue.loop
        self._native = catalogue.start()
        server_input, self._input = os.pipe()
        self._output, server_output = os.pipe()
        os.set_blocking(self._input, False)
        self._open = {self._input, self._output}
        self._received = bytearray()
        self._ended = False
        self._finished: Any = None
        self.stop = self._native.stop
        options = {"fds": (server_input, server_output)}
        if self._loop is None:
            self._native.start_stdio(None, options)
        else:
            self._native.set_stream_handler(self._events.on_stream)
            self._native.set_notification_handler(self._events.on_notification)
            starting = asyncio.run_coroutine_threadsafe(self._start(options), self._loop)
            self._finished = starting.result(DEADLINE)

    async def _start(self, options: dict[str, Any]) -> Any:
        self._native.start_stdio(self._loop, options)
        return asyncio.ensure_future(self._native.finished())

    def take_event(self, event: dict[str, Any]) -> None:
        """Host code was told of this."""
        self._events.take(event)

    def turn(self) -> None:
        """Lets the loop do what is due on it: an answer is sent some turns after its function's end."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(turns(), self._loop).result(DEADLINE)

    def send(self, data: bytes) -> None:
        """Writes bytes as they are, and reads meanwhile, so that the server can't be stuck in writing."""
        rest = memoryview(data)
        end = time.monotonic() + DEADLINE
        while rest:
            readable, writable, _ = select.select([self._output], [self._input], [], end - time.monotonic())
            if readable:
                self._read()
            if writable:
                rest = rest[os.write(self._input, rest) :]

    def line(self, seconds: float) -> bytes | None:
        """The next line without its end; None when there is none in this time, or the output has ended."""
        end = time.monotonic() + seconds
        while b"\n" not in self._received and not self._ended:
            readable, _, _ = select.select([self._output], [], [], max(0.0, end - time.monotonic()))
            if not readable:
                return None
            self._read()
        line, found, rest = bytes(self._received).partition(b"\n")
        assert found or not line, f"the output ends within a line: {line!r}"
        self._received = bytearray(rest)
        return line if found else None

    def _read(self) -> None:
        data = os.read(self._output, 1 << 16)
        self._received += data
        self._ended = not data

    def end_input(self) -> None:
        """The client sends no more."""
        self._close(self._input)

    def lose(self) -> None:
        """Nothing can be sent any more, either way."""
        self._close(self._output)
        self._close(self._input)
        self._ended = True

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)

    @property
    def has_ended(self) -> bool:
        """Whether the output has ended."""
        return self._ended

    def close(self) -> None:
        """Waits for the end of the server, whose input has ended; none of its threads is left in Python."""
        try:
            if self._loop is None:
                assert self._native.wait() == "over"
            else:
                waiting = asyncio.wait_for(asyncio.shield(self._finished), DEADLINE)
                asyncio.run_coroutine_threadsafe(waiting, self._loop).result(2 * DEADLINE)
            assert not self._native.stuck(DEADLINE), "a thread of the server's is left in host code"
        finally:
            self.lose()


async def turns() -> None:
    """Lets the running loop do what is due on it."""
    for _ in range(4):
        await asyncio.sleep(0)
