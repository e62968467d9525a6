"""Puts the engine under a server that a test runs in a process of its own: `ferromcp.serve` on real stdio.

Python imports this module when it starts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import ferromcp
import mcp.server.stdio as mcp_stdio
from mcp.server.lowlevel import Server

STDIO = object()
"""In the place of a pair of streams: the engine reads and writes the descriptors itself."""

stock_run = Server.run


@asynccontextmanager
async def stdio_server(*_: Any) -> AsyncIterator[tuple[Any, Any]]:
    yield STDIO, STDIO


async def run(
    self: Server[Any], read_stream: Any, write_stream: Any, options: Any, raise_exceptions: bool = False
) -> None:
    if read_stream is STDIO:
        await ferromcp.serve(getattr(self, "fastmcp", self))
    else:
        await stock_run(self, read_stream, write_stream, options, raise_exceptions)


mcp_stdio.stdio_server = stdio_server  # type: ignore[assignment]
Server.run = run  # type: ignore[method-assign, assignment]
