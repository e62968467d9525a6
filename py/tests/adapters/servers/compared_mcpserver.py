"""An MCPServer with one of everything, run both by its own SDK and by us. Nothing here knows of us."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import mcp_types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

entered: list[str] = []


@asynccontextmanager
async def lifespan(server: MCPServer[Any]) -> AsyncIterator[dict[str, str]]:
    entered.append(server.name)
    yield {"greeting": "hello"}


mcp = MCPServer(
    "compared",
    version="1.2.3",
    instructions="Compare me.",
    lifespan=lifespan,
    # Nobody compares what it logs, and a traceback there takes as long as fifty calls.
    log_level="CRITICAL",
)
seen: contextvars.ContextVar[int] = contextvars.ContextVar("seen", default=0)


class Point(BaseModel):
    x: int
    y: int = 0


class Found(TypedDict):
    name: str
    score: float


class Answer(BaseModel):
    color: str


@mcp.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@mcp.tool()
async def aadd(a: int, b: Annotated[int, Field(ge=0)]) -> int:
    """Add two integers in a coroutine."""
    return a + b


@mcp.tool()
def text(value: str) -> str:
    """Give the text back."""
    return value


@mcp.tool()
def number(value: float) -> float:
    """Give the number back."""
    return value


@mcp.tool()
def nothing() -> None:
    """Return nothing."""


@mcp.tool()
def anything(value: Any) -> Any:
    """Give any JSON value back, unstructured where it has no type."""
    return value


@mcp.tool()
def move(point: Point, by: list[int]) -> Point:
    """Move a point."""
    return Point(x=point.x + by[0], y=point.y + by[1])


@mcp.tool()
async def search(query: str, limit: int = 2) -> list[Found]:
    """Find names."""
    return [Found(name=f"{query}{i}", score=i / 2) for i in range(limit)]


@mcp.tool()
def blocks() -> list[mcp_types.ContentBlock]:
    """Return content blocks of several kinds."""
    return [
        mcp_types.TextContent(type="text", text="one"),
        mcp_types.ImageContent(type="image", data="aGk=", mime_type="image/png"),
        mcp_types.ResourceLink(type="resource_link", name="r", uri="mem://r"),
        mcp_types.EmbeddedResource(
            type="resource",
            resource=mcp_types.TextResourceContents(uri="mem://e", text="t", mime_type="text/plain"),
        ),
    ]


@mcp.tool()
def whole() -> mcp_types.CallToolResult:
    """Return a result object with metadata."""
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text="whole")], _meta={"own": {"a": [1, None]}}
    )


@mcp.tool()
def fail(kind: str) -> str:
    """Raise."""
    if kind == "tool":
        raise ToolError("told so")
    if kind == "protocol":
        raise MCPError(code=1234, message="own code", data={"why": kind})
    if kind == "stop":
        raise StopIteration
    raise ValueError("secret")


@mcp.tool()
async def afail(kind: str) -> str:
    """Raise in a coroutine."""
    return fail(kind)


@mcp.tool()
def where() -> dict[str, Any]:
    """Say on what kind of thread a sync tool runs."""
    try:
        asyncio.get_running_loop()
        loop = True
    except RuntimeError:
        loop = False
    before = seen.get()
    seen.set(before + 1)
    return {"loop": loop, "main": threading.current_thread() is threading.main_thread(), "before": before}


@mcp.tool()
def back() -> str:
    """Reach the loop from a sync tool by anyio's way."""
    import anyio.from_thread

    async def asked() -> str:
        await asyncio.sleep(0)
        return "from the loop"

    anyio.from_thread.check_cancelled()
    return anyio.from_thread.run(asked)


@mcp.tool()
async def context(ctx: Context[Any, Any]) -> dict[str, Any]:
    """What the request says of itself."""
    request = ctx.request_context
    info = request.session.client_params
    capabilities = ctx.client_capabilities
    return {
        "request_id": ctx.request_id,
        "version": ctx.protocol_version,
        "client": None if info is None else info.client_info.name,
        "capabilities": None if capabilities is None else capabilities.model_dump(exclude_none=True),
        "state": request.lifespan_context,
        "entered": entered,
        "can_ask": request.session.can_send_request,
        "meta": dict(request.meta or {}),
    }


@mcp.tool()
async def report(n: int, ctx: Context[Any, Any]) -> str:
    """Report progress and log."""
    for i in range(n):
        await ctx.report_progress(i + 1, n, f"step {i + 1}")
        await ctx.info({"step": i})
    await ctx.debug("done")
    return "reported"


@mcp.tool()
async def read(uri: str, ctx: Context[Any, Any]) -> str:
    """Read a resource of this very server."""
    return "".join(str(item.content) for item in await ctx.read_resource(uri))


@mcp.tool()
async def elicit(ctx: Context[Any, Any]) -> str:
    """Ask the user."""
    result = await ctx.elicit("Which color?", Answer)
    return f"{result.action}: {result.data.color if result.action == 'accept' else ''}"


@mcp.tool()
async def sample(ctx: Context[Any, Any]) -> str:
    """Ask the client's model."""
    message = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(type="text", text="hi"))
    result = await ctx.request_context.session.create_message([message], max_tokens=10)
    return result.content.text if isinstance(result.content, mcp_types.TextContent) else "?"


@mcp.tool()
async def roots(ctx: Context[Any, Any]) -> list[str]:
    """Ask the client for its roots."""
    return [str(root.uri) for root in (await ctx.request_context.session.list_roots()).roots]


@mcp.tool()
async def ask_later(ctx: Context[Any, Any]) -> str | mcp_types.InputRequiredResult:
    """Ask in a second round trip, as the modern era does."""
    if ctx.input_responses is None:
        return mcp_types.InputRequiredResult(
            input_requests={
                "name": mcp_types.ElicitRequest(
                    params=mcp_types.ElicitRequestFormParams(
                        message="Who?",
                        requested_schema={"type": "object", "properties": {"name": {"type": "string"}}},
                    )
                )
            },
            request_state="round one",
        )
    answer = ctx.input_responses["name"]
    assert isinstance(answer, mcp_types.ElicitResult)
    return f"{ctx.request_state}: {(answer.content or {}).get('name')}"


@mcp.tool()
def sync_ask() -> mcp_types.InputRequiredResult:
    """Ask in a second round trip, out of a sync tool."""
    return mcp_types.InputRequiredResult(
        input_requests={"roots": mcp_types.ListRootsRequest()}, request_state="state"
    )


@mcp.tool()
async def grow(name: str, ctx: Context[Any, Any]) -> str:
    """Add a tool while running, and tell."""

    def grown() -> str:
        return name

    mcp.add_tool(grown, name=name)
    await ctx.request_context.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    await ctx.notify_resource_updated("mem://note")
    return "grown"


@mcp.tool()
def block(ms: int) -> str:
    """Block the thread."""
    time.sleep(ms / 1000)
    return "done"


@mcp.tool()
async def slow(ms: int) -> str:
    """Sleep on the loop."""
    await asyncio.sleep(ms / 1000)
    return "done"


@mcp.resource("mem://note", title="A note", mime_type="text/markdown")
def note() -> str:
    """A note."""
    return "# note"


@mcp.resource("mem://bytes")
def raw() -> bytes:
    """Bytes."""
    return b"\x00\xff"


@mcp.resource("mem://users/{name}")
def user(name: str) -> str:
    """A user."""
    if name == "nobody":
        raise ValueError("secret")
    return f"user {name}"


@mcp.prompt(title="Ask")
def ask(topic: str, style: str = "short") -> str:
    """Ask about a topic."""
    return f"Tell me about {topic}, {style}"


@mcp.completion()
async def complete(
    ref: Any, argument: mcp_types.CompletionArgument, context: Any
) -> mcp_types.Completion | None:
    values = [value for value in ("perl", "python") if value.startswith(argument.value)]
    return mcp_types.Completion(values=values, total=len(values), has_more=False)


if __name__ == "__main__":
    mcp.run()
