"""What fastmcp sets up round a server (its `run_stdio_async` and `run_http_async`), for every road."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from fastmcp.server.dependencies import _current_server

from ..mcp2.runner import RunnerAdapter
from ..mcp2.streams import StreamsAdapter
from .chain import looks_at_pings

__all__ = ["FastMCPRunnerAdapter", "FastMCPStreamsAdapter", "request_variables", "transport_lifespan"]


@asynccontextmanager
async def transport_lifespan(app: FastMCP[Any], http: str | None = None) -> AsyncIterator[Any]:
    """The transport's name and the app's lifespan; yields what handlers see as the lifespan's state."""
    token = set_transport("stdio" if http is None else "streamable-http")
    try:
        server = app._mcp_server
        async with server.lifespan(server) as state:
            yield state
    finally:
        reset_transport(token)


@contextmanager
def request_variables(app: FastMCP[Any]) -> Iterator[None]:
    """What fastmcp sets for each request though it is the same for all: the server, and what the app shares.

    The lifespan sets it too, but not when it was entered before, as by another server of the same app.
    """
    values: dict[ContextVar[Any], Any] = {_current_server: weakref.ref(app)}
    values.update(app._shared_context_snapshot or {})
    tokens = [(variable, variable.set(value)) for variable, value in values.items()]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)


class FastMCPRunnerAdapter(RunnerAdapter):
    """A `FastMCP` on the dispatcher road."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app._mcp_server)
        self.app = app

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return transport_lifespan(self.app, self.http)

    def looks_at_pings(self) -> bool:
        return looks_at_pings(self.app)


class FastMCPStreamsAdapter(StreamsAdapter):
    """A `FastMCP` on the streams road."""

    def __init__(self, app: FastMCP[Any]) -> None:
        super().__init__(app._mcp_server)
        self.app = app

    def app_lifespan(self) -> AbstractAsyncContextManager[Any]:
        return transport_lifespan(self.app)

    def looks_at_pings(self) -> bool:
        return looks_at_pings(self.app)
