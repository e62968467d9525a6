"""Who answers `ping`: the engine, unless the app has middleware that would see it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.timing import TimingMiddleware
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from ferromcp.adapters import adapt, choose


class Calls(Middleware):
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


async def below(context: Any, call_next: Any) -> Any:
    return await call_next(context)


def fastmcp(*middleware: Middleware) -> FastMCP[Any]:
    return FastMCP("app", middleware=middleware)


def watched_below(app: Any) -> Any:
    (app._mcp_server if isinstance(app, FastMCP) else app).middleware.append(below)
    return app


def is_asked(app: Any, road: str) -> bool:
    config = json.loads(adapt(app, choose(app, road)).config())
    return "ping" in config["delegate"]


@pytest.mark.parametrize("road", ["handler", "dispatcher", "streams"])
def test_only_where_somebody_would_see_it_is_the_app_asked(road: str) -> None:
    for unwatched in (Server("low"), MCPServer("app"), fastmcp(), fastmcp(Calls())):
        assert not is_asked(unwatched, road)
    for watched in (
        fastmcp(Calls(), TimingMiddleware()),
        watched_below(fastmcp()),
        watched_below(Server("low")),
    ):
        assert is_asked(watched, road)


def test_the_fast_roads_of_fastmcp_ask_as_the_others_do() -> None:
    assert not is_asked(fastmcp(), "direct")
    assert not is_asked(fastmcp(Calls()), "middleware")
    assert is_asked(fastmcp(TimingMiddleware()), "middleware")
