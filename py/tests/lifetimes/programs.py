"""Programs with a server: the same tools on the native server and on the servers of other SDKs."""

from __future__ import annotations

import textwrap

import pytest

_IMPORTS = """
import asyncio, atexit, contextlib, multiprocessing, os, signal, subprocess, sys, threading, time
import ferromcp
"""

_SERVERS = {
    "native": "from ferromcp import Server\nserver = Server('tests')\n",
    "fastmcp": "from fastmcp import FastMCP\nserver = FastMCP('tests')\n",
    "middleware": """
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
class Watching(Middleware):
    async def on_call_tool(self, context, call_next):
        return await call_next(context)
server = FastMCP('tests', middleware=[Watching()])
""",
    "mcpserver": "from mcp.server import MCPServer\nserver = MCPServer('tests')\n",
}

HOSTED = [host for host in _SERVERS if host != "native"]
HOSTS = list(_SERVERS)

SYNC = """
@server.tool()
def echo(text: str) -> str: return text
@server.tool()
def block() -> str:
    os.write(2, b"begun\\n")
    time.sleep(600)
    return "slept"
"""
"""A sync tool that answers, and one that does not."""

ASYNC = """
@server.tool()
async def aecho(text: str) -> str: return text
@server.tool()
async def wait() -> str:
    os.write(2, b"begun\\n")
    await asyncio.sleep(600)
    return "slept"
@server.tool()
async def hog() -> str:
    os.write(2, b"begun\\n")
    time.sleep(600)
    return "slept"
@server.tool()
async def offload() -> str:
    os.write(2, b"begun\\n")
    return await asyncio.to_thread(time.sleep, 600)
"""
"""Async tools: one that answers, and three that do not: it waits, blocks the loop, or blocks a thread."""

BOTH = [pytest.param(SYNC, id="sync"), pytest.param(SYNC + ASYNC, id="loop")]
"""A native server with sync functions alone has no loop."""

QUIET = ("-W", "ignore::DeprecationWarning")
"""Flags: Python 3.12 and later warn of every fork in a process with threads."""

SIGNALS = [pytest.param(signal_, code, id=signal_) for signal_, code in (("SIGTERM", 143), ("SIGINT", 130))]

NOISE = ("Traceback", "Exception ignored", "ResourceWarning", "never awaited", "was destroyed", "panicked")
"""What no server of ours writes to stderr by itself."""


def program(*parts: str, host: str = "native", run: str = "ferromcp.run(server)") -> str:
    """A program that declares a server and runs it unless it is imported, as `spawn` does. Each part is
    dedented by itself.
    """
    declarations = "\n".join(textwrap.dedent(part) for part in parts)
    main = textwrap.indent(textwrap.dedent(run), "    ")
    return f"{_IMPORTS}{_SERVERS[host]}{declarations}\nif __name__ == '__main__':\n{main}\n"


def is_quiet(stderr: bytes) -> bool:
    """Whether nothing on stderr tells of something that went wrong."""
    return not any(noise in stderr.decode() for noise in NOISE)
