"""A plain FastMCP with one of everything, run both by its own SDK and by us. Nothing here knows of us."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.dependencies import Depends
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Image
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field

entered: list[str] = []


@asynccontextmanager
async def lifespan(server: FastMCP[Any]) -> AsyncIterator[dict[str, str]]:
    entered.append(server.name)
    yield {"greeting": "hello"}


mcp = FastMCP("compared", version="1.2.3", instructions="Compare me.", lifespan=lifespan)
seen: contextvars.ContextVar[int] = contextvars.ContextVar("seen", default=0)


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Found:
    name: str
    score: float


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@mcp.tool
async def aadd(a: int, b: Annotated[int, Field(ge=0)]) -> int:
    """Add two integers in a coroutine."""
    return a + b


@mcp.tool
def text(value: str) -> str:
    """Give the text back."""
    return value


@mcp.tool
def number(value: float) -> float:
    """Give the number back."""
    return value


@mcp.tool
def infinite() -> float:
    """Return a number that JSON lacks."""
    return float("inf")


@mcp.tool
def nothing() -> None:
    """Return nothing."""


@mcp.tool
def anything(value: Any):  # type: ignore[no-untyped-def]  # untyped on purpose
    """Give any JSON value back, unstructured where it has no type."""
    return value


@mcp.tool
def move(point: Point, by: list[int]) -> Point:
    """Move a point."""
    return Point(x=point.x + by[0], y=point.y + by[1])


@mcp.tool
async def search(query: str, limit: int = 2, *, order: Literal["up", "down"] = "up") -> list[Found]:
    """Find names."""
    found = [Found(f"{query}{i}", i / 2) for i in range(limit)]
    return found if order == "up" else found[::-1]


@mcp.tool
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


@mcp.tool
def image() -> Image:
    """Return an image."""
    return Image(data=b"hi", format="png")


@mcp.tool(output_schema=None)
def loose() -> dict[str, Any]:
    """Return a dict without a schema."""
    return {"a": None, "b": [1, 2.5], "c": "ä"}


@mcp.tool
def whole() -> mcp_types.CallToolResult:
    """Return a result object with metadata."""
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text="whole")], _meta={"own": {"a": [1, None]}}
    )


@mcp.tool
def own_result(error: bool) -> ToolResult:
    """Return fastmcp's result object."""
    return ToolResult(content="mine", structured_content={"k": [1, None]}, meta={"m": 1}, is_error=error)


@mcp.tool
def counted(n: int) -> Iterator[int]:
    """Yield numbers."""
    yield from range(n)


@mcp.tool
async def acounted(n: int) -> AsyncIterator[int]:
    """Yield numbers from a coroutine."""
    for i in range(n):
        yield i


def awaited(n: int) -> Any:
    """A sync function that returns a coroutine."""

    async def later() -> int:
        await asyncio.sleep(0)
        return n

    return later()


mcp.tool(awaited)


@mcp.tool
def fail(kind: str) -> str:
    """Raise."""
    if kind == "tool":
        raise ToolError("told so")
    if kind == "protocol":
        raise MCPError(code=1234, message="own code", data={"why": kind})
    if kind == "capability":
        raise MCPError(code=-32021, message="needs sampling", data={"requiredCapabilities": {"sampling": {}}})
    if kind == "stop":
        raise StopIteration
    if kind == "pydantic":
        Point.model_validate({"x": "no"})
    raise ValueError("told")


@mcp.tool
async def afail(kind: str) -> str:
    """Raise in a coroutine."""
    if kind == "stop":
        raise ValueError("told")
    return fail(kind)


@mcp.tool(timeout=0.05)
async def hasty(ms: int) -> str:
    """Take longer than allowed."""
    await asyncio.sleep(ms / 1000)
    return "done"


@mcp.tool(run_in_thread=False)
def where_loop() -> bool:
    """Run on the loop's thread."""
    return asyncio.get_running_loop() is not None


@mcp.tool
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


@mcp.tool
def back() -> str:
    """Reach the loop from a sync tool by anyio's way."""
    import anyio.from_thread

    async def asked() -> str:
        await asyncio.sleep(0)
        return "from the loop"

    anyio.from_thread.check_cancelled()
    return anyio.from_thread.run(asked)


def _about(ctx: Context) -> dict[str, Any]:
    session = ctx.session
    info, capabilities = session.client_params, session.client_capabilities
    request = ctx.request_context
    assert request is not None
    meta = {key: value for key, value in (request.meta or {}).items() if not key.startswith("io.")}
    return {
        "request_id": ctx.request_id,
        "version": request.protocol_version,
        "client": None if info is None else info.client_info.name,
        "capabilities": None if capabilities is None else capabilities.model_dump(exclude_none=True),
        "state": ctx.lifespan_context,
        "entered": entered,
        "transport": ctx.transport,
        "can_ask": session.can_send_request,
        "same_session": ctx.session_id == ctx.session_id,
        "server": ctx.fastmcp.name,
        "meta": meta,
        "method": request._srctx.method,
    }


@mcp.tool
async def context(ctx: Context) -> dict[str, Any]:
    """What the request says of itself."""
    return _about(ctx)


@mcp.tool
def context_found() -> dict[str, Any]:
    """The same, found by a sync tool that did not ask for it."""
    return _about(get_context())


@mcp.tool
def context_sync(a: int, ctx: Context) -> dict[str, Any]:
    """The same, given to a sync tool."""
    return {"a": a, **_about(ctx)}


def one() -> int:
    """A dependency."""
    return 1


@mcp.tool
def depends(a: int, b: int = Depends(one)) -> int:
    """Add a dependency's value."""
    return a + b


@mcp.tool
async def report(n: int, ctx: Context) -> str:
    """Report progress and log."""
    for i in range(n):
        await ctx.report_progress(i + 1, n, f"step {i + 1}")
        await ctx.info(f"step {i}", extra={"step": i})
    await ctx.debug("done", logger_name="fixture")
    return "reported"


@mcp.tool
async def read(uri: str, ctx: Context) -> str:
    """Read a resource of this very server."""
    return "".join(str(item.content) for item in (await ctx.read_resource(uri)).contents)


@mcp.tool
async def nested(ctx: Context) -> Any:
    """Call another tool of this server."""
    return (await ctx.fastmcp.call_tool("add", {"a": 1, "b": 2})).structured_content


@mcp.tool
async def elicit(ctx: Context) -> str:
    """Ask the user."""
    result = await ctx.elicit("Which color?", str)
    return f"{result.action}: {getattr(result, 'data', '')}"


@mcp.tool
async def sample(ctx: Context) -> str:
    """Ask the client's model."""
    message = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(type="text", text="hi"))
    result = await ctx.session.create_message([message], max_tokens=10)
    return result.content.text if isinstance(result.content, mcp_types.TextContent) else "?"


@mcp.tool
async def roots(ctx: Context) -> list[str]:
    """Ask the client for its roots."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


@mcp.tool
async def ask_later(ctx: Context) -> str | mcp_types.InputRequiredResult:
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


@mcp.tool
def sync_ask() -> mcp_types.InputRequiredResult:
    """Ask in a second round trip, out of a sync tool."""
    return mcp_types.InputRequiredResult(
        input_requests={"roots": mcp_types.ListRootsRequest()}, request_state="state"
    )


@mcp.tool
async def grow(name: str, ctx: Context) -> str:
    """Add a tool while running, and tell."""

    def grown() -> str:
        return name

    mcp.tool(grown, name=name)
    await ctx.send_notification(mcp_types.ToolListChangedNotification())
    return "grown"


@mcp.tool
async def hide(name: str, ctx: Context) -> str:
    """Hide a tool from this session."""
    await ctx.disable_components(names={name}, components={"tool"})
    return "hidden"


@mcp.tool
def block(ms: int) -> str:
    """Block the thread."""
    time.sleep(ms / 1000)
    return "done"


@mcp.tool
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
        raise ValueError("told")
    return f"user {name}"


@mcp.prompt(title="Ask")
def ask(topic: str, style: str = "short") -> str:
    """Ask about a topic."""
    return f"Tell me about {topic}, {style}"


@mcp.completion
def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    return [value for value in ("perl", "python") if value.startswith(argument.value)]


if __name__ == "__main__":
    mcp.run(show_banner=False)
