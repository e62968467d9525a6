"""Methods, notifications and settings of extensions (2026-07-28 `basic/versioning`, "Extension Negotiation"),
and `_meta` both ways.
"""

from __future__ import annotations

from typing import Any

import pytest

from asked import ERAS, Client
from conftest import Serve
from ferromcp import AppView, ConfigurationError, SerializationError, Server
from support import MODERN, Message

EACH_ERA = pytest.mark.parametrize("era", ERAS)
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])
DECLARED: dict[str, Any] = {"extensions": {"vendor/search": {"level": 2}}}

SOURCE = """
    from dataclasses import dataclass
    from typing import Annotated
    from ferromcp import PromptMessage, PromptResult, ResourceResult, TextResource, ToolResult

    @dataclass
    class Filter:
        lang: str
    @dataclass
    class Found:
        ids: list[int]

    server.extension("vendor/search", {"fast": True})
    server.extension("vendor/other")

    @server.method("vendor/sync")
    def sync_search(query: str, ctx: Context, most: float = 3, by: Filter | None = None) -> Found:
        print("SEARCH", repr((query, most, by)))
        return Found([1, 2])

    @server.method("vendor/async")
    async def async_search(query: str, ctx: Context, most: float = 3, by: Filter | None = None) -> Found:
        print("SEARCH", repr((query, most, by)))
        return Found([1, 2])

    @server.method("vendor/about")
    def about(ctx: Context) -> dict[str, object]:
        ctx.notify("vendor/note", {"n": 1})
        return {"settings": ctx.client_extension("vendor/search"), "method": ctx.method, "meta": ctx.meta}

    @server.method("vendor/nothing")
    def nothing() -> None: ...

    @server.method("vendor/list")
    def a_list() -> list[int]: return [1]

    @server.method("vendor/broken")
    def broken() -> None: raise KeyError("k")

    @server.on_notification("vendor/sync_told")
    def sync_told(params): print("TOLD", params)

    @server.on_notification("vendor/async_told")
    async def async_told(params): print("TOLD", params)

    @server.tool
    def trace(ctx: Context) -> str: return repr(tuple(ctx.trace_context))

    @server.tool
    def tool_meta(ctx: Context) -> ToolResult:
        return ToolResult("text", meta={"vendor/seen": ctx.meta.get("vendor/x")})

    @server.prompt
    def prompt_meta(ctx: Context) -> PromptResult:
        return PromptResult(PromptMessage("hi"), "described", meta={"vendor/seen": ctx.meta.get("vendor/x")})

    @server.resource("mem://meta")
    def resource_meta(ctx: Context) -> ResourceResult:
        seen = ctx.meta.get("vendor/x")
        return ResourceResult(TextResource("text", meta={"vendor/seen": seen}), meta={"vendor/whole": seen})
"""


def answer(client: Client, method: str, /, **params: Any) -> Message:
    return client.peer.answer(client.begin(method, **params))


@EACH_ERA
@KINDS
def test_a_method_gets_its_parameters(serve: Serve, era: str, kind: str) -> None:
    client = Client(serve(SOURCE), era)
    result = answer(client, f"vendor/{kind}", query="q", most=4, by={"lang": "en"})["result"]
    assert result["ids"] == [1, 2]
    # As the annotations say: a float, and one of the class.
    client.peer.hears(b"SEARCH ('q', 4.0, Filter(lang='en'))\n")
    answer(client, f"vendor/{kind}", query="q")
    client.peer.hears(b"SEARCH ('q', 3, None)\n")
    if era == "modern":
        assert result["resultType"] == "complete"
    assert client.peer.finish() == 0


@EACH_ERA
@KINDS
@pytest.mark.parametrize("params", [{}, {"query": 7}, {"query": "q", "more": 1}])
def test_parameters_that_do_not_fit(serve: Serve, era: str, kind: str, params: dict[str, Any]) -> None:
    error = answer(Client(serve(SOURCE), era), f"vendor/{kind}", **params)["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("Invalid params: ")


@EACH_ERA
def test_what_a_method_gives(serve: Serve, era: str) -> None:
    client = Client(serve(SOURCE), era)
    assert "result" in answer(client, "vendor/nothing")
    assert answer(client, "vendor/list")["error"]["code"] == -32603
    assert answer(client, "vendor/broken")["error"]["code"] == -32603
    # A method that nobody serves.
    assert answer(client, "vendor/unknown")["error"]["code"] == -32601


@EACH_ERA
def test_what_a_method_knows_of_its_client(serve: Serve, era: str) -> None:
    for capabilities, settings in ((DECLARED, {"level": 2}), ({}, None)):
        client = Client(serve(SOURCE), era, capabilities)
        result = answer(client, "vendor/about")["result"]
        assert (result["settings"], result["method"]) == (settings, "vendor/about")
        (note,) = client.peer.unasked()
        assert (note["method"], note["params"]["n"]) == ("vendor/note", 1)


def test_what_is_declared(serve: Serve) -> None:
    peer = serve(SOURCE)
    extensions = peer.result("server/discover")["capabilities"]["extensions"]
    assert extensions == {"vendor/search": {"fast": True}, "vendor/other": {}}
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    legacy = serve(SOURCE)
    legacy.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})
    assert "extensions" not in legacy.answer(0)["result"]["capabilities"]


@EACH_ERA
@KINDS
def test_notifications(serve: Serve, era: str, kind: str) -> None:
    client = Client(serve(SOURCE), era)
    client.peer.notify("vendor/unknown", a=0)
    client.peer.notify(f"vendor/{kind}_told", a=1)
    client.peer.notify(f"vendor/{kind}_told", a=2)
    client.peer.hears(b"TOLD {'a': 2}\n")
    assert client.peer.stderr.count(b"TOLD") == 2
    assert client.peer.finish() == 0


def test_what_is_declared_twice_or_too_late_is_refused(serve: Serve) -> None:
    server = Server("s")
    server.add_method(lambda: None, "vendor/x")
    with pytest.raises(ConfigurationError, match="declared already"):
        server.add_method(lambda: None, "vendor/x")
    server.on_notification("vendor/x")(lambda params: None)
    with pytest.raises(ConfigurationError, match="has a function already"):
        server.on_notification("vendor/x")(lambda params: None)
    peer = serve("""
        @server.tool
        def late() -> int:
            refused = 0
            for add in (lambda: server.add_method(late, "vendor/x"), lambda: server.extension("vendor/x")):
                try:
                    add()
                except Exception as error:
                    refused += type(error).__name__ == "ConfigurationError"
            return refused
    """)
    assert peer.text("late") == "2"


PAGE = """
    from ferromcp import AppView
    needs = {"csp": {"connectDomains": ["https://example.com"]}}
    clock = AppView("ui://clock/view.html", "Clock", "<p>é</p>", ui=needs)
    server.app_view(clock)
    @server.tool(meta=clock.tool_meta({"vendor/x": 1, "ui": {"visibility": ["app"]}}))
    def time() -> str: return "12:00"
"""
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@EACH_ERA
@pytest.mark.parametrize(
    ("meta", "wanted"),
    [
        (
            {"traceparent": PARENT, "tracestate": "a=1", "baggage": "k=v"},
            f"('{PARENT}', 'a=1', 'k=v')",
        ),
        ({"traceparent": PARENT, "baggage": 7}, f"('{PARENT}', None, None)"),
        ({}, "(None, None, None)"),
    ],
)
def test_the_trace_of_a_request(serve: Serve, era: str, meta: dict[str, Any], wanted: str) -> None:
    client = Client(serve(SOURCE), era)
    found = call_with(client, meta, "tools/call", name="trace", arguments={})
    assert found["content"][0]["text"] == wanted


@EACH_ERA
def test_meta_goes_both_ways(serve: Serve, era: str) -> None:
    client = Client(serve(SOURCE), era)
    meta = {"vendor/x": 5}
    tool = call_with(client, meta, "tools/call", name="tool_meta", arguments={})
    assert tool["_meta"]["vendor/seen"] == 5
    prompt = call_with(client, meta, "prompts/get", name="prompt_meta")
    assert prompt["_meta"]["vendor/seen"] == 5
    assert (prompt["description"], prompt["messages"][0]["content"]["text"]) == ("described", "hi")
    resource = call_with(client, meta, "resources/read", uri="mem://meta")
    assert resource["contents"][0]["_meta"] == {"vendor/seen": 5}
    assert resource["_meta"]["vendor/whole"] == 5


@EACH_ERA
def test_a_page_is_a_resource_that_its_tool_points_at(serve: Serve, era: str) -> None:
    client = Client(serve(PAGE), era)
    extension = "io.modelcontextprotocol/ui"
    if era == "modern":
        shown = answer(client, "server/discover")["result"]["capabilities"]
        assert shown["extensions"] == {extension: {}}
    own = {"_meta": {"ui": {"csp": {"connectDomains": ["https://example.com"]}}}}
    page = {"uri": "ui://clock/view.html", "mimeType": "text/html;profile=mcp-app", **own}
    assert answer(client, "resources/list")["result"]["resources"] == [{**page, "name": "Clock"}]
    read = answer(client, "resources/read", uri=page["uri"])["result"]["contents"]
    assert read == [{**page, "text": "<p>é</p>"}]
    [tool] = answer(client, "tools/list")["result"]["tools"]
    pointer = {"visibility": ["app"], "resourceUri": page["uri"]}
    assert tool["_meta"] == {"vendor/x": 1, "ui": pointer}


def test_a_page_that_is_none() -> None:
    for uri in ("https://example.com/", "ui://", "ui:x"):
        with pytest.raises(ConfigurationError, match="ui://"):
            AppView(uri, "x", "")
    for meta in ({"ui": None}, {"ui": "x"}):
        with pytest.raises(SerializationError, match="ui"):
            AppView("ui://x", "x", "").tool_meta(meta)
    server = Server("s")
    server.app_view(AppView("ui://x", "x", ""))
    server.app_view(AppView("ui://y", "y", ""))
    with pytest.raises(ConfigurationError, match="declared already"):
        server.app_view(AppView("ui://x", "x", ""))


def call_with(client: Client, meta: dict[str, Any], method: str, /, **params: Any) -> Message:
    """A request with a `_meta`; its result."""
    own = {**MODERN, **meta} if client.era == "modern" else meta
    client.peer.send({"jsonrpc": "2.0", "id": 77, "method": method, "params": {**params, "_meta": own}})
    result: Message = client.peer.answer(77)["result"]
    return result
