"""Calls with middleware round them: the app's own middleware, and inside it the tool's own run method.

The middleware runs on the loop, in a task of its own for each call, with the objects that fastmcp would give
it. What fastmcp would do round it and find nothing to do is left out. Where the tool is not plain (`plain`),
fastmcp's own code looks for it and runs it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP
from fastmcp.server.context import Context, _current_context
from fastmcp.server.middleware import MiddlewareContext
from fastmcp.server.mixins.mcp_operations import _normalize_call_tool_result
from fastmcp.server.mixins.mcp_operations import logger as fastmcp_logger
from mcp.shared.dispatcher import CallOptions
from mcp_types import CallToolRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ..mcp2.channel import CallChannel, Progress, StreamChannel
from ..mcp2.handler import call_result_text
from ..mcp2.threads import WorkerThreads
from ..mcp2.workers import Workers
from .handler import FastMCPHandlerAdapter
from .lifespan import request_variables
from .plain import Lane
from .replay import ChainReplay, ToolReplay
from .request import PlainRequest
from .run import converted, finished, is_coming, is_ordinary, started

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["MiddlewareAdapter"]


class MiddlewareAdapter(FastMCPHandlerAdapter):
    """Serves a `FastMCP` by its middleware and its tools."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app)
        self.lane = Lane(app)
        self.threads: WorkerThreads | None = None
        self.workers: Workers | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        threads = WorkerThreads()
        if threads.usable:
            self.threads, self.workers = threads, Workers(threads)
        async with super().lifespan():
            try:
                with request_variables(self.app):
                    yield
            finally:
                if self.workers is not None:
                    self.workers.close()

    def channel(self, call: Call) -> CallChannel:
        return _NoticingCall(call, self._progress, self.lane, holds=self.holds, http=self.http)

    def stream_channel(self, native: NativeServer, stream: int) -> StreamChannel:
        return _NoticingStream(native, stream, self._progress, self.lane)

    def call_tool(
        self, call: Call, params: Mapping[str, Any], version: str, *, modern: bool
    ) -> Coroutine[Any, Any, bytes]:
        if self.workers is None or self.app._extensions or self.is_debugged():
            return super().call_tool(call, params, version, modern=modern)
        return WatchedRequest(self, call, params).run(self.workers)

    def is_debugged(self) -> bool:
        """Whether somebody wants fastmcp's own log lines about each call."""
        return fastmcp_logger.isEnabledFor(logging.DEBUG)


class WatchedRequest(PlainRequest):
    """A plain `tools/call` that middleware looks at."""

    __slots__ = ("_workers",)

    async def run(self, workers: Workers) -> bytes:
        """Answers the call, on the loop."""
        self._workers = workers
        context = self.enter()
        try:
            # The fields of a first round, all of them given, as fastmcp does.
            message = CallToolRequestParams(
                name=self.name, arguments=self.arguments, input_responses=None, request_state=None, _meta=None
            )
            watched = MiddlewareContext(
                message=message,
                source="client",
                type="request",
                method="tools/call",
                fastmcp_context=context,
            )
            try:
                result = await self.adapter.lane.chain.round(self._call_tool)(watched)
            except Exception as error:
                return await self.handled(ChainReplay(self.adapter.app, error=error))
            return _text(result) or await self.handled(ChainReplay(self.adapter.app, result))
        finally:
            await self.close()

    async def _call_tool(self, context: MiddlewareContext[Any]) -> Any:
        """What the last middleware calls: `FastMCP.call_tool` below the middleware."""
        app = self.adapter.app
        name, arguments = context.message.name, context.message.arguments or {}
        plan = self.adapter.lane.plan(name)
        if plan is None:
            return await app.call_tool(name, arguments, run_middleware=False)
        # The tool has a context of its own; what is kept for the request is kept for both.
        inner, outer = Context(fastmcp=app), _current_context.get()
        if outer is not None:
            inner._request_state = outer._request_state
        token = _current_context.set(inner)
        try:
            if plan.adapter is None:
                return await plan.tool._run(arguments)
            if plan.inline:
                value = await self._workers.run(self.call, started, plan, arguments)
            else:
                value = started(plan, arguments)
            if is_coming(value):
                value = await finished(plan.tool, value)
            return plan.converter.result(value) or converted(plan.tool, value)
        except Exception as error:
            failure = error
        finally:
            _current_context.reset(token)
        return await ToolReplay(app, failure).result(name, arguments)


def _text(result: Any) -> bytes | None:
    """The JSON text of an ordinary result; None for one that fastmcp has to look at."""
    if not is_ordinary(result):
        return None
    try:
        # Checked once more: middleware may have put anything into it.
        return call_result_text(_normalize_call_tool_result(result.to_mcp_result()))
    except ValidationError:
        return None


class _Noticing:
    """A channel that notices when a session is given rules of its own about which tools it sees.

    Fastmcp keeps such rules in its state store and tells the client of each change of them.
    """

    __slots__ = ()

    _lane: Lane

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if method == "notifications/tools/list_changed":
            self._lane.session_rules()
        await super().notify(method, params, opts)  # type: ignore[misc]  # of the channel's


class _NoticingCall(_Noticing, CallChannel):
    __slots__ = ("_lane",)

    def __init__(self, call: Call, progress: Progress, lane: Lane, *, holds: bool, http: str | None) -> None:
        modern = call.protocol_version in MODERN_PROTOCOL_VERSIONS
        super().__init__(call, progress, modern=modern, holds=holds, http=http)
        self._lane = lane


class _NoticingStream(_Noticing, StreamChannel):
    def __init__(self, native: NativeServer, stream: int, progress: Progress, lane: Lane) -> None:
        super().__init__(native, stream, progress)
        self._lane = lane
