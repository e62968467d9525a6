"""The same of an MCPServer."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

mcp = MCPServer("facts")


@mcp.tool()
def headers(ctx: Context[Any]) -> dict[str, str]:
    seen: Any = ctx.request_context.request
    return {name: value for name, value in seen.headers.items() if name.startswith("x-")}


@mcp.tool()
async def request(ctx: Context[Any]) -> list[str | None]:
    seen: Any = ctx.request_context.request
    return [seen.method, seen.url.path, seen.headers.get("x-own"), seen.headers.get("authorization")]


@mcp.tool()
def session(ctx: Context[Any]) -> list[object]:
    seen: Any = ctx.request_context.request
    connection = ctx.request_context.session._connection
    return [connection.session_id == seen.headers.get("mcp-session-id")]


@mcp.tool()
def token() -> str | None:
    found = get_access_token()
    return None if found is None else found.client_id


@mcp.tool()
def place(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    return region
