"""Cases E1, E2, E6, E15, E16 as far as a server decides them: lists, their pages and their order."""

from __future__ import annotations

from typing import Any

import pytest
from checker import Message
from conftest import Start
from wire import Wire, text_of

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
PAGED = {"native": "paged_native.py", "fastmcp": "paged_fastmcp.py"}


def walk(wire: Wire, method: str) -> list[Message]:
    """All pages. A cursor that came back once must not come again."""
    pages: list[Message] = []
    params: dict[str, Any] = {}
    seen = set()
    while True:
        page = wire.result(method, params)
        pages.append(page)
        if "nextCursor" not in page:
            return pages
        cursor = page["nextCursor"]
        assert isinstance(cursor, str)
        assert cursor not in seen, "the walk does not advance"
        seen.add(cursor)
        params = {"cursor": cursor}


@pytest.mark.parametrize("method", LISTS)
def test_e1_no_cursor_at_the_end(wire: Wire, method: str) -> None:
    """The key is left out on the last page: neither null nor empty, which older clients take for a cursor."""
    (page,) = walk(wire, method)
    assert "nextCursor" not in page
    assert isinstance(page[LISTS[method]], list)


@pytest.mark.servers("native", "fastmcp")
def test_e2_pages_add_up(server: str, era: str, start: Start) -> None:
    wire = start(PAGED[server], era)
    for method in ("tools/list", "prompts/list", "resources/list"):
        key = LISTS[method]
        pages = walk(wire, method)
        assert [len(page[key]) for page in pages] == [10, 10, 5]
        names = [entry["name"] for page in pages for entry in page[key]]
        assert names == sorted(set(names))
        assert wire.error(method, {"cursor": "made up by a test"})["code"] == -32602
        # Cursors stay good: the same page comes again.
        cursor = pages[0]["nextCursor"]
        assert wire.result(method, {"cursor": cursor})[key] == pages[1][key]
        # A cursor of one list means nothing to another, or the same place in it.
        other = "prompts/list" if method == "tools/list" else "tools/list"
        response = wire.ask(other, {"cursor": cursor})
        assert "result" in response or response["error"]["code"] == -32602
        if wire.modern:
            assert len({page["cacheScope"] for page in pages}) == 1
            assert all(page["ttlMs"] >= 0 for page in pages)


def test_e16_lists_have_a_settled_order(wire: Wire) -> None:
    for method, key in LISTS.items():
        first = wire.result(method)[key]
        for _ in range(19):
            assert wire.result(method)[key] == first


def test_every_list_entry_is_complete(wire: Wire) -> None:
    tools = {tool["name"]: tool for tool in wire.result("tools/list")["tools"]}
    assert {"add", "echo", "aecho", "slow", "fail", "progress"} <= set(tools)
    assert tools["add"]["description"] == "Add two integers"
    schema = tools["add"]["inputSchema"]
    assert schema["type"] == "object"
    assert set(schema["required"]) == {"a", "b"}
    assert schema["properties"]["a"]["type"] == "integer"
    assert tools["noargs"]["inputSchema"]["type"] == "object"
    (greeting,) = [r for r in wire.result("resources/list")["resources"] if r["uri"] == "mem://greeting"]
    assert greeting["name"] == "greeting"
    (template,) = wire.result("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "mem://item/{id}"
    prompts = {prompt["name"]: prompt for prompt in wire.result("prompts/list")["prompts"]}
    assert prompts["ask"]["arguments"][0]["name"] == "topic"
    assert prompts["ask"]["arguments"][0]["required"] is True


def test_resources_prompts_and_completion(wire: Wire) -> None:
    (content,) = wire.result("resources/read", {"uri": "mem://greeting"})["contents"]
    assert (content["uri"], content["text"]) == ("mem://greeting", "hello")
    (content,) = wire.result("resources/read", {"uri": "mem://item/42"})["contents"]
    assert (content["uri"], content["text"]) == ("mem://item/42", "item 42")
    prompt = wire.result("prompts/get", {"name": "ask", "arguments": {"topic": "rust"}})
    (message,) = prompt["messages"]
    assert (message["role"], message["content"]["text"]) == ("user", "Tell me about rust")
    completion = wire.result(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "topic", "value": "py"}},
    )["completion"]
    assert completion["values"] == ["pytest", "python"]
    assert text_of(wire.call("aecho", text="x")) == "x"


@pytest.mark.parametrize(
    "uri", ["mem://item/", "mem://item/a/b", "mem://itemx/1", "MEM://item/1", "mem://item/%"]
)
def test_uris_at_the_edge_of_a_template(wire: Wire, uri: str) -> None:
    """Whatever matches is read, whatever does not is an unknown resource; nothing else can happen."""
    response = wire.ask("resources/read", {"uri": uri})
    assert "result" in response or response["error"]["code"] in (-32602, -32002)
    wire.alive()


def test_template_variables_are_decoded(wire: Wire) -> None:
    (content,) = wire.result("resources/read", {"uri": "mem://item/a%20b%C3%A9"})["contents"]
    assert content["text"] in ("item a b\u00e9", "item a%20b%C3%A9")
