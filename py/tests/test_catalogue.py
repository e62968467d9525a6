"""A catalogue that changes while it is served: adding, removing, hiding and showing again."""

from __future__ import annotations

import pytest

from asked import ERAS, Client
from conftest import Serve
from ferromcp import Server

EACH_ERA = pytest.mark.parametrize("era", ERAS)
SOURCE = """
    def fixed() -> str: return "fixed"
    server.add_tool(fixed, name="tool")
    server.add_resource(lambda: "text", "note://a", name="a")
    server.add_resource(lambda x: x, "mem://{x}", name="b")
    server.add_prompt(fixed, name="prompt")

    @server.tool
    def change(what: str, name: str) -> bool:
        "Calls a method of the server."
        return getattr(server, what)(name)

    @server.tool
    def add_all() -> None:
        server.add_tool(fixed, name="new")
        server.add_tool(fixed, name="newer")
        server.add_prompt(fixed, name="new")
        server.add_resource(lambda: "text", "mem://new", name="new")
"""
# What there is under which name, its list, and the request that needs it.
KINDS = {
    "tool": ("tool", "tools/list", "tools", "name", "tools/call", {"name": "tool"}),
    "resource": ("note://a", "resources/list", "resources", "uri", "resources/read", {"uri": "note://a"}),
    "template": (
        "mem://{x}",
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
        "resources/read",
        {"uri": "mem://other"},
    ),
    "prompt": ("prompt", "prompts/list", "prompts", "name", "prompts/get", {"name": "prompt"}),
}
CHANGED = {
    "tool": "notifications/tools/list_changed",
    "resource": "notifications/resources/list_changed",
    "template": "notifications/resources/list_changed",
    "prompt": "notifications/prompts/list_changed",
}
ALL_LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def hearing(serve: Serve, era: str) -> Client:
    """A client that hears of changes."""
    client = Client(serve(SOURCE), era)
    if era == "modern":
        client.begin("subscriptions/listen", notifications=ALL_LISTS)
        assert client.peer.message()["method"] == "notifications/subscriptions/acknowledged"
    return client


def listed(client: Client, kind: str) -> list[str]:
    _, method, member, key, *_ = KINDS[kind]
    answer = client.peer.answer(client.begin(method))
    return [item[key] for item in answer["result"][member]]


def changed(client: Client, tool: str, /, **arguments: str) -> str:
    told = client.peer.answer(client.begin_call(tool, **arguments))["result"]
    assert not told.get("isError"), told
    return "".join(block["text"] for block in told["content"])


def heard(client: Client, count: int) -> list[str]:
    """So many notifications, and nothing behind them that was sent at the same time."""
    methods = [message["method"] for message in client.peer.unasked()]
    while len(methods) < count:
        methods.append(client.peer.message()["method"])
    assert client.peer.silent(0.2)
    return sorted(methods)


@EACH_ERA
@pytest.mark.parametrize("kind", KINDS)
def test_hiding_and_showing(serve: Serve, era: str, kind: str) -> None:
    name, _, _, _, method, params = KINDS[kind]
    word = "resource" if kind == "template" else kind
    client = hearing(serve, era)
    assert name in listed(client, kind)
    assert changed(client, "change", what=f"disable_{word}", name=name) == "true"
    assert heard(client, 1) == [CHANGED[kind]]
    assert name not in listed(client, kind)
    assert "error" in client.peer.answer(client.begin(method, **params))
    # Hidden already: nothing has changed.
    assert changed(client, "change", what=f"disable_{word}", name=name) == "true"
    assert client.peer.silent(0.2)
    assert changed(client, "change", what=f"enable_{word}", name=name) == "true"
    assert heard(client, 1) == [CHANGED[kind]]
    assert name in listed(client, kind)
    assert "result" in client.peer.answer(client.begin(method, **params))
    assert changed(client, "change", what=f"enable_{word}", name="nothing") == "false"
    assert client.peer.silent(0.2)


@EACH_ERA
def test_several_changes_are_told_once_for_each_list(serve: Serve, era: str) -> None:
    client = hearing(serve, era)
    changed(client, "add_all")
    assert heard(client, 3) == sorted({CHANGED["tool"], CHANGED["resource"], CHANGED["prompt"]})
    assert {"new", "newer"} <= set(listed(client, "tool"))
    assert changed(client, "change", what="remove_tool", name="new") == "true"
    assert heard(client, 1) == [CHANGED["tool"]]
    assert "new" not in listed(client, "tool")


def test_hidden_before_the_server_runs(serve: Serve) -> None:
    peer = serve("""
        @server.tool
        def hidden() -> str: return "hidden"
        @server.tool
        def show() -> bool: return server.enable_tool("hidden")
        server.disable_tool("hidden")
    """)
    assert [tool["name"] for tool in peer.result("tools/list")["tools"]] == ["show"]
    peer.text("show")
    assert peer.text("hidden") == "hidden"


def test_what_comes_again_under_a_name_is_shown() -> None:
    def work() -> None: ...

    server = Server("s")
    server.add_tool(work)
    assert server.disable_tool("work")
    assert server.remove_tool("work")
    assert not server.enable_tool("work")
    server.add_tool(work)
    assert not server._disabled
