"""A FastMCP whose middleware does everything that middleware can do with a call, run both by its own SDK and
by us. What it does with a call of `act` or `aact` is the argument `do`.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import DisabledError, NotFoundError, ToolError, ValidationError
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.transforms import Namespace
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, ImageContent, TextContent
from pydantic import BaseModel

mcp = FastMCP("watching", version="1")

Message = MiddlewareContext[Any]
Next = CallNext[Any, Any]
seen: list[str] = []
ran: list[str] = []
said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")


class Record(Middleware):
    """Writes down what comes by, hook by hook."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def _noted(self, hook: str, context: Message, call_next: Next) -> Any:
        seen.append(f"{self.name} {hook} {context.method} {context.type} {context.source}")
        try:
            return await call_next(context)
        except BaseException as error:
            seen.append(f"{self.name} {hook} {context.method} raised {type(error).__name__}")
            raise
        finally:
            if context.method == "tools/call" and "slowly" in str(context.message) and hook == "message":
                seen.append(f"{self.name} ended")

    async def on_message(self, context: Message, call_next: Next) -> Any:
        return await self._noted("message", context, call_next)

    async def on_request(self, context: Message, call_next: Next) -> Any:
        return await self._noted("request", context, call_next)

    async def on_notification(self, context: Message, call_next: Next) -> Any:
        return await self._noted("notification", context, call_next)

    async def on_call_tool(self, context: Message, call_next: Next) -> Any:
        return await self._noted("call_tool", context, call_next)

    async def on_list_tools(self, context: Message, call_next: Next) -> Any:
        return await self._noted("list_tools", context, call_next)

    async def on_read_resource(self, context: Message, call_next: Next) -> Any:
        return await self._noted("read_resource", context, call_next)


class Hide(Middleware):
    """Hides a tool from the session of a client that says that its roots have changed."""

    async def on_notification(self, context: Message, call_next: Next) -> Any:
        if context.method == "notifications/roots/list_changed":
            assert context.fastmcp_context is not None
            await context.fastmcp_context.disable_components(names={"add"}, components={"tool"})
        return await call_next(context)


class Raw(Middleware):
    """Has a main entry of its own."""

    async def __call__(self, context: Message, call_next: Next) -> Any:
        seen.append(f"raw {context.method}")
        return await call_next(context)


class Lists(Middleware):
    """Looks at lists only: a call passes through it."""

    async def on_list_tools(self, context: Message, call_next: Next) -> Any:
        seen.append("lists")
        return await call_next(context)


async def function(context: Message, call_next: Next) -> Any:
    """No `Middleware` at all."""
    seen.append(f"function {context.method}")
    return await call_next(context)


class Inner(BaseModel):
    n: int


def failure(kind: str) -> Exception:
    try:
        Inner.model_validate({"n": kind})
    except ValueError as error:
        pydantic = error
    return {
        "tool": ToolError("refused"),
        "mcp": MCPError(code=1234, message="own code", data={"why": "so"}),
        "capability": MCPError(code=-32021, message="sampling", data={"requiredCapabilities": {}}),
        "value": ValueError("told"),
        "missing": NotFoundError("not here"),
        "disabled": DisabledError("not now"),
        "invalid": ValidationError("not so"),
        "pydantic": pydantic,
        "stop": StopIteration("stopped"),
    }[kind]


Deed = Callable[[Message, Next, str], Awaitable[Any]]
deeds: dict[str, Deed] = {}


def deed(function: Deed) -> Deed:
    deeds[function.__name__] = function
    return function


def arguments(context: Message, **changed: Any) -> Message:
    given = {**context.message.arguments, **changed}
    return context.copy(message=CallToolRequestParams(name=context.message.name, arguments=given))


# What is done with the arguments.


@deed
async def mutate(context: Message, call_next: Next, value: str) -> Any:
    context.message.arguments["value"] = f"mutated {value}"
    return await call_next(context)


@deed
async def replace(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(arguments(context, value=f"replaced {value}"))


@deed
async def spoil(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(arguments(context, value=5))


@deed
async def strip(context: Message, call_next: Next, value: str) -> Any:
    context.message.arguments = None
    return await call_next(context)


@deed
async def reroute(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(context.copy(message=CallToolRequestParams(name=value, arguments={"a": 1})))


@deed
async def other_method(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(context.copy(method="tools/list"))


@deed
async def other_type(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(context.copy(type="notification"))


# With the result.


@deed
async def text(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.content = [TextContent(type="text", text=f"instead of {result.content[0].text}")]
    return result


@deed
async def image(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.content.append(ImageContent(type="image", data="aGk=", mime_type="image/png"))
    return result


@deed
async def structured(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.structured_content["more"] = [1, None, {"a": "b"}]
    return result


@deed
async def no_structure(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.structured_content = None
    result.meta = None
    return result


@deed
async def bad_content(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.content = "text"
    return result


@deed
async def list_structure(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.structured_content = [1, 2]
    return result


@deed
async def meta(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.meta = {**(result.meta or {}), "watched": {"deep": True}}
    return result


@deed
async def as_error(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    result.is_error = True
    return result


@deed
async def copied(context: Message, call_next: Next, value: str) -> Any:
    return (await call_next(context)).model_copy(update={"meta": {"copied": 1}})


@deed
async def looked_at(context: Message, call_next: Next, value: str) -> Any:
    result = await call_next(context)
    return ToolResult(
        content=str([type(result).__name__, sorted(result.model_fields_set), result.model_dump(mode="json")])
    )


# With failures.


@deed
async def refuse(context: Message, call_next: Next, value: str) -> Any:
    raise failure(value)


@deed
async def refuse_after(context: Message, call_next: Next, value: str) -> Any:
    await call_next(context)
    raise failure(value)


@deed
async def let_fail(context: Message, call_next: Next, value: str) -> Any:
    return await call_next(context)


@deed
async def explain(context: Message, call_next: Next, value: str) -> Any:
    try:
        return await call_next(context)
    except Exception as error:
        cause = error.__cause__
        return ToolResult(content=f"{type(error).__name__}: {error} from {type(cause).__name__}: {cause}")


@deed
async def chained(context: Message, call_next: Next, value: str) -> Any:
    try:
        return await call_next(context)
    except Exception as error:
        raise MCPError(code=4321, message=f"chained: {error}") from error


# Without the tool, or with more of it.


@deed
async def short(context: Message, call_next: Next, value: str) -> Any:
    kinds: dict[str, Any] = {
        "result": ToolResult(content="short", structured_content={"a": 1}, meta={"m": 2}),
        "error": ToolResult(content="short", is_error=True),
        "protocol": CallToolResult(content=[TextContent(type="text", text="short")]),
        "dict": {"content": []},
        "none": None,
        "text": "short",
        "exception": ValueError("given, not raised"),
        "input": InputRequiredToolResult(
            mcp_types.InputRequiredResult(
                input_requests={"roots": mcp_types.ListRootsRequest()}, request_state="state"
            )
        ),
        "wrapped": ToolResult.from_mcp_result(
            CallToolResult(content=[TextContent(type="text", text="raw")], structured_content={"r": 1})
        ),
    }
    return kinds[value]


@deed
async def twice(context: Message, call_next: Next, value: str) -> Any:
    await call_next(context)
    return await call_next(context)


@deed
async def in_a_task(context: Message, call_next: Next, value: str) -> Any:
    return await asyncio.get_running_loop().create_task(call_next(context))  # type: ignore[arg-type]


@deed
async def at_once(context: Message, call_next: Next, value: str) -> Any:
    results = await asyncio.gather(*(call_next(arguments(context, value=str(n))) for n in range(3)))
    return ToolResult(content=str([result.content[0].text for result in results]))


@deed
async def late(context: Message, call_next: Next, value: str) -> Any:
    await asyncio.sleep(0.01)
    result = await call_next(context)
    await asyncio.sleep(0.01)
    return result


@deed
async def in_time(context: Message, call_next: Next, value: str) -> Any:
    try:
        return await asyncio.wait_for(call_next(context), 0.05)
    except asyncio.TimeoutError:
        return ToolResult(content="too late")


@deed
async def in_time_anyio(context: Message, call_next: Next, value: str) -> Any:
    began = time.monotonic()
    with anyio.move_on_after(0.05):
        return await call_next(context)
    return ToolResult(content=f"too late, waited: {time.monotonic() - began > 0.15}")


@deed
async def other_tool(context: Message, call_next: Next, value: str) -> Any:
    server = get_context().fastmcp
    first = await server.call_tool("add", {"a": 1, "b": 2})
    second = await server.call_tool("add", {"a": 3, "b": 4}, run_middleware=False)
    result = await call_next(context)
    result.meta = {"others": [first.structured_content, second.structured_content]}
    return result


# With the context.


def about(context: Context, message: Message | None = None) -> dict[str, Any]:
    request = context.request_context
    assert request is not None
    session = request.session
    info, capabilities = session.client_params, session.client_capabilities
    found = {
        "request_id": context.request_id,
        "origin": context.origin_request_id,
        "version": request.protocol_version,
        "client": None if info is None else info.client_info.name,
        "client_id": context.client_id,
        "capabilities": None if capabilities is None else capabilities.model_dump(exclude_none=True),
        "transport": context.transport,
        "session": context.session_id == get_context().session_id,
        "current": get_context() is context,
        "server": context.fastmcp.name,
        "lifespan": context.lifespan_context,
        "meta": sorted(request.meta or {}),
        "sdk": request._srctx.method,
        "background": context.is_background_task,
        "inputs": [context.input_responses, context.request_state],
        "extension": context.client_supports_extension("none"),
    }
    if message is not None:
        found["message"] = [
            type(message.message).__name__,
            message.message.model_dump(mode="json"),
            sorted(message.message.model_fields_set),
            message.method,
            message.type,
            message.source,
            str(message.timestamp.tzinfo),
        ]
    return found


@deed
async def describe(context: Message, call_next: Next, value: str) -> Any:
    assert context.fastmcp_context is not None
    before = about(context.fastmcp_context, context)
    result = await call_next(context)
    after = about(context.fastmcp_context)
    result.meta = {"before": before, "same": {key: before[key] for key in after} == after}
    return result


@deed
async def keep(context: Message, call_next: Next, value: str) -> Any:
    assert context.fastmcp_context is not None
    await context.fastmcp_context.set_state("kept", value)
    await context.fastmcp_context.set_state("object", Inner(n=5), serializable=False)
    context.fastmcp_context.mark = value  # type: ignore[attr-defined]  # the tool's context is another
    result = await call_next(context)
    result.meta = {"after": [await context.fastmcp_context.get_state(key) for key in ("kept", "by tool")]}
    return result


@deed
async def tell(context: Message, call_next: Next, value: str) -> Any:
    assert context.fastmcp_context is not None
    await context.fastmcp_context.info("before", extra={"n": 1})
    await context.fastmcp_context.report_progress(1, 3, "before")
    result = await call_next(context)
    await context.fastmcp_context.report_progress(3, 3, "after")
    await context.fastmcp_context.warning("after", logger_name="watching")
    return result


@deed
async def ask(context: Message, call_next: Next, value: str) -> Any:
    assert context.fastmcp_context is not None
    answer = await context.fastmcp_context.elicit("Go on?", str)
    result = await call_next(context)
    result.meta = {"answer": getattr(answer, "data", None)}
    return result


@deed
async def tags(context: Message, call_next: Next, value: str) -> Any:
    assert context.fastmcp_context is not None
    tool = await context.fastmcp_context.fastmcp.get_tool(context.message.name)
    assert tool is not None
    result = await call_next(context)
    result.meta = {"tags": sorted(tool.tags), "more": tool.meta is not None}
    return result


@deed
async def variable(context: Message, call_next: Next, value: str) -> Any:
    said.set(value)
    result = await call_next(context)
    result.meta = {"after": said.get()}
    return result


class Do(Middleware):
    """Does what a call of `act` or `aact` asks for."""

    async def on_call_tool(self, context: Message, call_next: Next) -> Any:
        given = context.message.arguments or {}
        if context.message.name not in ("act", "aact") or given.get("do") not in deeds:
            return await call_next(context)
        return await deeds[given["do"]](context, call_next, given["value"])


for part in (Record("outer"), Hide(), Raw(), Lists(), function, Do(), Lists(), Record("inner")):
    mcp.add_middleware(part)  # type: ignore[arg-type]  # one is a function


def acted(do: str, value: str) -> str:
    ran.append(f"{do} {value}")
    before = said.get()
    said.set("by tool")
    if value.startswith("fail "):
        raise failure(value.removeprefix("fail "))
    return f"{do}: {value}, {before} said"


@mcp.tool(tags={"even", "odd"})
def act(do: str, value: str = "") -> str:
    """Act on a thread."""
    if value == "slowly":
        seen.append("began")
        time.sleep(0.2)
    return acted(do, value)


@mcp.tool
async def aact(do: str, value: str = "") -> str:
    """Act on the loop."""
    if value == "slowly":
        seen.append("began")
        await asyncio.sleep(0.2)
    return acted(do, value)


@mcp.tool
async def kept(ctx: Context) -> list[Any]:
    """What is kept of the session, and in the request."""
    await ctx.set_state("by tool", "set")
    found = await ctx.get_state("object")
    return [await ctx.get_state("kept"), found and found.n, hasattr(ctx, "mark")]


@mcp.tool
def where() -> list[bool]:
    """Where a sync tool runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return [False]
    return [True]


@mcp.tool
def context(ctx: Context) -> dict[str, Any]:
    """What the request says of itself, to a sync tool."""
    return about(ctx)


@mcp.tool
def add(a: int, b: int = 0) -> int:
    """Add."""
    return a + b


@mcp.tool
def ask_later() -> mcp_types.InputRequiredResult:
    """Ask in a second round trip."""
    return mcp_types.InputRequiredResult(
        input_requests={"roots": mcp_types.ListRootsRequest()}, request_state="state"
    )


@mcp.tool
def what_was_seen() -> list[str]:
    """What the middleware has seen since it was last asked."""
    # Tools on threads may overtake each other.
    found = [*seen, *sorted(ran)]
    seen.clear()
    ran.clear()
    return found


@mcp.tool(version="1.0")
def versioned() -> str:
    """The first version."""
    return "one"


@mcp.tool(name="versioned", version="2.0")
def versioned_again() -> str:
    """The second version."""
    return "two"


# What changes while the server runs.


@mcp.tool
def change(what: str) -> str:
    """Change the app."""

    def grown() -> str:
        return "grown"

    def regrown() -> str:
        return "regrown"

    changes: dict[str, Callable[[], Any]] = {
        "grow": lambda: mcp.tool(grown, name="grown"),
        "shrink": lambda: mcp.local_provider.remove_tool("grown"),
        "regrow": lambda: mcp.tool(regrown, name="grown"),
        "hide": lambda: mcp.disable(names={"add"}),
        "show": lambda: mcp.enable(names={"add"}),
        "hide tagged": lambda: mcp.disable(tags={"odd"}, components={"tool"}),
        "show all": lambda: mcp.enable(tags={"odd"}),
        "watch": lambda: mcp.middleware.insert(0, Record("late")),
        "unwatch": lambda: mcp.middleware.pop(0),
        "mount": lambda: mcp.mount(child),
        "name": lambda: mcp.add_transform(Namespace("n")),
    }
    changes[what]()
    return what


child: FastMCP[Any] = FastMCP("child")


@child.tool
def childs() -> str:
    """A tool of a mounted server."""
    return "the child's"


@mcp.tool
async def session(ctx: Context, hide: bool) -> str:
    """Hide a tool from this session, or show it again."""
    if hide:
        await ctx.disable_components(names={"add"}, components={"tool"})
    else:
        await ctx.reset_visibility()
    return "done"


@mcp.resource("mem://note")
def note() -> str:
    """A note."""
    return "note"


if __name__ == "__main__":
    mcp.run(show_banner=False)
