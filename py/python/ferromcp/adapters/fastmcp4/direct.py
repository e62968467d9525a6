"""The direct lane: a plain tool's own validation and function, and nothing else of fastmcp's.

Decides which calls take it: those that no middleware looks at. What fastmcp would do besides and find nothing
to do is left out; `plain` says when that is so. A sync function runs on the thread that has read its call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from fastmcp.tools.base import ToolResult
from mcp_types import CallToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..mcp2.handler import call_result_text
from ..mcp2.inline import drive
from ..mcp2.plain import tracing
from ..mcp2.text import decode
from .plain import Plan
from .replay import ToolReplay
from .request import PlainRequest
from .run import converted, finished, is_coming, is_ordinary, started
from .watched import MiddlewareAdapter

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer
    from ..mcp2.workers import Workers

__all__ = ["DirectAdapter"]

Outcome = ToolResult | Exception
"""What a tool's run ends with: its result, or what it raised."""


class DirectAdapter(MiddlewareAdapter):
    """Serves a plain `FastMCP` by its tools."""

    def bind(self, native: NativeServer) -> None:
        super().bind(native)
        native.set_sync_delegate(self.serve_on_thread, ["tools/call"])

    def call_tool(
        self, call: Call, params: Mapping[str, Any], version: str, *, modern: bool
    ) -> Coroutine[Any, Any, bytes]:
        plan = self._plan(params["name"])
        if plan is None or self.workers is None:
            return super().call_tool(call, params, version, modern=modern)
        return DirectRequest(self, call, params).run(plan, self.workers)

    def serve_on_thread(self, call: Call) -> bytes | Coroutine[Any, Any, bytes] | None:
        """Answers a plain call of a sync function; None for any other, which the loop serves."""
        threads = self.threads
        name = call.name
        if name is None or threads is None or not self.quick():
            return None
        plan = self._plan(name)
        if plan is None or not plan.inline:
            return None
        version = call.protocol_version
        params = decode(call.params)
        modern = version in MODERN_PROTOCOL_VERSIONS
        if not self.plain.is_plain(params, version, modern=modern) or tracing():
            return None
        if not (modern or self.is_open(call.stream)):
            return None
        if modern and self.http is not None and not self.mirrors.is_free(name):
            return None
        request = DirectRequest(self, call, params)
        threads.enter(call)
        try:
            return request.run_inline(plan)
        finally:
            threads.leave()

    def _plan(self, name: str) -> Plan | None:
        if self.lane.chain.is_watched or self.is_debugged():
            return None
        return self.lane.plan(name)


class DirectRequest(PlainRequest):
    """A plain `tools/call` that nobody looks at."""

    __slots__ = ()

    async def run(self, plan: Plan, workers: Workers) -> bytes:
        """Runs the tool for the loop."""
        self.enter()
        outcome: Outcome
        try:
            try:
                if plan.adapter is None:
                    outcome = await plan.tool._run(self.arguments)
                else:
                    if plan.inline:
                        value = await workers.run(self.call, started, plan, self.arguments)
                    else:
                        value = started(plan, self.arguments)
                    if is_coming(value):
                        value = await finished(plan.tool, value)
                    text = plan.converter.text(value)
                    if text is not None:
                        return text
                    outcome = converted(plan.tool, value)
            except Exception as error:
                outcome = error
            return await self._answer(outcome)
        finally:
            await self.close()

    def run_inline(self, plan: Plan) -> bytes | Coroutine[Any, Any, bytes]:
        """Runs a sync tool here and now: `FunctionTool.run` without the hand-over to a worker thread.

        A coroutine comes back when the rest has to happen on the loop.
        """
        self.enter()
        try:
            value = started(plan, self.arguments)
            if is_coming(value):
                return self._closing(self._finish(plan, value))
            text = plan.converter.text(value)
            if text is not None and not self.was_used:
                return text
            outcome: Outcome = converted(plan.tool, value)
        except StopIteration:
            # What becomes of it when it leaves a worker thread of anyio's.
            outcome = RuntimeError("coroutine raised StopIteration")
        except Exception as error:
            outcome = error
        if self.was_used:
            return self._closing(self._answer(outcome))
        if isinstance(outcome, Exception):
            # Nothing in fastmcp's handling of a failure waits.
            return drive(self._answer(outcome))
        return _text(outcome) or self._closing(self._answer(outcome))

    async def _finish(self, plan: Plan, coming: Any) -> bytes:
        """Answers, on the loop, with what a sync function has given to be waited for."""
        try:
            outcome: Outcome = converted(plan.tool, await finished(plan.tool, coming))
        except Exception as error:
            outcome = error
        return await self._answer(outcome)

    async def _answer(self, outcome: Outcome) -> bytes:
        text = None if isinstance(outcome, Exception) else _text(outcome)
        return text or await self.handled(ToolReplay(self.adapter.app, outcome))

    async def _closing(self, answer: Awaitable[bytes]) -> bytes:
        try:
            return await answer
        finally:
            await self.close()


def _text(result: ToolResult) -> bytes | None:
    """The JSON text of an ordinary result; None for one that fastmcp shapes by era or by what made it."""
    if not is_ordinary(result):
        return None
    # Its parts were validated as these very fields when the result was made.
    return call_result_text(
        CallToolResult.model_construct(
            content=result.content,
            structured_content=result.structured_content,
            is_error=result.is_error,
            meta=result.meta,
        )
    )
