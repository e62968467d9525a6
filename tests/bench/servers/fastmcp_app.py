"""An ordinary fastmcp 4.x server."""

from fastmcp import FastMCP

mcp = FastMCP("bench")


@mcp.tool
def echo(text: str) -> str:
    """Echo"""
    return text


@mcp.tool
async def aecho(text: str) -> str:
    """Echo from a coroutine"""
    return text


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two integers"""
    return a + b


if __name__ == "__main__":
    mcp.run(show_banner=False)
