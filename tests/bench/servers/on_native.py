"""The measured server, written for FerroMCP: plain annotations, nothing else."""

from ferromcp import Server

server = Server("bench", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers"""
    return a + b


@server.tool
def echo(text: str) -> str:
    """Echo"""
    return text


@server.tool
async def aecho(text: str) -> str:
    """Echo from a coroutine"""
    return text


if __name__ == "__main__":
    server.run()
