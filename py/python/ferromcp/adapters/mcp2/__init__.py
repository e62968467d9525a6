"""Servers of the `mcp` package 2.x: `MCPServer` and the low-level `Server` under it.

Imported only when such an object is served. Each road stands on the one below it: what `handler` has no quick
way for goes through `dispatcher`.
"""

from __future__ import annotations

from typing import Any

from ..base import Adapter
from ..kinds import Kind, kind_of
from ..roads import Road

__all__ = ["adapt_lowlevel", "adapt_mcp", "has_dispatcher_seam"]


def has_dispatcher_seam() -> bool:
    """Whether the installed `mcp` has the runner and the dispatcher protocol that ours stands in for."""
    try:
        from mcp.server.connection import Connection, NotifyOnlyOutbound
        from mcp.server.runner import serve_connection, serve_one
        from mcp.shared.dispatcher import DispatchContext, Dispatcher
    except ImportError:
        return False
    seam = (serve_connection, serve_one, Connection.for_loop, Connection.from_envelope, NotifyOnlyOutbound)
    return all(callable(part) for part in (*seam, Dispatcher.run, DispatchContext.notify))


def adapt_mcp(app: Any, road: Road) -> Adapter:
    """The adapter for an `MCPServer` or a low-level `Server`."""
    if kind_of(app) is not Kind.MCPSERVER:
        return adapt_lowlevel(app, road)
    if road == "handler":
        from .mcpserver import MCPServerAdapter

        return MCPServerAdapter(app)
    return adapt_lowlevel(app._lowlevel_server, road)


def adapt_lowlevel(server: Any, road: Road) -> Adapter:
    """The adapter for a low-level `Server`, whatever is built on it."""
    if road == "streams":
        from .streams import StreamsAdapter

        return StreamsAdapter(server)
    if road == "dispatcher":
        from .runner import RunnerAdapter

        return RunnerAdapter(server)
    from .handler import HandlerAdapter

    return HandlerAdapter(server)
