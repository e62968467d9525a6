"""The direct lane: a plain tool's own validation and function, and nothing else of fastmcp's.

Decides which calls take it. What fastmcp would do besides and find nothing to do is left out; `plain` says
when that is so, `request` how such a call runs.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP
from fastmcp.server.mixins.mcp_operations import logger as fastmcp_logger
from mcp.shared.dispatcher import CallOptions
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..mcp2.channel import CallChannel, Progress
from ..mcp2.plain import tracing
from ..mcp2.text import decode
from ..mcp2.threads import WorkerThreads
from .handler import FastMCPHandlerAdapter
from .plain import Lane, Plan
from .request import DirectRequest

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["DirectAdapter"]


class DirectAdapter(FastMCPHandlerAdapter):
    """Serves a plain `FastMCP` by its tools."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app)
        self._lane = Lane(app)
        self._threads: WorkerThreads | None = None

    def bind(self, native: NativeServer) -> None:
        super().bind(native)
        native.set_sync_delegate(self.serve_on_thread, ["tools/call"])

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        threads = WorkerThreads()
        self._threads = threads if threads.usable else None
        async with super().lifespan():
            yield

    def channel(self, call: Call) -> CallChannel:
        return _WatchedChannel(call, self._progress, self._lane)

    async def call_tool(self, call: Call, params: Mapping[str, Any], version: str, *, modern: bool) -> bytes:
        plan = self._plan(params["name"])
        if plan is None:
            return await super().call_tool(call, params, version, modern=modern)
        request = DirectRequest(self, call, params)
        request.enter()
        return await request.run(plan)

    def serve_on_thread(self, call: Call) -> bytes | Coroutine[Any, Any, bytes] | None:
        """Answers a plain call of a sync function; None for any other, which the loop serves."""
        threads = self._threads
        name = call.name
        if name is None or threads is None or not self.quick():
            return None
        plan = self._plan(name)
        if plan is None or not plan.inline:
            return None
        version = call.protocol_version
        params = decode(call.params)
        modern = version in MODERN_PROTOCOL_VERSIONS
        if not self.plain.is_plain(params, version, modern=modern) or tracing():
            return None
        if not (modern or self.peer(call.stream).is_open):
            return None
        request = DirectRequest(self, call, params)
        request.enter()
        threads.enter(call)
        try:
            return request.run_inline(plan)
        finally:
            threads.leave()

    def _plan(self, name: str) -> Plan | None:
        # Whoever debugs fastmcp wants its own lines about each call.
        if fastmcp_logger.isEnabledFor(logging.DEBUG):
            return None
        return self._lane.plan(name)


class _WatchedChannel(CallChannel):
    """Notices that a session was given rules of its own about which tools it sees.

    Fastmcp keeps such rules in its state store and tells the client of each change of them.
    """

    __slots__ = ("_lane",)

    def __init__(self, call: Call, progress: Progress, lane: Lane) -> None:
        super().__init__(call, progress, modern=call.protocol_version in MODERN_PROTOCOL_VERSIONS)
        self._lane = lane

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if method == "notifications/tools/list_changed":
            self._lane.close()
        await super().notify(method, params, opts)
