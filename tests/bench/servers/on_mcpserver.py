"""The measured server as people write it with `MCPServer` of mcp 2.x. Nothing here knows of FerroMCP."""

from mcp.server import MCPServer

mcp = MCPServer("bench", version="1.0.0")


@mcp.tool()
def add(a: int, b: int) -> int:
    """Add two integers"""
    return a + b


@mcp.tool()
def echo(text: str) -> str:
    """Echo"""
    return text


@mcp.tool()
async def aecho(text: str) -> str:
    """Echo from a coroutine"""
    return text


if __name__ == "__main__":
    mcp.run()
