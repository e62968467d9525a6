"""The pair of dispatchers for the SDK's contract tests (`tests/shared/test_dispatcher.py`): the server's side
is ours, the client's side the SDK's own.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import anyio
from ferromcp._native import Call
from ferromcp._native import Server as NativeServer
from ferromcp.adapters.mcp2.channel import CallChannel, Progress
from ferromcp.adapters.mcp2.dispatcher import NativeDispatcher
from ferromcp.adapters.mcp2.errors import to_engine
from ferromcp.adapters.mcp2.text import decode, encode
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from peers_wire import Wire, start

__all__ = ["native_pair"]

# The tests call methods of MCP without what MCP wants of them. Under names of their own the engine lets them
# pass.
OWN = "contract/"
METHODS = ["again", "burst", "duplicate", "first", "park", "ping", "plain", "second", "slow"]
METHODS += ["tools/call", "tools/list"]
HANDSHAKE: list[dict[str, Any]] = [
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


def native_pair(*, can_send_request: bool = True) -> tuple[ClientSide, ServerSide, Any]:
    """Client, server, and what closes the connection: the shape that the tests' `pair_factory` has."""
    server = ServerSide(can_send_request)
    return ClientSide(server.start()), server, server.close


class ServerSide(NativeDispatcher):
    """Our dispatcher, with the delegate that an adapter would be."""

    def __init__(self, can_send_request: bool) -> None:
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

    def start(self) -> socket.socket:
        """Starts before `run`, since the tests run the client's side first, and that shakes hands."""
        return start(self.native, "contract", drain_ms=100)

    def channel(self, call: Call) -> CallChannel:
        return CallChannel(call, self._reports, modern=self._one_way)

    async def answer(self, call: Call) -> bytes:
        params = None if call.params == b"{}" else decode(call.params)
        try:
            return encode(await self.serve(call, params, call.method.removeprefix(OWN)))
        except Exception as error:
            raise to_engine(error, call.method, modern=False) from error


class ClientSide:
    """The SDK's own dispatcher; shakes hands before anything else."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._inner: Any = None

    async def run(self, *handlers: Any, task_status: Any = anyio.TASK_STATUS_IGNORED, **options: Any) -> None:
        wire = await Wire.to(self._end)
        try:
            async with (
                create_client_server_memory_streams() as ((received, to_send), server_streams),
                anyio.create_task_group() as group,
            ):
                group.start_soon(wire.carry, *server_streams)
                for message in HANDSHAKE:
                    parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
                    await to_send.send(SessionMessage(parsed))
                await received.receive()
                self._inner = JSONRPCDispatcher(received, to_send)
                await self._inner.run(*handlers, task_status=task_status, **options)
        finally:
            wire.close()

    async def send_raw_request(self, method: str, *arguments: Any) -> Any:
        return await self._inner.send_raw_request(OWN + method, *arguments)

    async def notify(self, method: str, *arguments: Any) -> None:
        await self._inner.notify(OWN + method, *arguments)
