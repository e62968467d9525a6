"""One call on the direct lane, from its parameters to the text of its result.

What fastmcp would make for every call (its request context, the SDK's context and session behind it) is made
when somebody asks for it. A failure or an unusual result is given to fastmcp's own handler, which then does
what it always does: messages, masking, log lines, the forms of older revisions.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from fastmcp import FastMCP
from fastmcp.exceptions import ValidationError
from fastmcp.server.context import Context, _current_context
from fastmcp.server.dependencies import FastMCPRequestContext, fastmcp_request_ctx
from fastmcp.server.providers.prefab_payload import payload_has_identities
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.function_tool import (
    FunctionTool,
    _strict_input_validation,
    _ToolBodyError,
    _validate_input,
)
from mcp.server.context import ServerRequestContext
from mcp.server.runner import aclose_shielded
from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult, RequestParams
from pydantic import ValidationError as PydanticValidationError

from ..mcp2.errors import to_engine
from ..mcp2.handler import call_result_text
from ..mcp2.inline import drive
from ..mcp2.session import LazySession

if TYPE_CHECKING:
    from ..._native import Call
    from .direct import DirectAdapter
    from .plain import Plan

__all__ = ["DirectRequest"]

Outcome = ToolResult | Exception
"""What a tool's run ends with: its result, or what it raised."""


class DirectRequest:
    """A plain `tools/call`."""

    __slots__ = ("_adapter", "_call", "_made", "_params")

    def __init__(self, adapter: DirectAdapter, call: Call, params: Mapping[str, Any]) -> None:
        self._adapter = adapter
        self._call = call
        self._params = params
        self._made: ServerRequestContext[Any, Any] | None = None

    def enter(self) -> None:
        """Makes this the current request, for good: whoever calls this has a context of its own."""
        fastmcp_request_ctx.set(_LazyContext(self))
        _current_context.set(Context(fastmcp=self._adapter.app))

    @property
    def context(self) -> ServerRequestContext[Any, Any]:
        """The SDK's context of this request."""
        if self._made is None:
            call, adapter = self._call, self._adapter
            meta = RequestParams.model_validate(self._params, by_name=False).meta
            self._made = ServerRequestContext(
                session=LazySession(adapter.channel(call), adapter.connect, meta),
                lifespan_context=adapter.state,
                protocol_version=call.protocol_version,
                method="tools/call",
                params=self._params,
                request_id=call.request_id,
                meta=meta,
            )
        return self._made

    # On the loop.

    async def run(self, plan: Plan) -> bytes:
        """Runs the tool on the loop."""
        try:
            if plan.adapter is None or plan.inline:
                # A timeout to keep, or a thread to use: fastmcp's own run method does that.
                try:
                    outcome: Outcome = await plan.tool._run(self._arguments)
                except Exception as error:
                    outcome = error
                return await self._answer(outcome)
            try:
                value = _validate_input(plan.adapter, self._arguments, strict=_strict_input_validation())
            except PydanticValidationError as error:
                return await self._answer(_bad_arguments(error))
            except Exception as error:
                return await self._answer(error)
            return await self._finish(plan, value)
        finally:
            await self._close()

    async def _finish(self, plan: Plan, value: Any) -> bytes:
        """The part of `FunctionTool.run` that waits: for the function, and for what it yields."""
        try:
            if inspect.isawaitable(value):
                value = await value
            value = await plan.tool._materialize_generator(value)
        except PydanticValidationError as error:
            return await self._answer(_body_failed(error))
        except Exception as error:
            return await self._answer(error)
        return plan.converter.text(value) or await self._answer(_converted(plan.tool, value))

    # On one of the engine's threads.

    def run_inline(self, plan: Plan) -> bytes | Coroutine[Any, Any, bytes]:
        """Runs a sync tool here and now: `FunctionTool.run` without the hand-over to a worker thread.

        A coroutine comes back when the rest has to happen on the loop.
        """
        assert plan.adapter is not None  # as for every plan that is `inline`
        try:
            value = _validate_input(plan.adapter, self._arguments, strict=_strict_input_validation())
            if inspect.isawaitable(value) or inspect.isasyncgen(value):
                return self._finish_and_close(plan, value)
        except PydanticValidationError as error:
            outcome: Outcome = _bad_arguments(error)
        except StopIteration:
            # What becomes of it when it leaves a worker thread of anyio's.
            outcome = RuntimeError("coroutine raised StopIteration")
        except Exception as error:
            outcome = error
        else:
            text = plan.converter.text(value)
            if text is not None and not self._was_used:
                return text
            outcome = _converted(plan.tool, value)
        if self._was_used:
            return self._answer_and_close(outcome)
        if isinstance(outcome, Exception):
            # Nothing in fastmcp's handling of a failure waits.
            return drive(self._answer(outcome))
        return _text(outcome) or self._answer_and_close(outcome)

    async def _finish_and_close(self, plan: Plan, value: Any) -> bytes:
        try:
            return await self._finish(plan, value)
        finally:
            await self._close()

    # The answer.

    async def _answer_and_close(self, outcome: Outcome) -> bytes:
        try:
            return await self._answer(outcome)
        finally:
            await self._close()

    async def _answer(self, outcome: Outcome) -> bytes:
        text = None if isinstance(outcome, Exception) else _text(outcome)
        if text is not None:
            return text
        adapter, context = self._adapter, self.context
        modern = self._session.channel.modern
        try:
            params = CallToolRequestParams.model_validate(self._params, by_name=False)
            replay: Any = _Replay(adapter.app, outcome)
            result = await FastMCP._on_call_tool(replay, context, params)
            if type(result) is CallToolResult:
                return call_result_text(result)
            return await adapter.shape(result, context)
        except Exception as error:
            raise to_engine(error, "tools/call", modern=modern) from error

    async def _close(self) -> None:
        if self._made is None:
            return
        session = self._session
        session.channel.close(cancelled=self._call.cancelled)
        if session.channel.modern and session.used is not None:
            await aclose_shielded(session.used)

    @property
    def _was_used(self) -> bool:
        """Whether the function looked at its session, so that there is something to close."""
        return self._made is not None and self._session.used is not None

    @property
    def _session(self) -> LazySession:
        session = self.context.session
        assert isinstance(session, LazySession)  # `context` makes no other
        return session

    @property
    def _arguments(self) -> dict[str, Any]:
        return self._params.get("arguments") or {}


def _converted(tool: FunctionTool, value: Any) -> Outcome:
    """The end of `FunctionTool.run` and of `Tool._run`."""
    try:
        if isinstance(value, InputRequiredResult):
            return InputRequiredToolResult(value)
        return tool._mark_non_object_result(tool.convert_result(value))
    except Exception as error:
        return error


def _bad_arguments(error: PydanticValidationError) -> ValidationError:
    found = ValidationError(str(error), log_level=logging.WARNING)
    found.__cause__ = error
    return found


def _body_failed(error: PydanticValidationError) -> _ToolBodyError:
    found = _ToolBodyError(str(error))
    found.__cause__ = error
    return found


def _text(result: ToolResult) -> bytes | None:
    """The JSON text of an ordinary result; None for one that fastmcp shapes by era or by what made it."""
    if type(result) is not ToolResult or result._raw_mcp_result is not None:
        return None
    structured = result.structured_content
    if structured is not None and (type(structured) is not dict or payload_has_identities(structured)):
        return None
    # Its parts were validated as these very fields when the result was made.
    return call_result_text(
        CallToolResult.model_construct(
            content=result.content,
            structured_content=structured,
            is_error=result.is_error,
            meta=result.meta,
        )
    )


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

    def __init__(self, request: DirectRequest) -> None:
        self._direct = request

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not set yet.
        field = _FIELDS.get(name)
        if field is None:
            raise AttributeError(name)
        value = self.__dict__[name] = field(self._direct.context)
        return value


class _Replay:
    """What `FastMCP._on_call_tool` sees as its server, and that as its tool, when the tool has run."""

    def __init__(self, app: FastMCP[Any], outcome: Outcome) -> None:
        self._app = app
        self._outcome = outcome
        self.name = app.name
        self._mask_error_details = app._mask_error_details

    async def call_tool(self, name: str, arguments: dict[str, Any], *, version: Any = None) -> Any:
        server: Any = self
        result = await FastMCP.call_tool(server, name, arguments, version=version, run_middleware=False)
        return await self._app._rebind_prefab_tool_names(result)

    async def get_tool(self, name: str, version: Any = None) -> _Replay:
        return self

    def get_span_attributes(self) -> dict[str, Any]:
        return {}

    async def _run(self, arguments: dict[str, Any]) -> ToolResult:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome
