"""A `FastMCP` on the handler road: its own chain runs, the SDK's checks round it do not."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.low_level import FastMCPServerMiddleware
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from ..mcp2.handler import HandlerAdapter
from .chain import looks_at_pings
from .lifespan import transport_lifespan

__all__ = ["FastMCPHandlerAdapter"]


class FastMCPHandlerAdapter(HandlerAdapter):
    """Serves a `FastMCP` by the handlers of the low-level server under it."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app._mcp_server)
        self.app = app

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return transport_lifespan(self.app, self.http)

    def looks_at_pings(self) -> bool:
        return looks_at_pings(self.app)

    def has_nothing_to_do(self, middleware: Any) -> bool:
        # Fastmcp's own part has something to do, and `handle` lets it.
        return type(middleware) is FastMCPServerMiddleware or super().has_nothing_to_do(middleware)

    async def handle(self, handler: CallNext, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        for middleware in self.server.middleware:
            if type(middleware) is FastMCPServerMiddleware:
                return await middleware(context, handler)
        return await handler(context)
