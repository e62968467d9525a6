"""Annotations: which schema they give, what arrives in Python, and that plain ones cost no pydantic."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
import typing
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from ferromcp._declare import tool
from ferromcp._native import convert
from ferromcp._schema import NeedsPydantic, Shapes, structured_output
from ferromcp._signature import EMPTY, signature_of
from ferromcp.errors import ConfigurationError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Movie(TypedDict, total=False):
    title: typing.Required[str] if sys.version_info >= (3, 11) else str  # type: ignore[valid-type]
    year: int


TABLE: list[tuple[Any, dict[str, Any], Any, Any]] = [
    # annotation, schema, value as JSON has it, value as the function gets it
    (str, {"type": "string"}, "a", "a"),
    (int, {"type": "integer"}, 1.0, 1),
    (int, {"type": "integer"}, 10**40, 10**40),
    (float, {"type": "number"}, 1, 1.0),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Any, {}, {"a": 1}, {"a": 1}),
    (object, {}, 1.0, 1.0),
    (EMPTY, {}, 1.0, 1.0),
    (list, {"type": "array"}, [1], [1]),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1.0, 2], [1, 2]),
    (typing.List[float], {"type": "array", "items": {"type": "number"}}, [1], [1.0]),  # noqa: UP006
    (typing.Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (
        list[list[int]],
        {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        [[1.0]],
        [[1]],
    ),
    (dict, {"type": "object"}, {"a": 1}, {"a": 1}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, {"a": 1.0}),
    (typing.Mapping[str, Any], {"type": "object"}, {"a": 1}, {"a": 1}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 2.0], {1, 2}),
    (frozenset, {"type": "array", "uniqueItems": True}, [1], frozenset({1})),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1.0], (1,)),
    (
        tuple[int, str],
        {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
        },
        [1.0, "a"],
        (1, "a"),
    ),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1.0, 1),  # noqa: UP045
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a", "a"),  # noqa: UP007
    (int | float, {"anyOf": [{"type": "integer"}, {"type": "number"}]}, 1.5, 1.5),
    (bool | float, {"anyOf": [{"type": "boolean"}, {"type": "number"}]}, True, True),
    (
        list[int] | None,
        {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        [1.0],
        [1],
    ),
    (
        set[int] | int,
        {
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
                {"type": "integer"},
            ]
        },
        2.0,
        2,
    ),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}, "a", "a"),
    (Literal[1, None], {"enum": [1, None], "type": ["integer", "null"]}, 1.0, 1),
    (Colour, {"enum": ["red", "blue"], "type": "string"}, "red", Colour.RED),
    (Level, {"enum": [1, 2], "type": "integer"}, 2.0, Level.HIGH),
    (
        Colour | None,
        {"anyOf": [{"enum": ["red", "blue"], "type": "string"}, {"type": "null"}]},
        "blue",
        Colour.BLUE,
    ),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}, 1.0, 1),
    (
        Point,
        {
            "type": "object",
            "title": "Point",
            "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
            "required": ["x"],
            "additionalProperties": False,
        },
        {"x": 1},
        Point(1.0),
    ),
]


@pytest.mark.parametrize(("annotation", "schema", "given", "expected"), TABLE)
def test_plain_annotations(annotation: Any, schema: dict[str, Any], given: Any, expected: Any) -> None:
    shape = Shapes().of(annotation)
    assert shape.schema == schema
    value = convert(given, shape.plan)
    assert value == expected
    assert type(value) is type(expected)


def test_a_type_that_contains_itself() -> None:
    shapes = Shapes()
    shape = shapes.of(Tree)
    assert shape.schema == {"$ref": "#/$defs/Tree"}
    assert shapes.definitions["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    value = convert({"name": "a", "children": [{"name": "b"}]}, shape.plan)
    assert value == Tree("a", [Tree("b")])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="typing.Required is new in 3.11")
def test_typed_dicts_know_what_is_required() -> None:
    shape = Shapes().of(Movie)
    assert shape.schema["required"] == ["title"]
    assert convert({"title": "a", "year": 1999.0}, shape.plan) == {"title": "a", "year": 1999}


@pytest.mark.parametrize(
    "annotation", [dict[int, str], complex, bytes, list[complex], Point | Tree, typing.TypeVar("T")]
)
def test_what_is_not_plain(annotation: Any) -> None:
    with pytest.raises(NeedsPydantic):
        Shapes().of(annotation)


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (EMPTY, False), (None, False), (str, False), (bytes, False), (Any, False), (str | None, False),
        (int, True), (float | None, True), (bool, True), (dict, True), (list, True), (list[str], True),
        (dict[str, Any], True), (Point, True), (Movie, True), (Annotated[int, "n"], True),
        (Literal["a"], True),
    ],
)  # fmt: skip
def test_which_results_are_structured(annotation: Any, expected: bool) -> None:
    assert structured_output(annotation) is expected


def test_content_is_not_structured() -> None:
    from ferromcp import Image, Json, TextContent, ToolResult

    for annotation in (Image, TextContent, ToolResult, Json, list[TextContent], list[TextContent | Image]):
        assert structured_output(annotation) is False


def declared(function: Any, **options: Any) -> dict[str, Any]:
    from ferromcp._native import loads

    names = (
        "name",
        "title",
        "description",
        "annotations",
        "icons",
        "meta",
        "input_schema",
        "output_schema",
        "structured",
    )
    given = {name: options.get(name) for name in names}
    definition: dict[str, Any] = loads(tool(function, **given, reentry="replay", task="never").definition)
    return definition


def test_a_whole_tool() -> None:
    def search(
        query: str, limit: int = 10, tags: Annotated[list[str] | None, "only these"] = None
    ) -> list[str]:
        """Search.

        Finds things.
        """
        return []

    assert declared(search) == {
        "name": "search",
        "description": "Search.\n\nFinds things.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 10},
                "tags": {
                    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                    "description": "only these",
                    "default": None,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "array", "items": {"type": "string"}},
    }


def test_keyword_arguments_leave_the_schema_open() -> None:
    def anything(a: int, **rest: Any) -> None: ...

    assert "additionalProperties" not in declared(anything)["inputSchema"]


def test_the_context_is_no_argument() -> None:
    from ferromcp import Context

    def f(a: int, ctx: Context, *, other: Context | None = None) -> None: ...

    f.__annotations__ = typing.get_type_hints(f, localns=locals())
    signature = signature_of(f)
    assert [parameter.name for parameter in signature.parameters] == ["a"]


def test_wrapped_partial_and_bound_functions() -> None:
    import functools

    def base(a: int, b: str = "x") -> int:
        return a

    @functools.wraps(base)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return base(*args, **kwargs)

    class Thing:
        def method(self, a: int) -> int:
            return a

        def __call__(self, a: int) -> int:
            return a

    for function in (wrapper, functools.partial(base, b="y"), Thing().method, Thing()):
        parameter = signature_of(function).parameters[0]
        assert (parameter.name, parameter.annotation) == ("a", int)


@pytest.mark.parametrize(
    "source", ["def f(a, /): ...", "def f(*a): ...", "def f():\n yield 1", "async def f():\n yield 1"]
)
def test_what_can_not_be_a_tool(source: str) -> None:
    space: dict[str, Any] = {}
    exec(source, space)
    with pytest.raises(ConfigurationError, match="f "):
        declared(space["f"])


def test_pydantic_takes_over() -> None:
    import datetime

    import pydantic

    class User(pydantic.BaseModel):
        name: str
        born: datetime.date

    def f(
        user: User,
        count: Annotated[int, pydantic.Field(ge=1, description="n")],
        when: datetime.datetime | None = None,
        size: int = pydantic.Field(default=3, le=9),
        plain: str = "x",
    ) -> User:
        return user

    f.__annotations__ = typing.get_type_hints(f, localns=locals(), include_extras=True)
    definition = declared(f)
    schema = definition["inputSchema"]
    assert schema["properties"]["user"] == {"$ref": "#/$defs/User"}
    assert schema["$defs"]["User"]["properties"]["born"]["format"] == "date"
    assert schema["properties"]["count"]["minimum"] == 1
    assert schema["properties"]["count"]["description"] == "n"
    assert schema["properties"]["size"] == {"default": 3, "maximum": 9, "type": "integer"}
    assert schema["properties"]["plain"] == {"type": "string", "default": "x"}
    assert schema["required"] == ["user", "count"]
    assert definition["outputSchema"]["properties"]["born"]["type"] == "string"


def test_an_annotation_that_nobody_knows() -> None:
    class Thing:
        pass

    def f(thing: Thing) -> None: ...

    f.__annotations__ = {"thing": Thing}
    with pytest.raises(ConfigurationError, match="tool 'f', thing"):
        declared(f)


HEAVY = (
    "asyncio",
    "pydantic",
    "inspect",
    "dataclasses",
    "json",
    "logging",
    "typing_extensions",
    "threading",
    "uvloop",
    "mcp",
)


def test_a_plain_server_imports_nothing_heavy() -> None:
    source = (
        "import sys\n"
        "from ferromcp import Server\n"
        "server = Server('s')\n"
        "@server.tool\n"
        "def f(a: int, b: list[str] | None = None) -> dict[str, int]: return {}\n"
        "@server.resource('mem://{id}')\n"
        "def r(id: str) -> str: return id\n"
        "@server.prompt\n"
        "def p(topic: str) -> str: return topic\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    # -S: what site's .pth files import is not ours, but they also put the package on the path.
    path = [entry for entry in sys.path if entry]
    output = subprocess.check_output(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {path!r}\n{source}"]
    )
    assert output.strip() == b"[]"
