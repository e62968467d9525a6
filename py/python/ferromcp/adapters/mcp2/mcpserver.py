"""`MCPServer` on the handler road, with its sync tools on the engine's own threads.

The stock server hands each sync tool to a worker thread and waits for it. Here the thread that has read the request runs
it: the same handler of `MCPServer`, driven to its end without a loop, with the tool's function in the place of the
hand-over. Tools that ask for their context or have resolvers may wait for the loop; they stay on it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool, ToolManager
from mcp_types import CallToolRequestParams, CallToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .errors import to_engine
from .handler import HandlerAdapter, call_result_text
from .inline import drive
from .plain import tracing
from .session import LazySession
from .text import decode
from .threads import WorkerThreads

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["MCPServerAdapter"]


class MCPServerAdapter(HandlerAdapter):
    """Serves an `MCPServer` by its own handlers."""

    def __init__(self, app: MCPServer[Any]) -> None:
        super().__init__(app._lowlevel_server)
        self.app = app
        self._threads: WorkerThreads | None = None
        self._inline: dict[str, tuple[Tool, _Inline | None]] = {}

    def bind(self, native: NativeServer) -> None:
        super().bind(native)
        if _is_stock(self.app):
            native.set_sync_delegate(self.serve_on_thread)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        threads = WorkerThreads()
        self._threads = threads if threads.usable else None
        async with super().lifespan():
            yield

    def serve_on_thread(self, call: Call) -> bytes | Coroutine[Any, Any, bytes] | None:
        """Answers a plain call of a sync tool; None for any other, which the loop serves."""
        threads = self._threads
        inline = self._inline_tool(call.name)
        if inline is None or threads is None or not self.quick():
            return None
        version = call.protocol_version
        modern = version in MODERN_PROTOCOL_VERSIONS
        params = decode(call.params)
        if not self.plain.is_plain(params, version, modern=modern) or tracing():
            return None
        if not (modern or self.peer(call.stream).is_open):
            return None
        threads.enter(call)
        try:
            result = drive(inline.handle(CallToolRequestParams.model_validate(params, by_name=False)))
            if type(result) is CallToolResult:
                return call_result_text(result)
            return self._finish(call, params, version, result)
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error
        finally:
            threads.leave()

    def _inline_tool(self, name: str | None) -> _Inline | None:
        """How to run the tool of this name on the thread it is asked for on, if it can be."""
        if name is None:
            return None
        tool = self.app._tool_manager.get_tool(name)
        if tool is None:
            return None
        known = self._inline.get(name)
        if known is None or known[0] is not tool:
            fits = type(tool) is Tool and not (tool.is_async or tool.context_kwarg or tool.resolved_params)
            known = self._inline[name] = (tool, _Inline(tool) if fits else None)
        return known[1]

    async def _finish(self, call: Call, params: Mapping[str, Any], version: str, result: Any) -> bytes:
        """Shapes an unusual result on the loop, where the SDK's middleware can look at it."""
        context: ServerRequestContext[Any, Any] = ServerRequestContext(
            session=LazySession(self.channel(call), self.connect, None),
            lifespan_context=self.state,
            protocol_version=version,
            method="tools/call",
            params=params,
            request_id=call.request_id,
        )
        try:
            return await self.shape(result, context)
        except Exception as error:
            modern = version in MODERN_PROTOCOL_VERSIONS
            raise to_engine(error, "tools/call", modern=modern) from error


class _Inline:
    """What `MCPServer`'s handler sees as its server while it runs one sync tool."""

    # Nothing is injected into these tools, so nobody can ask for the bus.
    _subscriptions = None

    def __init__(self, tool: Tool) -> None:
        self._tool = tool.model_copy(update={"fn": _awaitable(tool.fn), "is_async": True})

    def handle(self, params: CallToolRequestParams) -> Coroutine[Any, Any, Any]:
        """`MCPServer`'s own handling of the call: its errors, its log lines, its results."""
        return MCPServer._handle_call_tool(self, None, params)  # type: ignore[arg-type]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        return await self._tool.run(arguments, context, convert_result=True)


def _is_stock(app: MCPServer[Any]) -> bool:
    """Whether nothing stands between the request and the tool but `MCPServer`'s own code."""
    cls = type(app)
    entry = app._lowlevel_server.get_request_handler("tools/call")
    return (
        cls._handle_call_tool is MCPServer._handle_call_tool
        and cls.call_tool is MCPServer.call_tool
        and type(app._tool_manager) is ToolManager
        and entry is not None
        and entry.handler == app._handle_call_tool
        and not {"call_tool", "_handle_call_tool"} & app.__dict__.keys()
    )


def _awaitable(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call

