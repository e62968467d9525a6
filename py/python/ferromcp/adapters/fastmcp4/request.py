"""One plain call of a `FastMCP`'s tool: what it is for fastmcp, and how its answer is made.

What fastmcp would make for every call (its request context, the SDK's context and session behind it) is made
when somebody asks for it. An unusual result, and a failure, is given to fastmcp's own handler (`replay`). The
two ways to run a call are in `direct` and `watched`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP
from fastmcp.server.context import Context, _current_context
from fastmcp.server.dependencies import FastMCPRequestContext, fastmcp_request_ctx
from mcp.server.context import ServerRequestContext
from mcp.server.runner import aclose_shielded
from mcp_types import CallToolRequestParams, RequestParams

from ..mcp2.channel import from_http
from ..mcp2.errors import to_engine
from ..mcp2.session import LazySession

if TYPE_CHECKING:
    from ..._native import Call
    from .watched import MiddlewareAdapter

__all__ = ["PlainRequest"]


class PlainRequest:
    """A plain `tools/call`."""

    __slots__ = ("_made", "adapter", "call", "params")

    def __init__(self, adapter: MiddlewareAdapter, call: Call, params: Mapping[str, Any]) -> None:
        self.adapter = adapter
        self.call = call
        self.params = params
        self._made: ServerRequestContext[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The tool that the client names."""
        name: str = self.params["name"]
        return name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the client gives."""
        return self.params.get("arguments") or {}

    def enter(self) -> Context:
        """Makes this the current request, for good: whoever calls this has a context of its own."""
        fastmcp_request_ctx.set(_LazyContext(self))
        context = Context(fastmcp=self.adapter.app)
        _current_context.set(context)
        return context

    @property
    def context(self) -> ServerRequestContext[Any, Any]:
        """The SDK's context of this request."""
        if self._made is None:
            call, adapter = self.call, self.adapter
            meta = RequestParams.model_validate(self.params, by_name=False).meta
            channel = adapter.channel(call)
            self._made = ServerRequestContext(
                session=LazySession(channel, adapter.connect, meta),
                lifespan_context=adapter.state,
                protocol_version=call.protocol_version,
                method="tools/call",
                params=self.params,
                request_id=call.request_id,
                meta=meta,
                **from_http(channel),
            )
        return self._made

    @property
    def was_used(self) -> bool:
        """Whether anybody looked at the session, so that there is something to close."""
        return self._made is not None and self._session.used is not None

    async def handled(self, server: Any) -> bytes:
        """The answer of fastmcp's own handler, for which `server` stands where the app does."""
        adapter, context = self.adapter, self.context
        modern = self._session.channel.modern
        try:
            params = CallToolRequestParams.model_validate(self.params, by_name=False)
            result = await FastMCP._on_call_tool(server, context, params)
            return await adapter.text(result, context)
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error

    async def close(self) -> None:
        """The call is over: nothing belongs to it any more."""
        if self._made is None:
            return
        session = self._session
        session.channel.close(cancelled=self.call.cancelled)
        if session.channel.modern and session.used is not None:
            await aclose_shielded(session.used)

    @property
    def _session(self) -> LazySession:
        session = self.context.session
        assert isinstance(session, LazySession)  # `context` makes no other
        return session


# The fields of FastMCPRequestContext.
_FIELDS: Mapping[str, Callable[[ServerRequestContext[Any, Any]], Any]] = {
    "session": lambda context: context.session,
    "request_id": lambda context: str(context.request_id),
    "meta": lambda context: None if context.params is None else context.params.get("_meta"),
    "request": lambda context: context.request,
    "protocol_version": lambda context: context.protocol_version,
    "close_sse_stream": lambda context: context.close_sse_stream,
    "lifespan_context": lambda context: context.lifespan_context,
    "_srctx": lambda context: context,
}


class _LazyContext(FastMCPRequestContext):
    """Fastmcp's request context, field by field as it is looked at."""

    def __init__(self, request: PlainRequest) -> None:
        self._direct = request

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not set yet.
        field = _FIELDS.get(name)
        if field is None:
            raise AttributeError(name)
        value = self.__dict__[name] = field(self._direct.context)
        return value
