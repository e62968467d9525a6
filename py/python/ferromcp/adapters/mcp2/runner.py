"""The dispatcher road: the SDK's own `ServerRunner` behind the engine.

All of the SDK's middleware, validation and result shaping runs, for both eras; only its loop and its streams
do not. A connection of the legacy era is one `serve_connection`, a request of the modern era one `serve_one`,
as on the stock stdio transport (`mcp.server.runner.serve_dual_era_loop`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.connection import Connection, NotifyOnlyOutbound
from mcp.server.runner import ServerRunner, aclose_shielded, serve_connection, serve_one
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.transport_context import TransportContext
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from .channel import CallChannel, Progress
from .config import engine_config
from .dispatcher import NativeDispatcher
from .errors import to_engine
from .text import decode, encode

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["Peer", "RunnerAdapter", "modern_connection"]

logger = logging.getLogger("ferromcp.adapters")


def modern_connection(channel: CallChannel) -> Connection:
    """The SDK's connection of one modern request, from what the request says of its client."""
    call = channel.call
    return Connection.from_envelope(
        call.protocol_version,
        call.client_info,
        call.client_capabilities,
        outbound=NotifyOnlyOutbound(channel),
    )


class Peer:
    """One stream, as the SDK sees it."""

    def __init__(self, dispatcher: NativeDispatcher) -> None:
        self.dispatcher = dispatcher
        self.connection: Connection = Connection.for_loop(dispatcher)
        # Runs the legacy connection, once there is one.
        self.task: asyncio.Task[None] | None = None
        # Shakes hands with the SDK.
        self.opening: asyncio.Task[None] | None = None
        # The peer has said `notifications/initialized`, and the SDK has been told.
        self.initialized = False
        self.told = False

    @property
    def is_open(self) -> bool:
        """Whether the SDK has shaken hands with a legacy peer."""
        return self.connection.client_params is not None


class RunnerAdapter:
    """Serves a low-level `Server` by its own runner."""

    def __init__(self, server: Server[Any]) -> None:
        self.server = server
        self.state: Any = None
        self.native: NativeServer | None = None
        self._progress = Progress()
        self._peers: dict[int, Peer] = {}

    def config(self) -> bytes:
        return encode(engine_config(self.server))

    def bind(self, native: NativeServer) -> None:
        self.native = native
        native.set_delegate(self.serve)
        native.set_notification_handler(self.notified)
        native.set_stream_handler(self.stream_changed)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self.app_lifespan() as self.state:
            try:
                yield
            finally:
                await self._close_peers()

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """The app's own lifespan, entered once as by the stock `Server.run`."""
        return self.server.lifespan(self.server)

    async def serve(self, call: Call) -> bytes:
        """Answers one request of the engine's."""
        return await self.by_runner(call, decode(call.params))

    async def by_runner(self, call: Call, params: Mapping[str, Any]) -> bytes:
        """Answers one request by the SDK's runner."""
        modern = call.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            if modern:
                return encode(await self._serve_modern(call, params))
            peer = await self.legacy(call)
            return encode(await peer.dispatcher.serve(call, params))
        except Exception as error:
            raise to_engine(error, call.method, modern=modern) from error

    def peer(self, stream: int) -> Peer:
        """What is known of `stream`."""
        peer = self._peers.get(stream)
        if peer is None:
            assert self.native is not None  # `bind` comes before anything is served
            dispatcher = NativeDispatcher(self.native, stream, self._progress, self.channel)
            peer = self._peers.setdefault(stream, Peer(dispatcher))
        return peer

    async def legacy(self, call: Call) -> Peer:
        """The legacy connection that a request came on, open as far as the SDK is concerned."""
        peer = self.peer(call.stream)
        self._connect(peer)
        if call.method == "initialize" or peer.is_open:
            return peer
        if peer.opening is None:
            peer.opening = asyncio.get_running_loop().create_task(self._open(peer, call))
        # Shielded: others may wait for it too.
        await asyncio.shield(peer.opening)
        return peer

    def _connect(self, peer: Peer) -> None:
        """Starts the SDK's runner for a legacy connection."""
        if peer.task is None:
            connection = serve_connection(
                self.server, peer.dispatcher, connection=peer.connection, lifespan_state=self.state
            )
            peer.task = asyncio.get_running_loop().create_task(connection)

    def _tell_initialized(self, peer: Peer) -> None:
        if not peer.told:
            peer.told = True
            self._connect(peer)
            peer.dispatcher.deliver("notifications/initialized", None)

    async def _open(self, peer: Peer, call: Call) -> None:
        """Shakes hands with the SDK where the engine has done so with the peer alone.

        Middleware sees it, and the session knows its client. Middleware that refuses leaves the session
        closed, and the SDK refuses what comes after.
        """
        params = {
            "protocolVersion": call.protocol_version,
            "capabilities": call.client_capabilities,
            "clientInfo": call.client_info,
        }
        try:
            await peer.dispatcher.serve(call, params, "initialize")
        except Exception as error:
            logger.warning("the server refused the handshake: %s", error)
            return
        self._tell_initialized(peer)
        await peer.connection.initialized.wait()

    def channel(self, call: Call) -> CallChannel:
        """The way back to the peer that belongs to one request."""
        return CallChannel(call, self._progress, modern=call.protocol_version in MODERN_PROTOCOL_VERSIONS)

    async def _serve_modern(self, call: Call, params: Mapping[str, Any]) -> dict[str, Any]:
        channel = self.channel(call)
        connection = modern_connection(channel)
        cancelled = False
        try:
            return await serve_one(
                self.server, channel, call.method, params, connection=connection, lifespan_state=self.state
            )
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            channel.close(cancelled=cancelled)

    def notified(self, stream: int, method: str, params: bytes | None) -> None:
        """Hands a notification of the peer's to the SDK."""
        if method == "notifications/initialized":
            return  # `stream_changed` tells of that
        peer = self.peer(stream)
        decoded = None if params is None else decode(params)
        if peer.initialized or peer.task is not None:
            self._tell_initialized(peer)
            peer.dispatcher.deliver(method, decoded)
        else:
            peer.dispatcher.deliver_with(self._notified_modern, method, decoded)

    def stream_changed(self, stream: int, what: str) -> None:
        """A stream came to life or to its end."""
        if what == "initialized":
            peer = self.peer(stream)
            peer.initialized = True
            # Unless a handler waits for it, the SDK is told with the first request, after its handshake.
            if peer.task is not None or self.server.get_notification_handler("notifications/initialized"):
                self._tell_initialized(peer)
        elif what == "closed" and stream in self._peers:
            self._peers[stream].dispatcher.close()

    async def _notified_modern(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        # Notifications carry no envelope: they are read at the newest revision, as on the stock stdio
        # transport.
        outbound = NotifyOnlyOutbound(context)
        connection = Connection.from_envelope(LATEST_MODERN_VERSION, None, None, outbound=outbound)
        try:
            await ServerRunner(self.server, connection, self.state).on_notify(context, method, params)
        finally:
            await aclose_shielded(connection)

    async def _close_peers(self) -> None:
        for peer in self._peers.values():
            peer.dispatcher.close()
        tasks = [peer.task for peer in self._peers.values() if peer.task is not None]
        if tasks:
            await asyncio.wait(tasks)
        self._peers.clear()
