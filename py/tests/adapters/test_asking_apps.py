"""Apps of other SDKs that ask modern clients in the middle of a call: `ferromcp run --ask held`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from asked import ALL, ERAS, Client, accept, everything, say
from ferromcp import ConfigurationError, Server, run
from support import Peer

MCPSERVER = """
from pydantic import BaseModel
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import SamplingMessage, TextContent

mcp = MCPServer("asks")

class Who(BaseModel):
    name: str

@mcp.tool()
async def ask(ctx: Context) -> str:
    who = await ctx.elicit("Who?", Who)
    return f"{who.action} {who.data if who.action == 'accept' else None}"

@mcp.tool()
async def poem(ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="A poem"))
    made = await ctx.session.create_message([message], max_tokens=5, related_request_id=ctx.request_id)
    return made.content.text
"""

FASTMCP = """
from fastmcp import Context, FastMCP

mcp = FastMCP("asks")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}

@mcp.tool
async def ask(ctx: Context) -> str:
    who = await ctx.session.elicit("Who?", FORM, related_request_id=ctx.request_id)
    return f"{who.action} {who.content}"
"""
MIDDLEWARE = """
from fastmcp.server.middleware import Middleware
mcp.add_middleware(Middleware())
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Starts an app with these options of the command, and gives its client."""
    path = tmp_path / "app.py"
    with ExitStack() as stack:

        def begin(*options: str, app: str = MCPSERVER) -> Peer:
            path.write_text(app)
            return stack.enter_context(Peer("-m", "ferromcp", "run", str(path), *options))

        yield begin


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("road", ["handler", "dispatcher"])
def test_an_app_asks_in_both_eras(start, era: str, road: str) -> None:
    client = Client(start("--ask", "held", "--road", road), era)
    assert client.call("ask", accept(name="Ada")).text == "accept name='Ada'"
    assert client.call("ask", say("decline")).text == "decline None"
    told = client.call("poem", everything)
    assert told.text == "a poem"
    (request,) = told.asked
    assert request["params"]["maxTokens"] == 5
    assert client.peer.finish() == 0


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("road", "app"),
    [
        ("direct", FASTMCP),
        ("middleware", FASTMCP + MIDDLEWARE),
        ("handler", FASTMCP),
        ("dispatcher", FASTMCP),
    ],
)
def test_a_session_of_fastmcp_asks_in_both_eras(start, era: str, road: str, app: str) -> None:
    client = Client(start("--ask", "held", "--road", road, app=app), era)
    assert client.call("ask", accept(name="Ada")).text == "accept {'name': 'Ada'}"


def test_without_being_told_to_it_asks_legacy_clients_alone(start) -> None:
    modern = Client(start(), "modern").call("ask", accept(name="Ada"))
    assert modern.asked == []
    assert "error" in modern.answer or modern.answer["result"]["isError"]
    assert Client(start(), "legacy").call("ask", accept(name="Ada")).text == "accept name='Ada'"


def test_a_capability_that_is_not_declared(start) -> None:
    client = Client(start("--ask", "held"), "modern", {**ALL, "elicitation": {"url": {}}})
    error = client.call("ask", everything).answer["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_where_it_is_not_to_be_had(start) -> None:
    refused = start("--ask", "held", "--road", "streams")
    assert refused.ended() == 2
    assert b"ask='held' is not to be had on this road" in refused.stderr
    with pytest.raises(ConfigurationError, match="reentry"):
        run(Server("s"), ask="held")
    with pytest.raises(ConfigurationError, match="ask 'replay'"):
        run(sys, ask="replay")
