"""A connection to the engine as a client of the official SDK sees it: messages in, messages out.

With FERROMCP_CORRUPT the first answer after the handshake is spoilt on its way to the client: a test that
still passes did not look at what the engine answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import anyio
from ferromcp._native import Server as NativeServer
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

__all__ = ["Wire", "served", "start"]

HANDSHAKE = ("initialize", "server/discover")
# Bytes; far above what the tests send in one message.
LONGEST_LINE = 1 << 26

served: Counter[str] = Counter()
"""The connections that the engine has served, by the road that they took."""


def start(native: NativeServer, road: str, *, drain_ms: int) -> socket.socket:
    """Starts a server of the engine's on one end of a socket, and gives the other end."""
    served[road] += 1
    ours, theirs = socket.socketpair()
    # A descriptor for each direction: the server closes both.
    fds = os.dup(theirs.fileno()), theirs.detach()
    native.start_stdio(asyncio.get_running_loop(), {"drain_ms": drain_ms, "fds": fds})
    return ours


class Wire:
    """The client's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._spoiler = Spoiler() if "FERROMCP_CORRUPT" in os.environ else None

    @classmethod
    async def to(cls, end: socket.socket) -> Wire:
        """The connection over this end of a socket."""
        return cls(*await asyncio.open_connection(sock=end, limit=LONGEST_LINE))

    async def carry(self, received: Any, to_send: Any) -> None:
        """Carries what comes in on the stream `received` to the server and what it answers to `to_send`.

        Ends with the server, and closes both streams. The server ends when nothing more can be received.
        """
        async with received, to_send, anyio.create_task_group() as group:
            group.start_soon(self._send_all, received)
            async for message in self._messages():
                try:
                    await to_send.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    break  # the client has gone
            group.cancel_scope.cancel()

    def close(self) -> None:
        self._writer.close()

    async def _send_all(self, received: Any) -> None:
        async for item in received:
            # Anything else is a transport's complaint about a line that was no message.
            if isinstance(item, SessionMessage):
                await self._send(item.message)
        self._writer.write_eof()

    async def _send(self, message: Any) -> None:
        """One message, as the SDK's own transports write it."""
        if self._spoiler is not None and isinstance(message, JSONRPCRequest):
            self._spoiler.sent(message)
        self._writer.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        await self._writer.drain()

    async def _messages(self) -> AsyncIterator[Any]:
        while line := await self._reader.readline():
            if self._spoiler is not None:
                line = self._spoiler.received(line)
            yield jsonrpc_message_adapter.validate_json(line, by_name=False)


class Spoiler:
    """Spoils one answer: that to the first request after the handshake."""

    def __init__(self) -> None:
        self._request: int | str | None = None
        self._is_over = False

    def sent(self, request: JSONRPCRequest) -> None:
        if self._request is None and request.method not in HANDSHAKE:
            self._request = request.id

    def received(self, line: bytes) -> bytes:
        """The line, or what stands in for the answer that it holds."""
        if self._is_over or self._request is None:
            return line
        message = json.loads(line)
        if "method" in message or message.get("id") != self._request:
            return line
        self._is_over = True
        # An error stays one, or every test that expects it would fail for the same reason.
        if "error" in message:
            message["error"] = {"code": 1, "message": "spoilt"}
        else:
            message["result"] = {"spoilt": True}
        return json.dumps(message).encode()
