"""Runs the steps of one vector against a server in this process, on pipes, in real time."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

import pytest

from ferromcp import ConfigurationError

from .behaviour import KINDS, UNSUPPORTED_ACTS, Behaviour
from .pattern import fits, parse, plain, resolve, write

DEADLINE = 10.0
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# What differs on this door, with the reason.
SKIPPED = {
    "jsonrpc/numbers-untouched": "declared functions get and give Python's numbers, which keep no spelling",
}
TIMES = {"drainMs", "callTimeoutMs", "coalesceMs"}


def unsupported(server: dict[str, Any], steps: list[dict[str, Any]]) -> str | None:
    """Why this door can't run a vector, if it can't."""
    if TIMES & set(server.get("limits", {})):
        return "limits in time need a clock of the runner's own"
    if any(step.get("on", 1) not in (1, "1") for step in steps if isinstance(step, dict)):
        return "one connection only"
    for lists in KINDS:
        for entry in server.get(lists, []):
            if any(UNSUPPORTED_ACTS & set(act) for act in entry.get("behaviour", [])):
                return "declared functions do not give whole result objects"
            if any("result" in item for item in entry.get("completions", {}).values()):
                return "declared functions do not give whole result objects"
    return None


class Runner:
    """One run of one vector."""

    def __init__(self, server: dict[str, Any], names: dict[str, Any]) -> None:
        self.names = names
        self.modern = False
        self.ended = False
        self.probes = 0
        self.behaviour = Behaviour(plain(server))
        self.called = 0
        self.lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def run(self, steps: list[Any]) -> None:
        """All steps, and nothing left behind."""
        loop = asyncio.get_running_loop()
        server_input, self.input = os.pipe()
        output, server_output = os.pipe()
        native = self.behaviour.native
        native.start_stdio(loop, {"fds": (server_input, server_output), "drain_ms": 100})
        reader = asyncio.StreamReader(limit=1 << 28)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb")
        )
        reading = asyncio.ensure_future(self.read(reader))
        finished = native.finished()
        try:
            for number, step in enumerate(steps):
                try:
                    await asyncio.wait_for(self.step(resolve(step, self.names)), DEADLINE)
                except (AssertionError, KeyError, TimeoutError) as error:
                    raise AssertionError(f"step {number} {write(step)}: {error!r}") from error
            if not self.ended:
                await self.silence()
            assert self.lines.empty(), f"left over: {self.lines.get_nowait()!r}"
        finally:
            self.end()
            transport.close()
            reading.cancel()
            await asyncio.wait_for(finished, DEADLINE)

    async def read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self.lines.put_nowait(line)

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            os.close(self.input)

    async def send(self, data: bytes) -> None:
        # In another thread: a large message fills the pipe, and the server may wait for us to read.
        if len(data) < 4096:
            os.write(self.input, data)
        else:
            await asyncio.to_thread(self.send_all, data)

    def send_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.input, view) :]

    async def message(self) -> Any:
        line = await self.lines.get()
        assert line.endswith(b"\n")
        return parse(line)

    async def expect(self, pattern: Any) -> Any:
        message = await self.message()
        assert fits(pattern, message, self.names), f"got {write(message)}, wanted {write(pattern)}"
        return message

    async def silence(self) -> None:
        """Something that is answered at once is answered next."""
        if self.ended:
            await asyncio.sleep(0.05)
            assert self.lines.empty(), f"got {self.lines.get_nowait()!r}"
            return
        key = await self.probe()
        message = await self.message()
        assert isinstance(message, dict), f"not silent: {write(message)}"
        assert message.get("id") == key, f"not silent: {write(message)}"

    async def probe(self) -> str:
        """Sends a request that is answered at once; its id."""
        self.probes += 1
        key = f"probe {self.probes}"
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": key, "method": "ping"}
        if self.modern:
            request |= {"method": "server/discover", "params": {"_meta": MODERN}}
        await self.send(json.dumps(request).encode() + b"\n")
        return key

    async def barrier(self) -> None:
        """What was sent has been read before the server's author acts; what was answered stays in line."""
        if self.ended:
            return
        key = await self.probe()
        kept: list[bytes] = []
        while True:
            line = await self.lines.get()
            message = parse(line)
            if isinstance(message, dict) and message.get("id") == key:
                break
            kept.append(line)
        while not self.lines.empty():
            kept.append(self.lines.get_nowait())
        for line in kept:
            self.lines.put_nowait(line)

    async def initialize(self, operand: Any) -> None:
        options = operand if isinstance(operand, dict) else {"version": operand}
        params = {
            "protocolVersion": options["version"],
            "capabilities": plain(options.get("capabilities", {})),
            "clientInfo": {"name": "vector", "version": "1"},
        }
        request = {"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params}
        await self.send(json.dumps(request).encode() + b"\n")
        message = await self.message()
        assert message["result"]["protocolVersion"] == options["version"], write(message)
        await self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    async def step(self, step: dict[str, Any]) -> None:
        (verb,) = (key for key in step if key not in ("on", "reason"))
        operand = step[verb]
        behaviour = self.behaviour
        if verb in ("catalogue", "refuses", "updated", "shutdown"):
            await self.barrier()
        match verb:
            case "receive":
                self.modern = self.modern or "io.modelcontextprotocol/protocolVersion" in write(operand)
                await self.send(write(operand).encode() + b"\n")
            case "receiveText":
                await self.send(operand.encode("utf-8", "surrogatepass"))
            case "receiveBytes":
                await self.send(bytes.fromhex(operand))
            case "initialize":
                await self.initialize(operand)
            case "transmit":
                await self.expect(operand)
            case "error":
                error = {"code": operand["code"], "message": operand.get("message", {"$line": True})}
                error["data"] = operand.get("data", {"$optional": {"$any": True}})
                pattern = {"jsonrpc": "2.0", "error": error}
                await self.expect(pattern | ({"id": operand["id"]} if "id" in operand else {}))
            case "transmitAll":
                messages = [await self.message() for _ in operand]
                assert fits({"$unordered": operand}, messages, self.names), write(messages)
            case "silence":
                await self.silence()
            case "advance":
                pass  # time is real here
            case "release":
                await self.until(lambda: bool(behaviour.waiting[operand]))
                behaviour.release(operand)
            case "called":
                await self.until(lambda: len(behaviour.calls) - self.called >= len(operand))
                seen, self.called = behaviour.calls[self.called :], len(behaviour.calls)
                assert sorted(seen) == sorted(operand), seen
            case "cancelled":
                await self.until(lambda: behaviour.cancelled[operand] > 0)
                behaviour.cancelled[operand] -= 1
            case "event":
                if plain(operand).get("kind") == "initialized":
                    await self.until(lambda: "initialized" in behaviour.events)
            case "catalogue":
                behaviour.remove(plain(operand.get("remove", {})))
                behaviour.add(plain(operand.get("add", {})))
            case "refuses":
                await self.refuses(plain(operand), step.get("reason", ""))
            case "updated":
                behaviour.native.resource_updated(operand)
            case "end":
                self.end()
            case "shutdown":
                self.ended = True
                behaviour.native.stop()
            case _:
                raise AssertionError(f"no verb is called {verb}")

    async def refuses(self, operand: dict[str, Any], reason: str) -> None:
        ((kind, definition),) = operand.items()
        lists = next(name for name, value in KINDS.items() if value == kind)
        with pytest.raises((ConfigurationError, ValueError), match=re.escape(reason)):
            self.behaviour.declare(lists, definition, [])

    async def until(self, condition: Any) -> None:
        """Waits for what host code does; the step's deadline bounds it."""
        while not condition():
            await asyncio.sleep(0.001)
