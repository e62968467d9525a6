"""A FastMCP whose tools tell what they see of their HTTP request. Nothing here knows of us."""

from __future__ import annotations

from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_access_token, get_http_headers, get_http_request
from pydantic import Field

mcp = FastMCP("facts")


@mcp.tool
def headers() -> dict[str, str]:
    return {
        name: value for name, value in get_http_headers(include={"authorization"}).items() if "x-" in name
    }


@mcp.tool
async def request() -> list[str | None]:
    seen = get_http_request()
    return [seen.method, seen.url.path, seen.headers.get("x-own"), seen.headers.get("authorization")]


@mcp.tool
def session(ctx: Context) -> list[object]:
    named = get_http_request().headers.get("mcp-session-id")
    return [ctx.transport, named is None or ctx.session_id == named]


@mcp.tool
async def remember(value: str, ctx: Context) -> None:
    await ctx.set_state("value", value)


@mcp.tool
async def recall(ctx: Context) -> str | None:
    value: str | None = await ctx.get_state("value")
    return value


@mcp.tool
def token() -> str | None:
    found = get_access_token()
    return None if found is None else found.client_id


@mcp.tool
def place(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    return region
