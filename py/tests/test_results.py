"""Return values of tools, resources and prompts as the peer gets them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Serve
from support import Peer

TOOLS = """
import dataclasses, datetime, decimal, enum, pathlib, uuid, math
from typing import Any, Literal, TypedDict
from ferromcp import (
    Audio, AudioContent, BlobResource, EmbeddedResource, Image, ImageContent, Json, ResourceLink, TextContent,
    TextResource, ToolResult,
)

@dataclasses.dataclass
class Point:
    x: int
    label: str = "p"

class Colour(enum.Enum):
    RED = "red"

class Movie(TypedDict):
    title: str

VALUES = {
    "str": "text",
    "empty": "",
    "none": None,
    "int": 3,
    "float": 1.0,
    "bool": True,
    "dict": {"a": [1]},
    "list": [1, "a", None],
    "tuple": (1, 2),
    "set": {7},
    "dataclass": Point(1),
    "dataclasses": [Point(1), Point(2)],
    "enum": Colour.RED,
    "datetime": datetime.datetime(2026, 1, 2),
    "decimal": decimal.Decimal("1.10"),
    "path": pathlib.PurePosixPath("/a"),
    "uuid": uuid.UUID(int=1),
    "bytes": b"\\x00\\x01",
    "image": Image(b"\\x00", "image/png"),
    "audio": Audio(b"\\x00", "audio/wav"),
    "link": ResourceLink("mem://1", "one", mime_type="text/plain"),
    "embedded": EmbeddedResource(TextResource("t", "mem://1")),
    "blob": EmbeddedResource(BlobResource(b"\\x00", "mem://1")),
    "annotated": TextContent("t", annotations={"priority": 1.0}),
    "mixed": ["a", Image("AA=="), {"type": "text", "text": "data"}],
    "blockdict": [{"type": "text", "text": "data"}],
    "json": Json('{"a": 1.10}'),
    "result": ToolResult([{"type": "text", "text": "x"}, "y"], structured={"a": 1}, meta={"m": 1}),
    "failed": ToolResult("sorry", is_error=True),
    "structured": ToolResult(structured=[1]),
    "nan": {"items": [{"price": 1.0}, {"price": math.nan}]},
    "keys": {1: 2},
    "unknown": object(),
    "surrogate": "a\\ud83d",
}

@server.tool
def give(what: str):
    return VALUES[what]

@server.tool
async def give_async(what: str):
    return VALUES[what]

@server.tool
def number() -> float: return 2.0
@server.tool
def maybe(n: int | None = None) -> int | None: return n
@server.tool
def texts() -> list[str]: return ["a", "b"]
@server.tool
def point() -> Point: return Point(3)
@server.tool
def movie() -> Movie: return {"title": "t"}
@server.tool
def literal() -> Literal["a"]: return "a"
@server.tool(structured=False)
def plain() -> dict[str, int]: return {"a": 1}
@server.tool(output_schema={"type": "object", "required": ["a"]})
def own_schema(): return {"a": 1}
@server.tool
def wrong() -> int: return "text"
@server.tool
def ready() -> dict[str, Any]: return Json("{\\n}")
"""


def text(value: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value}]


CONTENT: dict[str, Any] = {
    "str": text("text"),
    "empty": text(""),
    "none": [],
    "int": text("3"),
    "float": text("1.0"),
    "bool": text("true"),
    "dict": text('{"a":[1]}'),
    "list": text('[1,"a",null]'),
    "tuple": text("[1,2]"),
    "set": text("[7]"),
    "dataclass": text('{"x":1,"label":"p"}'),
    "dataclasses": text('[{"x":1,"label":"p"},{"x":2,"label":"p"}]'),
    "enum": text("red"),
    "datetime": text("2026-01-02T00:00:00"),
    "decimal": text("1.10"),
    "path": text("/a"),
    "uuid": text("00000000-0000-0000-0000-000000000001"),
    "bytes": [
        {
            "type": "resource",
            "resource": {"uri": "resource://result", "mimeType": "application/octet-stream", "blob": "AAE="},
        }
    ],
    "image": [{"type": "image", "data": "AA==", "mimeType": "image/png"}],
    "audio": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}],
    "link": [{"type": "resource_link", "uri": "mem://1", "name": "one", "mimeType": "text/plain"}],
    "embedded": [{"type": "resource", "resource": {"uri": "mem://1", "text": "t"}}],
    "blob": [
        {
            "type": "resource",
            "resource": {"uri": "mem://1", "blob": "AA=="},
        }
    ],
    "annotated": [{"type": "text", "text": "t", "annotations": {"priority": 1.0}}],
    "mixed": [
        *text("a"),
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        *text('{"type":"text","text":"data"}'),
    ],
    "blockdict": text('[{"type":"text","text":"data"}]'),
    "json": text('{"a": 1.10}'),
    "result": [*text("x"), *text("y")],
    "structured": text("[1]"),
    "surrogate": text("a\ud83d"),
}


@pytest.fixture
def peer(serve: Serve) -> Peer:
    return serve(TOOLS)


def test_content(peer: Peer) -> None:
    for tool in ("give", "give_async"):
        for what, content in CONTENT.items():
            result = peer.call(tool, what=what)
            assert result["content"] == content, what
            assert not result.get("isError"), what


def test_tool_results(peer: Peer) -> None:
    result = peer.call("give", what="result")
    assert result["structuredContent"] == {"a": 1}
    assert result["_meta"]["m"] == 1
    result = peer.call("give", what="failed")
    assert (result["content"], result["isError"]) == (text("sorry"), True)
    assert peer.call("give", what="structured")["structuredContent"] == [1]


def test_what_has_no_form_is_a_tool_error(peer: Peer) -> None:
    for tool in ("give", "give_async"):
        assert peer.failure(tool, what="nan").endswith("result.items[1].price: NaN is not JSON")
        assert peer.failure(tool, what="keys").endswith("result: key 1 is not a string")
        assert peer.failure(tool, what="unknown").endswith("result: object is not JSON")
    assert peer.text("give", what="str") == "text"


def test_structured_content(peer: Peer) -> None:
    expected: dict[str, Any] = {
        "number": 2.0,
        "maybe": None,
        "texts": ["a", "b"],
        "point": {"x": 3, "label": "p"},
        "movie": {"title": "t"},
        "literal": "a",
        "own_schema": {"a": 1},
        "ready": {},
    }
    for tool, value in expected.items():
        result = peer.call(tool)
        assert result["structuredContent"] == value, tool
        if value is not None and not isinstance(value, str):
            assert json.loads(result["content"][0]["text"]) == value
    assert "structuredContent" not in peer.call("plain")
    assert "structuredContent" not in peer.call("give", what="dict")
    tools = {tool["name"]: tool for tool in peer.result("tools/list")["tools"]}
    assert {name for name, tool in tools.items() if "outputSchema" in tool} == {*expected, "wrong"}


def test_a_result_that_breaks_its_own_schema(peer: Peer) -> None:
    assert peer.call("wrong")["isError"] is True


def test_resources_and_prompts(serve: Serve) -> None:
    peer = serve(
        """
        from typing import Annotated
        from ferromcp import (
            BlobResource, CompletionResult, Image, PromptMessage, PromptResult,
            ResourceNotFound, TextResource,
        )

        @server.resource("mem://text")
        def text() -> str: return "t"
        @server.resource("mem://bytes", mime_type="image/png")
        async def data() -> bytes: return b"\\x00"
        @server.resource("mem://json")
        def data_json() -> dict: return {"a": 1}
        @server.resource("mem://both")
        def both(): return [TextResource("a"), BlobResource(b"\\x00", "mem://other")]
        @server.resource("mem://missing")
        def missing(): raise ResourceNotFound()
        @server.resource("mem://broken")
        def broken(): raise ValueError("no luck")
        @server.resource("note://{user}/{number}")
        def note(user: str, number: int) -> str: return f"{user}:{number!r}"

        @server.prompt
        def one(topic: str) -> str: return f"about {topic}"
        @server.prompt
        async def several(count: Annotated[int, "how many"], loud: bool = False):
            messages = [f"{count!r} {loud!r}", PromptMessage(Image("AA=="), "assistant")]
            return PromptResult(messages, description="d")
        @server.completion("one", "topic")
        def topics(value: str) -> list[str]: return [t for t in ("alpha", "beta") if t.startswith(value)]
        @server.completion("note://{user}/{number}", "number")
        def numbers(value: str, arguments: dict[str, str]):
            return CompletionResult([arguments.get("user", "?") + value], total=5, has_more=True)
        """
    )

    def read(uri: str) -> Any:
        return peer.result("resources/read", uri=uri)["contents"]

    assert read("mem://text") == [{"uri": "mem://text", "mimeType": "text/plain", "text": "t"}]
    assert read("mem://bytes") == [{"uri": "mem://bytes", "mimeType": "image/png", "blob": "AA=="}]
    assert read("mem://json") == [{"uri": "mem://json", "mimeType": "application/json", "text": '{"a":1}'}]
    assert [item["uri"] for item in read("mem://both")] == ["mem://both", "mem://other"]
    assert read("note://bob/7")[0]["text"] == "bob:7"
    assert peer.error("resources/read", uri="note://bob/x")["code"] == -32602
    error = peer.error("resources/read", uri="mem://missing")
    assert (error["code"], error["data"]) == (-32602, {"uri": "mem://missing"})
    error = peer.error("resources/read", uri="mem://broken")
    assert (error["code"], error["message"]) == (
        -32603,
        "Error in resource 'mem://broken': ValueError: no luck",
    )

    def get(name: str, **arguments: str) -> Any:
        return peer.result("prompts/get", name=name, arguments=arguments)

    assert get("one", topic="x")["messages"] == [{"role": "user", "content": text("about x")[0]}]
    result = get("several", count="3", loud="true")
    assert result["description"] == "d"
    assert [message["role"] for message in result["messages"]] == ["user", "assistant"]
    assert result["messages"][0]["content"]["text"] == "3 True"
    assert result["messages"][1]["content"]["type"] == "image"
    assert peer.error("prompts/get", name="several", arguments={"count": "x"})["code"] == -32602
    assert peer.error("prompts/get", name="several", arguments={})["code"] == -32602
    prompts = {prompt["name"]: prompt for prompt in peer.result("prompts/list")["prompts"]}
    assert prompts["several"]["arguments"] == [
        {"name": "count", "description": "how many", "required": True},
        {"name": "loud", "required": False},
    ]

    def complete(ref: dict[str, str], name: str, value: str, **context: Any) -> Any:
        argument = {"name": name, "value": value}
        return peer.result("completion/complete", ref=ref, argument=argument, **context)["completion"]

    assert complete({"type": "ref/prompt", "name": "one"}, "topic", "a")["values"] == ["alpha"]
    completed = complete(
        {"type": "ref/resource", "uri": "note://{user}/{number}"},
        "number",
        "4",
        context={"arguments": {"user": "bob"}},
    )
    assert completed == {"values": ["bob4"], "total": 5, "hasMore": True}
    assert complete({"type": "ref/resource", "uri": "note://{user}/{number}"}, "user", "b")["values"] == []


def test_arguments_of_prompts_are_read_as_they_are_declared(serve: Serve) -> None:
    """They are strings on the wire (2026-07-28 schema, `GetPromptRequestParams`)."""
    peer = serve(
        """
        from dataclasses import dataclass
        from pydantic import BaseModel

        class Model(BaseModel):
            a: int
        @dataclass
        class Plain:
            a: int

        @server.prompt
        def typed(
            ids: list[int] = [], on: bool = False, text: str = "", model: Model | None = None,
            plain: Plain | None = None, number: float = 0, either: int | str = 0,
        ) -> str:
            return repr((ids, on, text, model, plain, number, either))
        """
    )

    def get(**arguments: str) -> str:
        result = peer.result("prompts/get", name="typed", arguments=arguments)
        return str(result["messages"][0]["content"]["text"])

    assert get() == "([], False, '', None, None, 0, 0)"
    assert get(ids="[1, 2]", on="true", number="2.5") == "([1, 2], True, '', None, None, 2.5, 0)"
    # Text stays text, whatever it looks like.
    assert get(text="7", either="7") == "([], False, '7', None, None, 0, '7')"
    assert get(model='{"a": 1}', plain='{"a": 2}') == "([], False, '', Model(a=1), Plain(a=2), 0, 0)"
    for wrong in ({"ids": "[true]"}, {"ids": "1, 2"}, {"on": "yes"}, {"model": "{}"}, {"plain": "7"}):
        error = peer.error("prompts/get", name="typed", arguments=wrong)
        [name] = wrong
        assert error["code"] == -32602
        assert f"prompt 'typed': {name}: " in error["message"]
    # Not a string on the wire is a fault of the client's.
    assert peer.error("prompts/get", name="typed", arguments={"number": 2})["code"] == -32602
