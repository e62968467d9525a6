"""`_native.Server` with delegates, as the adapters of other SDKs use it, on pipes in this process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ferromcp import ConfigurationError, MCPError, NoBackChannel
from ferromcp._native import Call, Server
from support import MODERN

pytestmark = pytest.mark.asyncio

CONFIG = {
    "info": {"name": "delegated", "version": "1"},
    "catalogue": "delegated",
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}, "completions": {}},
}
CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "t", "version": "1"},
}

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


class Pipes:
    """The client's ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        self.open = True

    def send(self, **message: Any) -> None:
        os.write(self.writer, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, key: int, method: str, **params: Any) -> None:
        self.send(id=key, method=method, params={"_meta": MODERN, **params})

    async def receive(self) -> Any:
        line = await asyncio.wait_for(self.reader.readline(), 20)
        return json.loads(line)

    async def legacy(self) -> None:
        """The handshake."""
        self.send(id=0, method="initialize", params=CLIENT)
        assert (await self.receive())["result"]["protocolVersion"] == "2025-11-25"
        self.send(method="notifications/initialized")

    def close(self) -> None:
        if self.open:
            self.open = False
            os.close(self.writer)


@contextlib.asynccontextmanager
async def served(native: Server, **options: Any) -> AsyncIterator[Pipes]:
    """Runs a server on pipes until the block is over."""
    loop = asyncio.get_running_loop()
    server_input, writer = os.pipe()
    output, server_output = os.pipe()
    native.start_stdio(loop, {"fds": (server_input, server_output), **options})
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(output, "rb")
    )
    pipes = Pipes(reader, writer)
    finished = native.finished()
    try:
        yield pipes
    finally:
        pipes.close()
        await asyncio.wait_for(finished, 20)
        assert not native.stuck(5.0)
        transport.close()


def server() -> Server:
    return Server(json.dumps(CONFIG))


async def test_what_a_delegate_may_return() -> None:
    native = server()

    async def later(value: Any) -> Any:
        await asyncio.sleep(0)
        return value

    def delegate(call: Call) -> Any:
        way = json.loads(call.params)["name"]
        assert call.name == way
        text: dict[str, Any] = {"content": [{"type": "text", "text": way}]}
        values: dict[str, Any] = {"bytes": json.dumps(text, indent=1).encode(), "dict": text, "none": None}
        kind, _, how = way.partition(" ")
        if kind == "raise":
            raise MCPError(99, "no", {"a": 1})
        if kind == "wrong":
            return later(3)
        return later(values[kind]) if how == "later" else values[kind]

    native.set_delegate(delegate)
    async with served(native) as client:
        for key, way in enumerate(("bytes", "dict", "bytes later", "dict later")):
            client.request(key, "tools/call", name=way)
            answer = await client.receive()
            assert answer["id"] == key
            assert answer["result"]["content"] == [{"type": "text", "text": way}]
            assert answer["result"]["resultType"] == "complete"
        client.request(10, "tools/call", name="none")
        assert "result" in await client.receive()
        client.request(11, "tools/call", name="raise")
        error = (await client.receive())["error"]
        assert (error["code"], error["message"], error["data"]) == (99, "no", {"a": 1})
        client.request(12, "tools/call", name="wrong")
        assert (await client.receive())["error"]["code"] == -32603


async def test_each_call_has_its_own_context() -> None:
    native = server()
    variable.set("at the start")

    async def delegate(call: Call) -> dict[str, Any]:
        before = variable.get()
        variable.set("changed")
        await asyncio.sleep(0)
        return {"content": [], "before": before, "version": call.protocol_version, "client": call.client_info}

    native.set_delegate(delegate)
    async with served(native) as client:
        for key in range(3):
            client.request(key, "tools/call", name="x")
            result = (await client.receive())["result"]
            assert result["before"] == "at the start"
            assert result["version"] == "2026-07-28"
            assert result["client"] == {"name": "tests", "version": "1"}
    assert variable.get() == "at the start"


async def test_what_a_call_knows() -> None:
    native = server()
    seen: list[Any] = []

    async def delegate(call: Call) -> None:
        seen.append(
            (call.method, call.request_id, call.progress_token, call.cancelled, call.client_capabilities)
        )
        assert json.loads(call.client_capabilities_json) == call.client_capabilities
        assert json.loads(call.meta_json or b"null") == call.meta
        assert json.loads(call.client_info_json or b"null") == call.client_info
        assert call.progress(1, 2, "m") is True
        assert call.progress(1) is False
        assert call.notify("notifications/custom", b'{"a":1}') is True

    native.set_delegate(delegate)
    async with served(native) as client:
        meta = {**MODERN, "progressToken": "p"}
        client.send(id="key", method="tools/list", params={"_meta": meta})
        assert (await client.receive())["params"] == {
            "progressToken": "p",
            "progress": 1,
            "total": 2,
            "message": "m",
        }
        assert await client.receive() == {
            "jsonrpc": "2.0",
            "method": "notifications/custom",
            "params": {"a": 1},
        }
        assert (await client.receive())["id"] == "key"
    assert seen == [("tools/list", "key", "p", False, {})]


async def test_the_sync_delegate_is_asked_first() -> None:
    native = server()
    asked: list[tuple[str, str | None]] = []

    async def tail(name: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"content": [], "by": "awaitable"}

    def quick(call: Call) -> Any:
        asked.append((call.method, call.name))
        match call.name:
            case "quick":
                return b'{"content":[],"by":"sync"}'
            case "raise":
                raise MCPError(-32602, "no such tool")
            case "tail":
                return tail("x")
        return None

    async def slow(call: Call) -> dict[str, Any]:
        return {"content": [], "by": "delegate"}

    native.set_sync_delegate(quick)
    native.set_delegate(slow)
    async with served(native) as client:
        for key, (name, by) in enumerate((("quick", "sync"), ("slow", "delegate"), ("tail", "awaitable"))):
            client.request(key, "tools/call", name=name)
            assert (await client.receive())["result"]["by"] == by
        client.request(8, "tools/call", name="raise")
        assert (await client.receive())["error"] == {"code": -32602, "message": "no such tool"}
        client.request(9, "tools/list")
        assert (await client.receive())["result"]["by"] == "delegate"
    assert [name for _, name in asked] == ["quick", "slow", "tail", "raise"]
    with pytest.raises(ConfigurationError):
        native.set_sync_delegate(quick)


async def test_cancelling() -> None:
    native = server()
    ended: asyncio.Queue[bool] = asyncio.Queue()

    async def delegate(call: Call) -> None:
        try:
            call.progress(1)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.put_nowait(call.cancelled)
            raise

    native.set_delegate(delegate)
    async with served(native) as client:
        client.send(id=1, method="tools/call", params={"name": "x", "_meta": {**MODERN, "progressToken": 1}})
        await client.receive()
        client.send(method="notifications/cancelled", params={"requestId": 1})
        assert await asyncio.wait_for(ended.get(), 20) is True


async def test_requests_to_a_legacy_peer() -> None:
    native = server()
    outcomes: list[Any] = []
    streams: list[int] = []

    async def delegate(call: Call) -> dict[str, Any]:
        streams.append(call.stream)
        for timeout in (None, None, 0.02):
            try:
                outcomes.append(json.loads(await call.request("roots/list", b"{}", timeout)))
            except (MCPError, TimeoutError) as error:
                outcomes.append(error)
        return {"content": []}

    native.set_delegate(delegate)
    async with served(native) as client:
        await client.legacy()
        client.send(id=1, method="tools/call", params={"name": "x"})
        asked = await client.receive()
        assert asked["method"] == "roots/list"
        client.send(id=asked["id"], result={"roots": []})
        asked = await client.receive()
        client.send(id=asked["id"], error={"code": 5, "message": "no", "data": [1]})
        asked = await client.receive()
        messages = [await client.receive(), await client.receive()]
        assert {message.get("method") for message in messages} == {"notifications/cancelled", None}
        # Outside of a call, and given up by the asker.
        future = native.request(streams[0], "ping")
        asked = await client.receive()
        assert asked["method"] == "ping"
        client.send(id=asked["id"], result={})
        assert json.loads(await future) == {}
        task = asyncio.ensure_future(native.request(streams[0], "ping"))
        asked = await client.receive()
        task.cancel()
        assert (await client.receive())["params"]["requestId"] == asked["id"]
    assert outcomes[0] == {"roots": []}
    assert isinstance(outcomes[1], MCPError)
    assert (outcomes[1].code, outcomes[1].data) == (5, [1])
    assert isinstance(outcomes[2], TimeoutError)


async def test_modern_peers_take_no_requests() -> None:
    native = server()

    async def delegate(call: Call) -> dict[str, Any]:
        with pytest.raises(NoBackChannel):
            await call.request("roots/list", None, None)
        return {"content": []}

    native.set_delegate(delegate)
    async with served(native) as client:
        client.request(1, "tools/call", name="x")
        assert "result" in await client.receive()


async def test_notifications_and_streams() -> None:
    native = server()
    seen: list[Any] = []
    native.set_notification_handler(lambda stream, method, params: seen.append((method, params)))
    native.set_stream_handler(lambda stream, what: seen.append(what))

    async def delegate(call: Call) -> dict[str, Any]:
        native.log_stream(call.stream, "error", {"a": 1}, "here")
        native.notify_stream(call.stream, "notifications/custom")
        return {"content": []}

    native.set_delegate(delegate)
    async with served(native) as client:
        await client.legacy()
        client.send(method="notifications/roots/list_changed")
        client.send(method="notifications/custom", params={"b": 2})
        client.send(id=1, method="tools/call", params={"name": "x"})
        log = await client.receive()
        assert log["params"] == {"level": "error", "logger": "here", "data": {"a": 1}}
        assert (await client.receive())["method"] == "notifications/custom"
        assert (await client.receive())["id"] == 1
    assert "initialized" in seen
    assert seen[-1] == "closed"
    methods = [item[0] for item in seen if isinstance(item, tuple)]
    assert [method for method in methods if method != "notifications/initialized"] == [
        "notifications/roots/list_changed",
        "notifications/custom",
    ]
    assert ("notifications/custom", b'{"b": 2}') in seen


async def test_a_server_is_freed_when_it_is_over() -> None:
    import gc
    import weakref

    native = server()

    async def delegate(call: Call) -> dict[str, Any]:
        return {"content": []}

    native.set_delegate(delegate)
    async with served(native) as client:
        client.request(1, "tools/call", name="x")
        await client.receive()
    await asyncio.sleep(0)
    alive = weakref.ref(native)
    del native
    gc.collect()
    assert alive() is None


async def test_wrong_configurations() -> None:
    for config in ("{", "{}", '{"info":{"name":"a"}}', '{"info":{"name":"a","version":"1"},"more":1}'):
        descriptors = os.pipe()
        with pytest.raises(ConfigurationError):
            Server(config).start_stdio(None, {"fds": descriptors})
        for descriptor in descriptors:
            os.close(descriptor)
