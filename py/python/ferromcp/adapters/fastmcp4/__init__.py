"""`fastmcp.FastMCP` 4.x: a low-level `Server` of mcp 2.x with fastmcp's own chain inside.

Imported only when such an object is served.
"""

from __future__ import annotations

from typing import Any

from ..base import Adapter
from ..roads import Road

__all__ = ["adapt_fastmcp"]


def adapt_fastmcp(app: Any, road: Road) -> Adapter:
    """The adapter for a `FastMCP`."""
    if road == "direct":
        from .direct import DirectAdapter

        return DirectAdapter(app)
    if road == "middleware":
        from .watched import MiddlewareAdapter

        return MiddlewareAdapter(app)
    if road == "handler":
        from .handler import FastMCPHandlerAdapter

        return FastMCPHandlerAdapter(app)
    if road == "streams":
        from .lifespan import FastMCPStreamsAdapter

        return FastMCPStreamsAdapter(app)
    from .lifespan import FastMCPRunnerAdapter

    return FastMCPRunnerAdapter(app)
