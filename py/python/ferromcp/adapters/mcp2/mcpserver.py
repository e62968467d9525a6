"""`MCPServer` on the handler road, and its plain tools by their own run method.

A tool that asks for no context and has no resolvers sees nothing of its request, so that nothing has to be
made for it: its `run` is what `MCPServer`'s handler comes to. What becomes of a failure is still that
handler's business.

A sync tool runs on the thread that has read the request. The stock server hands it to a worker thread and
waits; here the same `run` is driven to its end without a loop, with the function in the place of the
hand-over.
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

from .channel import from_http
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
        self._is_stock = _is_stock(app)
        self._threads: WorkerThreads | None = None
        self._known: dict[str, tuple[Tool, _PlainTool | None]] = {}

    def bind(self, native: NativeServer) -> None:
        super().bind(native)
        if self._is_stock:
            native.set_sync_delegate(self.serve_on_thread, ["tools/call"])

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        threads = WorkerThreads()
        self._threads = threads if threads.usable else None
        async with super().lifespan():
            yield

    async def call_tool(self, call: Call, params: Mapping[str, Any], version: str, *, modern: bool) -> bytes:
        tool = self._plain_tool(params["name"]) if self._is_stock else None
        if tool is None or not tool.is_async:
            return await super().call_tool(call, params, version, modern=modern)
        try:
            result = await tool.run(params)
            if type(result) is CallToolResult:
                return call_result_text(result)
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error
        return await self._shape(call, params, version, result)

    def serve_on_thread(self, call: Call) -> bytes | Coroutine[Any, Any, bytes] | None:
        """Answers a plain call of a sync tool; None for any other, which the loop serves."""
        threads = self._threads
        name = call.name
        if name is None or threads is None or not self.quick():
            return None
        tool = self._plain_tool(name)
        if tool is None or tool.is_async:
            return None
        version = call.protocol_version
        modern = version in MODERN_PROTOCOL_VERSIONS
        params = decode(call.params)
        if not self.plain.is_plain(params, version, modern=modern) or tracing():
            return None
        if not (modern or self.is_open(call.stream)):
            return None
        if modern and self.http is not None and not self.mirrors.is_free(name):
            return None
        threads.enter(call)
        try:
            result = drive(tool.run(params))
            if type(result) is CallToolResult:
                return call_result_text(result)
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error
        finally:
            threads.leave()
        return self._shape(call, params, version, result)

    def _plain_tool(self, name: str) -> _PlainTool | None:
        """The tool of this name, if it sees nothing of its request."""
        tool = self.app._tool_manager.get_tool(name)
        if tool is None:
            return None
        known = self._known.get(name)
        if known is None or known[0] is not tool:
            plain = type(tool) is Tool and not (tool.context_kwarg or tool.resolved_params)
            known = self._known[name] = (tool, _PlainTool(tool) if plain else None)
        return known[1]

    async def _shape(self, call: Call, params: Mapping[str, Any], version: str, result: Any) -> bytes:
        """Shapes an unusual result on the loop, where the SDK's middleware can look at it."""
        channel = self.channel(call)
        context: ServerRequestContext[Any, Any] = ServerRequestContext(
            session=LazySession(channel, self.connect, None),
            lifespan_context=self.state,
            protocol_version=version,
            method="tools/call",
            params=params,
            request_id=call.request_id,
            **from_http(channel),
        )
        try:
            return await self.shape(result, context)
        except Exception as error:
            modern = version in MODERN_PROTOCOL_VERSIONS
            raise to_engine(error, "tools/call", modern=modern) from error


class _PlainTool:
    """A tool that sees nothing of its request."""

    def __init__(self, tool: Tool) -> None:
        self.is_async = tool.is_async
        self._tool = tool
        if not tool.is_async:
            self._tool = tool.model_copy(update={"fn": _awaitable(tool.fn), "is_async": True})

    async def run(self, params: Mapping[str, Any]) -> Any:
        """What `MCPServer`'s handler of calls gives for this tool."""
        nobody: Any = None
        try:
            return await self._tool.run(params.get("arguments") or {}, nobody, convert_result=True)
        except Exception as error:
            typed = CallToolRequestParams.model_validate(params, by_name=False)
            replay: Any = _Replay(error)
            return await MCPServer._handle_call_tool(replay, nobody, typed)


class _Replay:
    """What `MCPServer`'s handler sees as its server when the tool has failed already."""

    # Nothing is injected into these tools, so nobody can ask for the bus.
    _subscriptions = None

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        raise self._error


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
