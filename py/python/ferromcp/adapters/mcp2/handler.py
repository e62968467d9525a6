"""The handler road: `tools/call` straight to the server's own handler, everything else by the runner.

A plain call (see `plain`) skips what would find nothing to do: validation that has passed before, spans that
nobody records, the seal of a state that is not there. Middleware that the SDK itself does not bring keeps a
call on the runner's road, since it may watch or change anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.exceptions import MCPError as SdkError
from mcp_types import CallToolRequestParams, CallToolResult, ErrorData
from mcp_types.methods import is_input_required
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .channel import CallChannel, from_http
from .errors import to_engine
from .plain import PlainCalls, tracing
from .runner import RunnerAdapter, modern_connection
from .session import LazySession
from .text import decode, encode

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from ..._native import Call

__all__ = ["HandlerAdapter", "call_result_text"]

_to_json = CallToolResult.__pydantic_serializer__.to_json


def call_result_text(result: CallToolResult) -> bytes:
    """The JSON text of a result. The engine leaves out what the peer's revision does not know."""
    return _to_json(result, by_alias=True, exclude_none=True)


class HandlerAdapter(RunnerAdapter):
    """Serves a low-level `Server` by its own handlers."""

    def __init__(self, server: Server[Any]) -> None:
        super().__init__(server)
        self.plain = PlainCalls()
        self._seen: list[Any] = []
        self._quick = False

    async def serve(self, call: Call) -> bytes:
        params = decode(call.params)
        if self.http is not None:
            await self.look_at_headers(call, params)
        if call.method == "tools/call" and self.quick():
            version = call.protocol_version
            modern = version in MODERN_PROTOCOL_VERSIONS
            if self.plain.is_plain(params, version, modern=modern) and not tracing():
                if not modern and not (await self.legacy(call)).is_open:
                    return await self.by_runner(call, params)
                return await self.call_tool(call, params, version, modern=modern)
        return await self.by_runner(call, params)

    def quick(self) -> bool:
        """Whether all middleware is the SDK's own, which has nothing to do for a plain call."""
        middleware = self.server.middleware
        if middleware != self._seen:
            self._seen = list(middleware)
            self._quick = all(self.has_nothing_to_do(part) for part in middleware)
        return self._quick

    def has_nothing_to_do(self, middleware: Any) -> bool:
        """Whether a plain call passes through this middleware unchanged."""
        return type(middleware) in (OpenTelemetryMiddleware, RequestStateBoundary)

    async def call_tool(self, call: Call, params: Mapping[str, Any], version: str, *, modern: bool) -> bytes:
        """Answers a plain call by the server's own handler."""
        entry = self.server.get_request_handler("tools/call")
        if entry is None or entry.params_type is not CallToolRequestParams:
            return await self.by_runner(call, params)
        channel = self.channel(call)
        cancelled = False
        session = None
        try:
            typed = CallToolRequestParams.model_validate(params, by_name=False)
            session = LazySession(channel, self.connect, typed.meta)
            context: ServerRequestContext[Any, Any] = ServerRequestContext(
                session=session,
                lifespan_context=self.state,
                protocol_version=version,
                method="tools/call",
                params=params,
                request_id=call.request_id,
                meta=typed.meta,
                **from_http(channel),
            )
            result = await self.handle(lambda context: entry.handler(context, typed), context)
            return await self.text(result, context)
        except asyncio.CancelledError:
            cancelled = True
            raise
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error
        finally:
            channel.close(cancelled=cancelled)
            if modern and session is not None and session.used is not None:
                await aclose_shielded(session.used)

    async def handle(self, handler: CallNext, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        """Runs the handler. For apps that need something round it."""
        return await handler(context)

    def connect(self, channel: CallChannel) -> Connection:
        """The SDK's connection behind a request: its own in the modern era, else its stream's."""
        return modern_connection(channel) if channel.modern else self.peer(channel.call.stream).connection

    async def text(self, result: HandlerResult, context: ServerRequestContext[Any, Any]) -> bytes:
        """The JSON text of what the handler of calls has returned."""
        # Structured content that is no object has a place in some revisions only.
        if type(result) is CallToolResult and isinstance(result.structured_content, dict | None):
            return call_result_text(result)
        return await self.shape(result, context)

    async def shape(self, result: HandlerResult, context: ServerRequestContext[Any, Any]) -> bytes:
        """Shapes a result that is no plain `CallToolResult` as the runner does, and seals its state."""
        if isinstance(result, ErrorData):
            raise SdkError.from_error_data(result)
        # Shaping looks at the server only; the runner wants some connection all the same.
        session = cast(LazySession, context.session)
        runner = ServerRunner(self.server, self.connect(session.channel), self.state)
        shaped: HandlerResult = runner._serialize("tools/call", context.protocol_version, result)
        if is_input_required(shaped):
            for middleware in reversed(self.server.middleware):
                if type(middleware) is RequestStateBoundary:
                    shaped = await middleware(context, partial(_answer, shaped))
        return encode(shaped)


async def _answer(result: HandlerResult, _: ServerRequestContext[Any, Any]) -> HandlerResult:
    return result
