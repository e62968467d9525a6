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
from pydantic import ValidationError

from .channel import CallChannel, Progress, StreamChannel
from .config import engine_config, is_served, looks_at_pings
from .dispatcher import NativeDispatcher
from .errors import to_engine, unknown_method
from .http import session_of
from .mirrors import Mirrors
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

    def __init__(self, dispatcher: NativeDispatcher, connection: Connection | None = None) -> None:
        self.dispatcher = dispatcher
        self.connection: Connection = connection or Connection.for_loop(dispatcher)
        # Runs the legacy connection, once there is one.
        self.task: asyncio.Task[None] | None = None
        # Set once the handshake is over; None before it has begun.
        self.opening: asyncio.Event | None = None
        # The peer has said `notifications/initialized`.
        self.initialized = False
        # Tells it.
        self.telling: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the SDK has shaken hands with a legacy peer."""
        return self.connection.client_params is not None


class RunnerAdapter:
    """Serves a low-level `Server` by its own runner."""

    # Modern clients are asked too, and the call waits for them (`ferromcp.run(app, ask="held")`).
    holds = False
    http: str | None = None

    def __init__(self, server: Server[Any]) -> None:
        self.server = server
        self.state: Any = None
        self.native: NativeServer | None = None
        self.mirrors = Mirrors(server)
        self._progress = Progress()
        self._peers: dict[int, Peer] = {}
        # Of peers that are gone, while the SDK cleans up after them.
        self._ending: set[asyncio.Task[None]] = set()

    def config(self) -> bytes:
        return encode(engine_config(self.server, pings=self.looks_at_pings()))

    def looks_at_pings(self) -> bool:
        """Whether anything of the app's would see a `ping`."""
        return looks_at_pings(self.server.middleware)

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
        params = decode(call.params)
        if self.http is not None:
            await self.look_at_headers(call, params)
        return await self.by_runner(call, params)

    async def look_at_headers(self, call: Call, params: Mapping[str, Any]) -> None:
        """Refuses a call whose headers say something else than its body."""
        if call.method == "tools/list":
            self.mirrors.forget()
        elif call.method == "tools/call" and call.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self.mirrors.check(call, params, self.channel(call), self.state)

    async def by_runner(self, call: Call, params: Mapping[str, Any]) -> bytes:
        """Answers one request by the SDK's runner."""
        modern = call.protocol_version in MODERN_PROTOCOL_VERSIONS
        try:
            if modern:
                return encode(await self._serve_modern(call, params))
            peer = await self.legacy(call)
            if call.method == "initialize":
                return encode(await self._open(peer, call, params))
            return encode(await peer.dispatcher.serve(call, params))
        except ValidationError as error:
            # The SDK looks at the parameters first, also for a method that it has no handler for.
            if is_served(self.server, call.method):
                raise to_engine(error, call.method, modern=modern) from error
            raise unknown_method(call.method) from error
        except Exception as error:
            raise to_engine(error, call.method, modern=modern) from error

    def peer(self, stream: int) -> Peer:
        """What is known of `stream`."""
        peer = self._peers.get(stream)
        if peer is None:
            peer = self._peers.setdefault(stream, Peer(self._dispatcher(stream)))
        return peer

    def is_open(self, stream: int) -> bool:
        """Whether the SDK has shaken hands with the legacy peer of a stream."""
        peer = self._peers.get(stream)
        return peer is not None and peer.is_open

    def _dispatcher(self, stream: int) -> NativeDispatcher:
        assert self.native is not None  # `bind` comes before anything is served
        return NativeDispatcher(
            self.native, stream, self._progress, self.channel, self.stream_channel(self.native, stream)
        )

    def _stateless(self, call: Call) -> Peer:
        """A legacy client without a session, for whom nobody has shaken hands, as on the stock transport."""
        connection = Connection.from_envelope(call.protocol_version, None, None)
        return self._peers.setdefault(call.stream, Peer(self._dispatcher(call.stream), connection))

    async def legacy(self, call: Call) -> Peer:
        """The legacy connection that a request came on. What comes while it shakes hands waits for that."""
        if self.http is not None and call.method != "initialize" and call.stream not in self._peers:
            peer = self._stateless(call)
        else:
            peer = self.peer(call.stream)
        if self.http is not None and peer.connection.session_id is None:
            peer.connection.session_id = session_of(call.http)
        self._connect(peer)
        if call.method != "initialize" and peer.opening is not None:
            await peer.opening.wait()
            if peer.telling is not None and not peer.telling.done():
                await asyncio.wait([peer.telling])
        return peer

    def _connect(self, peer: Peer) -> None:
        """Starts the SDK's runner for a legacy connection."""
        if peer.task is None:
            connection = serve_connection(
                self.server, peer.dispatcher, connection=peer.connection, lifespan_state=self.state
            )
            peer.task = asyncio.get_running_loop().create_task(connection)

    def _tell_initialized(self, peer: Peer) -> None:
        if peer.telling is None:
            peer.telling = peer.dispatcher.deliver("notifications/initialized", None)

    async def _open(self, peer: Peer, call: Call, params: Mapping[str, Any]) -> dict[str, Any]:
        """Shakes hands. Middleware sees it, and may refuse: then the connection stays closed."""
        peer.opening = opening = asyncio.Event()
        try:
            return await peer.dispatcher.serve(call, params)
        finally:
            opening.set()
            if peer.initialized and peer.is_open:
                self._tell_initialized(peer)

    def channel(self, call: Call) -> CallChannel:
        """The way back to the peer that belongs to one request."""
        modern = call.protocol_version in MODERN_PROTOCOL_VERSIONS
        return CallChannel(call, self._progress, modern=modern, holds=self.holds, http=self.http)

    def stream_channel(self, native: NativeServer, stream: int) -> StreamChannel:
        """The way back to a peer outside of its requests."""
        return StreamChannel(native, stream, self._progress)

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
        if self.http is not None and stream not in self._peers:
            return  # of a modern client, or one without a session: no request of its own to belong to
        peer = self.peer(stream)
        decoded = None if params is None else decode(params)
        if peer.task is not None:
            peer.dispatcher.deliver(method, decoded)
        else:
            peer.dispatcher.deliver_with(self._notified_modern, method, decoded)

    def stream_changed(self, stream: int, what: str) -> None:
        """A stream came to life or to its end."""
        if what == "initialized":
            if self.http is not None and stream not in self._peers:
                return  # a client without a session
            peer = self.peer(stream)
            peer.initialized = True
            # A client that does not wait for the handshake's answer: the SDK is told after it.
            if peer.is_open:
                self._tell_initialized(peer)
        elif what == "closed" and (gone := self._peers.pop(stream, None)) is not None:
            gone.dispatcher.close()
            if gone.task is not None and not gone.task.done():
                self._ending.add(gone.task)
                gone.task.add_done_callback(self._ending.discard)

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
        tasks = {peer.task for peer in self._peers.values() if peer.task is not None} | self._ending
        if tasks:
            await asyncio.wait(tasks)
        self._peers.clear()
