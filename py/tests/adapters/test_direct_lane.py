"""The fast ways to call a tool: which apps and tools take them, when not, and that results are fastmcp's."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import json
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types
import pytest
from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_server
from fastmcp.server.extensions import ServerExtension
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.dereference import DereferenceRefsMiddleware
from fastmcp.server.middleware.timing import TimingMiddleware
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.server.transforms import Namespace
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.utilities.versions import VersionSpec
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from uncalled_for import SharedContext

from ferromcp.adapters import choose
from ferromcp.adapters.fastmcp4.convert import Converter
from ferromcp.adapters.fastmcp4.plain import Lane, hindrances, watchers
from ferromcp.adapters.fastmcp4.watched import MiddlewareAdapter
from ferromcp.adapters.mcp2.handler import call_result_text


def app() -> FastMCP[Any]:
    made: FastMCP[Any] = FastMCP("plain")

    @made.tool
    def add(a: int, b: int) -> int:
        return a + b

    return made


class Subclass(FastMCP[Any]):
    pass


class Extension(ServerExtension):
    identifier = "org.example/x"


def with_injection(made: FastMCP[Any]) -> None:
    def function(a: int, b: int) -> int:
        return a * b

    made.add_middleware(ToolInjectionMiddleware([Tool.from_function(function, name="add")]))


def with_transform(made: FastMCP[Any]) -> None:
    made.add_transform(Namespace("n"))


def with_mount(made: FastMCP[Any]) -> None:
    made.mount(FastMCP("child"))


def with_extension(made: FastMCP[Any]) -> None:
    made.add_extension(Extension())


def with_hidden_tool(made: FastMCP[Any]) -> None:
    made.disable(names={"add"})


def with_patch(made: FastMCP[Any]) -> None:
    made.call_tool = made.call_tool  # type: ignore[method-assign]


Change = Callable[[FastMCP[Any]], None]
CHANGES: dict[str, Change] = {
    "transforms": with_transform,
    "providers": with_mount,
    "extensions": with_extension,
    "hidden": with_hidden_tool,
}


def test_a_plain_app_has_no_hindrance() -> None:
    assert hindrances(app()) == ()


@pytest.mark.parametrize("what", [*CHANGES, "patched"])
def test_what_keeps_an_app_off_the_lane(what: str) -> None:
    made = app()
    {**CHANGES, "patched": with_patch}[what](made)
    found = "; ".join(hindrances(made))
    # What is hidden only keeps itself off.
    assert (what in found) == (what != "hidden")


def test_a_subclass_stays_off_the_lane() -> None:
    assert hindrances(Subclass("sub")) == ("Subclass is a subclass of FastMCP",)


def wrapped(method: Any) -> Any:
    @functools.wraps(method)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await method(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("cls", "name"), [(FastMCP, "call_tool"), (FunctionTool, "run"), (Middleware, "on_message")]
)
def test_what_watches_fastmcp_itself_keeps_all_apps_off(
    monkeypatch: pytest.MonkeyPatch, cls: type, name: str
) -> None:
    monkeypatch.setattr(cls, name, wrapped(getattr(cls, name)))
    assert hindrances(app()) == ("its methods are patched",)


@pytest.mark.parametrize("what", [*CHANGES, "injection"])
def test_fastmcp_looks_for_the_tools_when_the_app_changes(what: str) -> None:
    made = app()
    lane = Lane(made)
    assert lane.plan("add") is not None
    {**CHANGES, "injection": with_injection}[what](made)
    assert lane.plan("add") is None


VISIBILITY: dict[str, Change] = {
    "nothing": lambda made: None,
    "hidden by name": lambda made: made.disable(names={"add"}),
    "another by name": lambda made: made.disable(names={"sub"}),
    "hidden by tag": lambda made: made.disable(tags={"odd", "none"}),
    "hidden by key": lambda made: made.disable(keys={"tool:add@"}),
    "prompts only": lambda made: made.disable(names={"add"}, components={"prompt"}),
    "versions only": lambda made: made.disable(version=VersionSpec(gte="1")),
    "only one": lambda made: made.enable(names={"sub"}, only=True),
    "shown by tag": lambda made: made.enable(tags={"even"}),
    "hidden at its provider": lambda made: made.local_provider.disable(names={"add"}),
    "shown at its provider": lambda made: made.local_provider.enable(names={"add"}),
}


@pytest.mark.parametrize("first", VISIBILITY)
@pytest.mark.parametrize("second", VISIBILITY)
def test_what_is_hidden_or_shown_is_so_for_the_lane_too(first: str, second: str) -> None:
    made: FastMCP[Any] = FastMCP("visible")
    lane = Lane(made)

    @made.tool(tags={"even", "odd"})
    def add(a: int, b: int) -> int:
        return a + b

    @made.tool
    def sub(a: int, b: int) -> int:
        return a - b

    for change in (first, second):
        VISIBILITY[change](made)
        for name in ("add", "sub"):
            found = anyio.run(made.get_tool, name)
            assert (lane.plan(name) is None) == (found is None)
    assert hindrances(made) == ()


def test_a_sessions_own_rules_close_the_lanes_of_all_that_serve_the_app() -> None:
    made = app()
    first, second = Lane(made), Lane(made)
    first.session_rules()
    assert first.plan("add") is None
    assert second.plan("add") is None
    assert Lane(made).plan("add") is None
    assert Lane(app()).plan("add") is not None


# Middleware.


class Lists(Middleware):
    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


class Calls(Middleware):
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


class Requests(Middleware):
    async def on_request(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


class Messages(Middleware):
    async def on_message(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


class Whole(Middleware):
    async def __call__(self, context: Any, call_next: Any) -> Any:
        return await call_next(context)


class Inherits(Calls):
    pass


async def function(context: Any, call_next: Any) -> Any:
    return await call_next(context)


def patched() -> Middleware:
    made = Middleware()
    made.on_call_tool = Calls().on_call_tool  # type: ignore[method-assign]
    return made


WATCHERS = [Calls(), Requests(), Messages(), Whole(), Inherits(), TimingMiddleware(), patched(), function]


@pytest.mark.parametrize("middleware", [Middleware(), Lists(), DereferenceRefsMiddleware()])
def test_middleware_that_a_call_only_passes_through_keeps_no_app_off_the_direct_lane(middleware: Any) -> None:
    made = app()
    lane = Lane(made)
    made.add_middleware(middleware)
    assert hindrances(made) == ()
    assert watchers(made) == ()
    assert not lane.chain.is_watched


@pytest.mark.parametrize(
    "middleware", WATCHERS, ids=lambda part: getattr(part, "__name__", type(part).__name__)
)
def test_middleware_that_looks_at_calls_does(middleware: Any) -> None:
    made = app()
    lane = Lane(made)
    made.add_middleware(middleware)
    assert hindrances(made) == ()
    assert watchers(made) == (f"it has middleware ({type(middleware).__name__})",)
    assert lane.chain.is_watched
    made.middleware.remove(middleware)
    assert not lane.chain.is_watched


def test_reasons_name_the_middleware_beside_what_keeps_an_app_off_both() -> None:
    made = app()
    made.add_middleware(Calls())
    assert str(choose(made)).endswith(": middleware; it has middleware (Calls)")
    with_mount(made)
    reasons = "it has middleware (Calls); it has providers besides its own tools"
    assert str(choose(made)).endswith(f": handler; {reasons}")


def test_the_lane_follows_tools_that_come_change_and_go() -> None:
    made = app()
    lane = Lane(made)
    assert lane.plan("sub") is None

    @made.tool
    def sub(a: int, b: int) -> int:
        return a - b

    first = lane.plan("sub")
    assert first is not None
    assert first is lane.plan("sub")
    made.local_provider.remove_tool("sub")
    assert lane.plan("sub") is None

    @made.tool(name="sub")
    def other(a: int) -> int:
        return a

    second = lane.plan("sub")
    assert second is not None
    assert second.tool is not first.tool


def test_which_functions_run_where_they_are_asked_for() -> None:
    made: FastMCP[Any] = FastMCP("kinds")
    lane = Lane(made)

    def plain() -> int:
        return 1

    async def waiting() -> int:
        return 1

    def asking(ctx: Context) -> int:
        return 1

    made.tool(plain)
    made.tool(waiting)
    made.tool(asking)
    made.tool(plain, name="hasty", timeout=1)
    made.tool(plain, name="bound", run_in_thread=False)
    inline = {}
    for name in ("plain", "waiting", "asking", "hasty", "bound"):
        plan = lane.plan(name)
        assert plan is not None
        inline[name] = plan.inline
    assert inline == {"plain": True, "waiting": False, "asking": False, "hasty": False, "bound": False}


def test_what_is_the_same_for_all_requests_is_there_although_the_app_is_served_elsewhere_too() -> None:
    made = app()

    async def elsewhere(running: anyio.Event, over: anyio.Event) -> None:
        async with made._lifespan_manager():
            running.set()
            await over.wait()

    async def main() -> None:
        running, over = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(elsewhere, running, over)
            await running.wait()
            async with MiddlewareAdapter(made).lifespan():
                assert get_server() is made
                assert made._shared_context_snapshot is not None
                assert SharedContext.resolved.get() is made._shared_context_snapshot[SharedContext.resolved]
            over.set()

    anyio.run(main)


# Results.


class Color(enum.Enum):
    RED = "red"


class Inner(BaseModel):
    n: int | None = None
    named: float = Field(1.5, serialization_alias="nAmed")


class Outer(BaseModel):
    inner: list[Inner] = []
    when: datetime.date = datetime.date(2026, 7, 28)


@dataclasses.dataclass
class Record:
    name: str
    tags: set[int] = dataclasses.field(default_factory=set)


def tool(annotation: Any, schema: Any = ...) -> FunctionTool:
    def function() -> Any: ...

    function.__annotations__["return"] = annotation
    options = {} if schema is ... else {"output_schema": schema}
    made = Tool.from_function(function, **options)
    assert isinstance(made, FunctionTool)
    return made


def by_fastmcp(made: FunctionTool, value: Any) -> str:
    """What fastmcp makes of a value, on its long way."""
    result = made.convert_result(value)
    assert type(made._mark_non_object_result(result)) is ToolResult
    shaped = mcp_types.CallToolResult(
        content=result.content,
        structured_content=result.structured_content,
        is_error=result.is_error,
        _meta=result.meta,
    )
    return canonical(call_result_text(shaped))


def by_us(made: FunctionTool, value: Any) -> str | None:
    """What we make of it, on the wire; the same goes for the object that middleware gets."""
    text, result = Converter(made).text(value), Converter(made).result(value)
    assert (text is None) == (result is None)
    if text is None or result is None:
        return None
    wanted = made.convert_result(value)
    assert result == wanted
    assert type(result) is type(wanted)
    assert result.model_fields_set == wanted.model_fields_set
    assert canonical(result.model_dump_json().encode()) == canonical(wanted.model_dump_json().encode())
    return canonical(text)


def canonical(text: bytes) -> str:
    """JSON text with its members in order: 1, 1.0 and true stay three different things."""
    return json.dumps(json.loads(text), sort_keys=True)


VALUES: list[tuple[Any, Any]] = [
    (str, "text"),
    (str, ""),
    (int, 5),
    (int, 2**80),
    (bool, True),
    (float, 0.1),
    (float, 3),
    (float, -0.0),
    (list[str], []),
    (list[str], ["a", "é\u2028"]),
    (list[Any], [None, {"a": []}, [1]]),
    (tuple[int, str], (1, "a")),
    (dict[str, int], {"a": 1}),
    (dict[int, int], {1: 1}),
    (dict[str, Any], {}),
    (dict[str, Any], {"a": None, "b": {"c": None}}),
    (Inner, Inner(n=1)),
    (Outer, Outer(inner=[Inner(), Inner(n=2)])),
    (list[Outer], [Outer()]),
    (Record, Record("r", {3})),
    (list[Record], [Record("r")]),
    (Any, "untyped"),
    (Any, {"a": 1}),
    (Any, [1, 2]),
    (Any, Inner(n=1)),
    (str | int, 5),
]


@pytest.mark.parametrize(("annotation", "value"), VALUES)
def test_results_are_those_of_fastmcp(annotation: Any, value: Any) -> None:
    made = tool(annotation)
    assert by_us(made, value) == by_fastmcp(made, value)


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1, 2], 5])
def test_results_without_a_schema_are_those_of_fastmcp(value: Any) -> None:
    made = tool(Any, None)
    assert by_us(made, value) == by_fastmcp(made, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


# Values that are not what the annotation says are serialized all the same, and pydantic warns.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@given(JSON.filter(lambda value: value is not None))
def test_any_json_value_gives_the_result_of_fastmcp(value: Any) -> None:
    for made in (tool(Any), tool(type(value)), tool(dict[str, Any]), tool(list[Any]), tool(Any, None)):
        ours = by_us(made, value)
        if ours is not None:
            assert ours == by_fastmcp(made, value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        float("nan"),
        [float("inf")],
        "\ud83d",
        Color.RED,
        mcp_types.TextContent(type="text", text="t"),
        [1, mcp_types.TextContent(type="text", text="t")],
        mcp_types.CallToolResult(content=[]),
        ToolResult(content="x"),
        object(),
    ],
)
def test_what_fastmcp_has_rules_of_its_own_for_is_left_to_it(value: Any) -> None:
    assert Converter(tool(Any)).text(value) is None
