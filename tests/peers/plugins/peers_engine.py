"""A pytest plugin that puts the engine under every server that a test runs in memory or over stdio.

The chokepoint is `Server.run` of the low-level server, which all in-memory connections of `mcp` and `fastmcp`
go through; the one that goes round it, the modern in-process client, is led back to it. What the client sends
then goes as lines of bytes over a socket to the engine, and its answers come back the same way. The app is
served on the road that `ferromcp.run` takes for it, or on the one that FERROMCP_ROAD names. A process that a
test starts is served by `child/sitecustomize.py`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp.client.client as mcp_client
import mcp.client.stdio as mcp_stdio
import pytest
from ferromcp._native import Server as NativeServer
from ferromcp.adapters import adapt, choose
from mcp.client._memory import InMemoryTransport
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from peers_contract import native_pair
from peers_record import SERVED
from peers_wire import Wire, served, start

ROAD = os.environ.get("FERROMCP_ROAD")
CHILD = Path(__file__).parent / "child"
# Seconds that a server gets to end, once its client has gone.
END = 5.0

stock_run = Server.run
stock_init = MCPServer.__init__
stock_connect_inproc = mcp_client._connect_inproc
stock_environment = mcp_stdio.get_default_environment

# The `MCPServer` on top of a low-level server.
apps: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()


# What stands in for the SDK's functions.


async def run(
    self: Server[Any], read_stream: Any, write_stream: Any, options: Any, raise_exceptions: bool = False
) -> None:
    """`Server.run` on the engine."""
    if not on_asyncio():
        await stock_run(self, read_stream, write_stream, options, raise_exceptions)
        return
    app = app_of(self)
    # On a thread: it asks the disk for versions, and some tests watch their loop for such things.
    choice = await anyio.to_thread.run_sync(choose, app, ROAD)
    adapter = adapt(app, choice)
    native = NativeServer(adapter.config())
    adapter.bind(native)
    set_transport = transport_of_context()
    async with adapter.lifespan():
        set_transport()
        # Calls in flight end with the connection, as they do in memory.
        wire = await Wire.to(start(native, choice.road, drain_ms=0))
        over = native.finished()
        try:
            await wire.carry(read_stream, write_stream)
        finally:
            wire.close()
            with anyio.CancelScope(shield=True), anyio.move_on_after(END):
                await over
            native.acknowledge()


def transport_of_context() -> Callable[[], object]:
    """What sets the transport again that fastmcp names to its handlers now: the adapter says stdio, and in
    memory there is none, or the one that a test has set.
    """
    context = sys.modules.get("fastmcp.server.context")
    if context is None:
        return lambda: None
    return partial(context._current_transport.set, context._current_transport.get())


def connect_inproc(server: Server[Any]) -> Any:
    """The in-process client of `mcp`, over streams in the modern era, too."""

    async def connect(stack: AsyncExitStack, mode: str, raise_exceptions: bool) -> Any:
        if not on_asyncio():
            return await stock_connect_inproc(server)(stack, mode, raise_exceptions)
        transport = InMemoryTransport(server, raise_exceptions=raise_exceptions)
        return JSONRPCDispatcher(*await stack.enter_async_context(transport))

    return connect


def init(self: MCPServer[Any], *arguments: Any, **options: Any) -> None:
    """Remembers which low-level server an `MCPServer` makes for itself."""
    stock_init(self, *arguments, **options)
    apps[self._lowlevel_server] = weakref.ref(self)


def environment() -> dict[str, str]:
    """What a server process inherits; it meets `child/sitecustomize.py` when it starts."""
    served["process"] += 1
    return {**stock_environment(), "PYTHONPATH": str(CHILD)}


def on_asyncio() -> bool:
    """Whether there is a loop that the engine can work with: on trio there is none."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def app_of(server: Server[Any]) -> Any:
    """The object that a user would give to `ferromcp.run`."""
    known = apps.get(server)
    return getattr(server, "fastmcp", None) or (known and known()) or server


# The plugin. It is loaded before the tests are, and so before they import any of these names.

Server.run = run  # type: ignore[method-assign, assignment]
MCPServer.__init__ = init  # type: ignore[method-assign]
mcp_client._connect_inproc = connect_inproc
mcp_stdio.get_default_environment = environment

BEFORE = pytest.StashKey[Counter[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The contract tests of dispatchers get ours, in the place of the one over streams."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and callspec.id == "jsonrpc" and "pair_factory" in callspec.params:
            callspec.params["pair_factory"] = native_pair


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEFORE] = served.copy()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    item.user_properties.append((SERVED, dict(served - item.stash[BEFORE])))
