"""Ours, written for us."""

from ferromcp import Server

server = Server("bench", version="1")


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
