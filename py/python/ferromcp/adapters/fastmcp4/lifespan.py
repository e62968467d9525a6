"""What fastmcp sets up round a stdio server (`TransportMixin.run_stdio_async`), for every road."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport

from ..mcp2.runner import RunnerAdapter
from ..mcp2.streams import StreamsAdapter

__all__ = ["FastMCPRunnerAdapter", "FastMCPStreamsAdapter", "stdio_lifespan"]


@asynccontextmanager
async def stdio_lifespan(app: FastMCP[Any]) -> AsyncIterator[Any]:
    """The transport's name and the app's lifespan; yields what handlers see as the lifespan's state."""
    token = set_transport("stdio")
    try:
        server = app._mcp_server
        async with server.lifespan(server) as state:
            yield state
    finally:
        reset_transport(token)


class FastMCPRunnerAdapter(RunnerAdapter):
    """A `FastMCP` on the dispatcher road."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app._mcp_server)
        self.app = app

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return stdio_lifespan(self.app)


class FastMCPStreamsAdapter(StreamsAdapter):
    """A `FastMCP` on the streams road."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app._mcp_server)
        self.app = app

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return stdio_lifespan(self.app)
