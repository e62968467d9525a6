"""Ours, written for us: on standard input and output, or with a port as argument over HTTP."""

import sys

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


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers"""
    return a + b


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("http", port=int(sys.argv[1]))
    else:
        server.run()
