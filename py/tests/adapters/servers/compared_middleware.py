"""The plain FastMCP again, with middleware that watches, changes and refuses: not for the direct lane."""

from __future__ import annotations

from typing import Any

from compared_fastmcp import mcp
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult

watched: list[str] = []


class Watch(Middleware):
    async def on_message(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        watched.append(str(context.method))
        return await call_next(context)

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, ToolResult]
    ) -> ToolResult:
        if context.message.name == "text" and context.message.arguments == {"value": "refuse"}:
            raise ToolError("refused")
        result = await call_next(context)
        result.meta = {**(result.meta or {}), "watched": True}
        return result


mcp.add_middleware(Watch())


@mcp.tool
def what_was_watched() -> list[str]:
    """The methods seen so far."""
    return list(watched)


if __name__ == "__main__":
    mcp.run(show_banner=False)
