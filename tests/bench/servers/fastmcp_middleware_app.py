"""The ordinary fastmcp 4.x server with one middleware of its own, that counts calls."""

from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

mcp = FastMCP("bench")


class Count(Middleware):
    def __init__(self) -> None:
        self.calls = 0

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        self.calls += 1
        return await call_next(context)


mcp.add_middleware(Count())


@mcp.tool
def echo(text: str) -> str:
    """Echo"""
    return text


@mcp.tool
async def aecho(text: str) -> str:
    """Echo from a coroutine"""
    return text


if __name__ == "__main__":
    mcp.run(show_banner=False)
