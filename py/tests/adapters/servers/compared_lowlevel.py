"""A low-level Server with handlers and middleware of its own, run both by its own SDK and by us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.server.stdio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
watched: list[str] = []


@asynccontextmanager
async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, int]]:
    yield {"entered": 1}


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    cursor = params.cursor if params else None
    if cursor is None:
        return types.ListToolsResult(
            tools=[types.Tool(name="echo", input_schema=schema, title="Echo")], next_cursor="more"
        )
    if cursor != "more":
        raise MCPError(code=types.INVALID_PARAMS, message="bad cursor")
    return types.ListToolsResult(tools=[types.Tool(name="watched", input_schema=schema)], ttl_ms=5)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=str(arguments.get("text")))],
                structured_content={"state": ctx.lifespan_context, "id": ctx.request_id},
            )
        case "dict":
            return {"content": [{"type": "text", "text": "a dict"}], "extra": 1}
        case "bad":
            return {"content": "not a list"}
        case "none":
            return None
        case "error":
            return types.ErrorData(code=1234, message="as data", data=[1])
        case "watched":
            return types.CallToolResult(content=[], structured_content={"watched": watched})
        case "crash":
            raise RuntimeError("told to legacy peers")
        case _:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")


async def watch(ctx: Context, call_next: CallNext) -> HandlerResult:
    watched.append(ctx.method)
    if ctx.method == "initialize" and "refuse" in str(ctx.params):
        raise MCPError(code=-32066, message="refused")
    return await call_next(ctx)


async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    watched.append(params.level)
    return types.EmptyResult()


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    watched.append(params.uri)
    await ctx.session.send_resource_updated(params.uri)
    return types.EmptyResult()


async def list_resources(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


class CustomParams(types.RequestParams):
    value: int


async def custom(ctx: Context, params: CustomParams) -> dict[str, Any]:
    return {"doubled": params.value * 2}


async def roots_changed(ctx: Context, params: types.NotificationParams | None) -> None:
    watched.append("roots")


server: Server[Any] = Server(
    "low",
    version="0.1",
    title="Low",
    description="A low-level server",
    website_url="https://example.org",
    icons=[types.Icon(src="https://example.org/i.png")],
    lifespan=lifespan,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_set_logging_level=set_level,
    on_subscribe_resource=subscribe,
    on_roots_list_changed=roots_changed,
)
server.add_request_handler("example/double", CustomParams, custom)
server.middleware.append(watch)


async def main() -> None:
    async with mcp.server.stdio.stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
