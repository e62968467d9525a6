"""`mcp.shared.dispatcher.Dispatcher` over one of the engine's streams.

The engine does what the SDK's own dispatcher does: framing, ids, correlation, cancellation. What is left is
to hand requests and notifications to the SDK's callbacks and their results back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from mcp.shared.dispatcher import (
    CallOptions,
    DispatchContext,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    run_notify_intercept,
)
from mcp.shared.transport_context import TransportContext

from .channel import DUPLEX, CallChannel, Progress, StreamChannel
from .errors import closed

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["NativeDispatcher"]

logger = logging.getLogger("ferromcp.adapters")


class NativeDispatcher:
    """The SDK's side of one connection. `run` lasts as long as the connection does."""

    def __init__(
        self,
        native: NativeServer,
        stream: int,
        progress: Progress,
        channel: Callable[[Call], CallChannel],
        stream_channel: StreamChannel | None = None,
    ) -> None:
        self._progress = progress
        self._new_channel = channel
        self._channel = stream_channel or StreamChannel(native, stream, progress)
        self._running = anyio.Event()
        self._closed = anyio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_request: OnRequest | None = None
        self._on_notify: OnNotify | None = None
        self._intercept: OnNotifyIntercept | None = None

    # What the SDK calls.

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        self._on_request, self._on_notify, self._intercept = on_request, on_notify, on_notify_intercept
        self._running.set()
        task_status.started()
        try:
            await self._closed.wait()
        finally:
            self.close()
            for task in tuple(self._tasks):
                task.cancel()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if self._closed.is_set():
            raise closed()
        if not self._running.is_set():
            raise RuntimeError("send_raw_request() was called before run()")
        return await self._channel.send_raw_request(method, params, opts)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        await self._channel.notify(method, params, opts)

    # What the engine's side calls.

    async def serve(
        self, call: Call, params: Mapping[str, Any] | None, method: str | None = None
    ) -> dict[str, Any]:
        """Runs one of the peer's requests; raises what the SDK's handler raised.

        `method` runs another one in its name.
        """
        await self._running.wait()
        assert self._on_request is not None  # `run` sets it before it says that it runs
        channel = self._new_channel(call)
        cancelled = False
        try:
            return await self._on_request(channel, method or call.method, params)
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            channel.close(cancelled=cancelled)

    def deliver(self, method: str, params: Mapping[str, Any] | None) -> asyncio.Task[None] | None:
        """Hands over one of the peer's notifications, in the order in which they came.

        The task that handles it comes back, if it goes to the SDK's handler.
        """
        return self.deliver_with(self._notified, method, params)

    def deliver_with(
        self, handler: OnNotify, method: str, params: Mapping[str, Any] | None
    ) -> asyncio.Task[None] | None:
        """The same, to `handler` in the place of the one given to `run`."""
        if method == "notifications/progress":
            receiver = self._progress.receiver(params)
            if receiver is not None:
                self._spawn(receiver)
        if run_notify_intercept(self._intercept, method, params):
            return None

        async def notified() -> None:
            try:
                await handler(_NotificationContext(self._channel), method, params)
            except Exception:
                logger.exception("notification handler for %r raised", method)

        return self._spawn(notified)

    def close(self) -> None:
        """The connection is over: `run` returns."""
        self._channel.close()
        self._closed.set()

    async def _notified(
        self, context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
    ) -> None:
        await self._running.wait()
        assert self._on_notify is not None  # as in `serve`
        await self._on_notify(context, method, params)

    def _spawn(self, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        async def body() -> None:
            await run()

        task = asyncio.get_running_loop().create_task(body())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _NotificationContext:
    """The `DispatchContext` of a notification: no id, and the connection's own channel behind it."""

    __slots__ = ("_channel", "cancel_requested")

    request_id = None
    message_metadata = None
    transport = DUPLEX
    can_send_request = True

    def __init__(self, channel: StreamChannel) -> None:
        self._channel = channel
        self.cancel_requested = anyio.Event()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        return await self._channel.send_raw_request(method, params, opts)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        await self._channel.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """A notification has no progress."""
