"""Programs with the same server, carried in different ways."""

from __future__ import annotations

import textwrap

TOOLS = """
import asyncio, contextlib, os, socket, sys, time
import ferromcp
from ferromcp import Context, Server

server = Server("tests", version="1.0")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
async def aadd(a: int, b: int) -> int:
    return a + b

@server.tool
def who(ctx: Context) -> str:
    client = (ctx.client_info or {}).get("name")
    return f"{ctx.protocol_version} {client} {ctx.principal}"

@server.tool
def steps(ctx: Context) -> str:
    ctx.report_progress(1, 2)
    return "done"

@server.tool
async def asteps(ctx: Context) -> str:
    ctx.report_progress(1, 2)
    await asyncio.sleep(0)
    return "done"

@server.tool
def cut(ctx: Context) -> str:
    return f"closed {ctx.close_sse_stream()}"

SHAPE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

@server.tool
def ask(ctx: Context) -> str:
    return ctx.elicit("Who?", SHAPE).wait().content["name"]

@server.tool
async def aask(ctx: Context) -> str:
    return (await ctx.elicit("Who?", SHAPE)).content["name"]

@server.tool
async def wait(seconds: float) -> str:
    os.write(2, b"begun\\n")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        os.write(2, b"cancelled\\n")
        raise
    os.write(2, b"waited\\n")
    return "waited"

@server.tool
def block() -> str:
    os.write(2, b"begun\\n")
    time.sleep(600)
    return "blocked"

@server.tool
def large(size: int) -> str:
    return "x" * size

@server.tool
def learn() -> str:
    server.add_tool(lambda: "new", name="new")
    return "learnt"

@server.resource("note://one")
def note() -> str:
    return "a note"

@server.tool
def change() -> str:
    server.resource_updated("note://one")
    return "changed"
"""

_UVICORN = """
import uvicorn

class Announcing(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()
        print(f"Listening on http://{host}:{port}{PATH}", file=sys.stderr, flush=True)

Announcing(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")).run()
"""

_APPS = {
    "native": 'server.run("http", port=0, **OPTIONS)',
    "alone": 'app, PATH = ferromcp.asgi(server, **{"path": "/mcp", **OPTIONS}), "/mcp"' + _UVICORN,
    "mounted": """
from starlette.applications import Starlette
from starlette.routing import Mount
app, PATH = Starlette(routes=[Mount("/api", app=ferromcp.asgi(server, **OPTIONS))]), "/api/mcp"
"""
    + _UVICORN,
}

CARRIERS = list(_APPS)
ASGI = CARRIERS[1:]


def carried(carrier: str, *, options: str = "", extra: str = "") -> str:
    """A program whose server says on stderr where it listens; `options` as in a call."""
    parts = (TOOLS, textwrap.dedent(extra), f"OPTIONS = dict({options})", _APPS[carrier])
    return "\n".join(parts) + "\n"
