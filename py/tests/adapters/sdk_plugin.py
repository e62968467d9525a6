"""Points the official SDK's own interaction tests at our roads.

The source distribution of `mcp` carries its tests. Unpacked, without its `src` (so that the installed
package is what is tested), they run against a server of theirs that is served by the engine over real pipes
in the test's own process:

    FERROMCP_ROAD=dispatcher pytest -p sdk_plugin -p no:cacheprovider tests/interaction -k in-memory
    pytest -p sdk_plugin -p no:cacheprovider tests/shared/test_dispatcher.py -k jsonrpc
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client.client import Client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from ferromcp._native import Call
from ferromcp._native import Server as NativeServer
from ferromcp.adapters import adapt, choose
from ferromcp.adapters.mcp2.channel import CallChannel, Progress
from ferromcp.adapters.mcp2.dispatcher import NativeDispatcher
from ferromcp.adapters.mcp2.errors import to_engine
from ferromcp.adapters.mcp2.text import decode, encode

ROAD = os.environ.get("FERROMCP_ROAD")
served: list[str] = []


@asynccontextmanager
async def lines(read: int, write: int) -> AsyncIterator[Any]:
    """A client transport over a pair of descriptors."""
    loop = asyncio.get_running_loop()
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    to_send, to_send_out = anyio.create_memory_object_stream[SessionMessage](0)
    reader = asyncio.StreamReader(limit=1 << 26)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", 0)
    )

    async def receive() -> None:
        async with received_in:
            while line := await reader.readline():
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                try:
                    await received_in.send(SessionMessage(message))
                except anyio.BrokenResourceError:
                    return  # the client has left

    async def send() -> None:
        try:
            async with to_send_out:
                async for item in to_send_out:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    os.write(write, text.encode() + b"\n")
        finally:
            os.close(write)
            ended.set()

    ended = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        try:
            yield received, to_send
        finally:
            await to_send.aclose()
            with anyio.CancelScope(shield=True):
                await ended.wait()
            source.close()
            await received.aclose()
            group.cancel_scope.cancel()


@asynccontextmanager
async def connect(
    server: Any, *, spec_version: str = LATEST_HANDSHAKE_VERSION, **options: Any
) -> AsyncIterator[Client]:
    """The SDK's own client, connected to `server` on the engine."""
    adapter = adapt(server, choose(server, ROAD))
    native = NativeServer(adapter.config())
    adapter.bind(native)
    there, to_server = os.pipe()
    to_client, here = os.pipe()
    os.set_inheritable(to_server, False)
    async with adapter.lifespan():
        native.start_stdio(asyncio.get_running_loop(), {"drain_ms": 2000, "fds": (there, here)})
        over = native.finished()
        served.append(spec_version)
        try:
            mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
            async with Client(lines(to_client, to_server), mode=mode, **options) as client:
                yield client
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                await over
            native.acknowledge()


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and item.nodeid.endswith("[jsonrpc]"):
            callspec.params["pair_factory"] = native_pair
    if any("tests/interaction" in item.nodeid for item in items):
        from tests.interaction import conftest  # type: ignore[import-not-found]  # of the SDK's own tests

        conftest._FACTORIES["in-memory"] = connect


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"ferromcp: road {ROAD or 'auto'}, {len(served)} connections served")


# The contract tests of dispatchers (tests/shared/test_dispatcher.py): our server side, the SDK's client side.

# They call methods of MCP without what MCP wants of them. Under names of their own the engine lets them pass.
OWN = "contract/"
METHODS = ["again", "burst", "duplicate", "first", "park", "ping", "plain", "second", "slow"]
METHODS += ["tools/call", "tools/list"]
HANDSHAKE = [
    {
        "id": "handshake",
        "method": "initialize",
        "params": {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": {"sampling": {}, "roots": {}, "elicitation": {}},
            "clientInfo": {"name": "contract", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
]


class ServerSide(NativeDispatcher):
    """Our dispatcher, with the delegate that an adapter would be."""

    def __init__(self, read: int, write: int, can_send_request: bool) -> None:
        config = {
            "info": {"name": "contract", "version": "1"},
            "catalogue": "delegated",
            "capabilities": {"tools": {}, "logging": {}},
            "extraMethods": [OWN + method for method in METHODS],
        }
        self.native = NativeServer(json.dumps(config))
        self._reports = Progress()
        self._one_way = not can_send_request
        super().__init__(self.native, 0, self._reports, self.channel)
        self.native.set_delegate(self.answer)
        self.native.set_notification_handler(
            lambda _, method, params: self.deliver(
                method.removeprefix(OWN), None if params is None else decode(params)
            )
        )
        # Now, since the tests run the client side first, and that shakes hands.
        self.native.start_stdio(asyncio.get_running_loop(), {"drain_ms": 100, "fds": (read, write)})

    def channel(self, call: Call) -> CallChannel:
        return CallChannel(call, self._reports, modern=self._one_way)

    async def answer(self, call: Call) -> bytes:
        params = None if call.params == b"{}" else decode(call.params)
        try:
            return encode(await self.serve(call, params, call.method.removeprefix(OWN)))
        except Exception as error:
            raise to_engine(error, call.method, modern=False) from error


class ClientSide:
    """The SDK's own dispatcher over pipes; shakes hands before anything else."""

    def __init__(self, read: int, write: int) -> None:
        self._fds = read, write
        self._inner: Any = None

    async def run(self, *handlers: Any, task_status: Any = anyio.TASK_STATUS_IGNORED, **options: Any) -> None:
        async with lines(*self._fds) as (received, to_send):
            for message in HANDSHAKE:
                parsed = mcp_types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
                await to_send.send(SessionMessage(parsed))
            await received.receive()
            self._inner = JSONRPCDispatcher(received, to_send)
            await self._inner.run(*handlers, task_status=task_status, **options)

    async def send_raw_request(self, method: str, *arguments: Any) -> Any:
        return await self._inner.send_raw_request(OWN + method, *arguments)

    async def notify(self, method: str, *arguments: Any) -> None:
        await self._inner.notify(OWN + method, *arguments)


def native_pair(*, can_send_request: bool = True) -> Any:
    there, to_server = os.pipe()
    to_client, here = os.pipe()
    server = ServerSide(there, here, can_send_request)
    return ClientSide(to_client, to_server), server, server.close
