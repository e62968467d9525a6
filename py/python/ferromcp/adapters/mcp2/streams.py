"""The streams road: the SDK's whole stack over a pair of in-memory streams, as on any transport of its own.

For versions of the SDK that have nothing better which is known to work. The engine stays in front: it frames,
parses and checks what comes in, and what the SDK sends goes through it. One `Server.run` serves one era of
one stream, so an app whose peers speak both eras in one process enters its lifespan for each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError as SdkError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...errors import MCPError
from .channel import ask_peer
from .config import engine_config, is_served, looks_at_pings
from .errors import unknown_method
from .text import decode, encode

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["StreamsAdapter"]

logger = logging.getLogger("ferromcp.adapters")

Message = dict[str, Any]


class StreamsAdapter:
    """Serves a low-level `Server` by its own `run`."""

    holds = False
    http: str | None = None

    def __init__(self, server: Server[Any]) -> None:
        self.server = server
        self._native: NativeServer | None = None
        self._pairs: dict[tuple[int, bool], _Pair] = {}

    def config(self) -> bytes:
        return encode(engine_config(self.server, pings=self.looks_at_pings()))

    def looks_at_pings(self) -> bool:
        """Whether anything of the app's would see a `ping`."""
        return looks_at_pings(self.server.middleware)

    def bind(self, native: NativeServer) -> None:
        self._native = native
        native.set_delegate(self._serve)
        native.set_notification_handler(self._notified)
        native.set_stream_handler(self._stream_changed)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self.app_lifespan():
            try:
                yield
            finally:
                await self._close()

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What has to be set up round everything; the lifespan itself is entered by `Server.run`."""
        return nullcontext()

    async def _serve(self, call: Call) -> bytes:
        modern = call.protocol_version in MODERN_PROTOCOL_VERSIONS
        pair = self._pairs.get((call.stream, modern))
        if pair is None:
            assert self._native is not None  # `bind` comes before anything is served
            pair = self._pairs[call.stream, modern] = _Pair(self._native, call.stream)
            pair.start(self.server)
            if not modern and call.method != "initialize":
                # The engine has shaken hands with the peer alone. Whatever comes next waits behind this in
                # the stream.
                pair.open(call)
        try:
            return await pair.serve(call)
        except MCPError as error:
            # The SDK looks at the parameters first, also for a method that it has no handler for.
            if error.code == mcp_types.INVALID_PARAMS and not is_served(self.server, call.method):
                raise unknown_method(call.method) from None
            raise

    def _notified(self, stream: int, method: str, params: bytes | None) -> None:
        # The engine has told of these two in ways of its own.
        if method in ("notifications/initialized", "notifications/cancelled"):
            return
        for (of, _), pair in self._pairs.items():
            if of == stream:
                pair.notify(method, None if params is None else decode(params))

    def _stream_changed(self, stream: int, what: str) -> None:
        if what == "initialized" and (stream, False) in self._pairs:
            self._pairs[stream, False].notify("notifications/initialized", None)
        elif what == "closed":
            for (of, _), pair in self._pairs.items():
                if of == stream:
                    pair.close()

    async def _close(self) -> None:
        for pair in self._pairs.values():
            pair.close()
        tasks = [pair.task for pair in self._pairs.values() if pair.task is not None]
        if tasks:
            await asyncio.wait(tasks)
        self._pairs.clear()


class _Pair:
    """One run of the SDK's server and the engine's calls, put together by their ids."""

    def __init__(self, native: NativeServer, stream: int) -> None:
        self._native = native
        self._stream = stream
        # Unbounded: the engine bounds the requests in flight, and its callbacks can't wait.
        self._in, self._server_in = anyio.create_memory_object_stream[SessionMessage | Exception](
            float("inf")
        )
        self._server_out, self._out = anyio.create_memory_object_stream[SessionMessage](float("inf"))
        self._calls: dict[int | str, tuple[Call, asyncio.Future[Message]]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self.task: asyncio.Task[None] | None = None

    def start(self, server: Server[Any]) -> None:
        self.task = asyncio.get_running_loop().create_task(self._run(server))

    def close(self) -> None:
        """No more messages for the server: it ends its run."""
        self._in.close()

    def open(self, call: Call) -> None:
        """Shakes hands with the server in the name of the peer; nobody waits for the answer."""
        params = {
            "protocolVersion": call.protocol_version,
            "capabilities": call.client_capabilities,
            "clientInfo": call.client_info,
        }
        self._send({"id": "ferromcp-handshake", "method": "initialize", "params": params})
        self.notify("notifications/initialized", None)

    async def serve(self, call: Call) -> bytes:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._calls[call.request_id] = call, answer
        try:
            self._send({"id": call.request_id, "method": call.method, "params": decode(call.params)})
            message = await answer
        except asyncio.CancelledError:
            self.notify("notifications/cancelled", {"requestId": call.request_id})
            raise
        finally:
            del self._calls[call.request_id]
        error = message.get("error")
        if error is not None:
            raise MCPError(error["code"], error["message"], error.get("data"))
        return encode(message["result"])

    def notify(self, method: str, params: Message | None) -> None:
        message: Message = {"method": method}
        if params is not None:
            message["params"] = params
        self._send(message)

    def _send(self, message: Message) -> None:
        parsed = mcp_types.jsonrpc_message_adapter.validate_python(
            {"jsonrpc": "2.0", **message}, by_name=False
        )
        try:
            self._in.send_nowait(SessionMessage(parsed))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            logger.debug("dropped a message: the server's run is over")

    async def _run(self, server: Server[Any]) -> None:
        receiving = asyncio.get_running_loop().create_task(self._receive())
        try:
            options = server.create_initialization_options()
            await server.run(self._server_in, self._server_out, options)
        except Exception:
            logger.exception("the server's run failed")
        finally:
            self._server_out.close()
            await receiving
            for _, answer in self._calls.values():
                if not answer.done():
                    answer.set_exception(MCPError(mcp_types.INTERNAL_ERROR, "Internal server error"))

    async def _receive(self) -> None:
        async for item in self._out:
            message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            if "method" not in message:
                self._answered(message)
            elif "id" in message:
                task = asyncio.get_running_loop().create_task(self._ask(message))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            else:
                self._told(message, item.metadata)

    def _answered(self, message: Message) -> None:
        known = self._calls.get(message["id"])
        if known is not None and not known[1].done():
            known[1].set_result(message)

    def _told(self, message: Message, metadata: Any) -> None:
        """A notification of the server's: with the request that it belongs to, if it belongs to one."""
        params = message.get("params")
        text = None if params is None else encode(params)
        related = metadata.related_request_id if isinstance(metadata, ServerMessageMetadata) else None
        known = self._calls.get(related) if related is not None else None
        if known is not None:
            known[0].notify(message["method"], text)
        else:
            self._native.notify_stream(self._stream, message["method"], text)

    async def _ask(self, message: Message) -> None:
        """A request of the server's to its peer, and the answer to it."""
        params = message.get("params")
        answer: Message = {"id": message["id"]}
        try:
            text = None if params is None else encode(params)
            ask = partial(self._native.request, self._stream)
            answer["result"] = decode(await ask_peer(ask, message["method"], text))
        except SdkError as error:
            answer["error"] = error.error.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._send(answer)
