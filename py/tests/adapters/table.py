"""The requests whose answers are compared: (label, method, params). Asked in this order, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, "dict[str, Any] | None"]


def call(tool: str, *, meta: dict[str, Any] | None = None, **arguments: Any) -> Row:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if meta is not None:
        params["_meta"] = meta
    label = f"{tool}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    return label if meta is None else f"{label} {meta}", "tools/call", params


TOKEN = {"progressToken": "token"}
LEVEL = {"io.modelcontextprotocol/logLevel": "info"}
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

_SURFACE: list[Row] = [
    ("lists tools", "tools/list", None),
    ("lists resources", "resources/list", None),
    ("lists templates", "resources/templates/list", None),
    ("lists prompts", "prompts/list", None),
    ("bad cursor", "tools/list", {"cursor": "nonsense"}),
    ("reads text", "resources/read", {"uri": "mem://note"}),
    ("reads bytes", "resources/read", {"uri": "mem://bytes"}),
    ("reads a template", "resources/read", {"uri": "mem://users/ann"}),
    ("reads what fails", "resources/read", {"uri": "mem://users/nobody"}),
    ("reads what is not there", "resources/read", {"uri": "mem://nothing"}),
    ("gets a prompt", "prompts/get", {"name": "ask", "arguments": {"topic": "rust"}}),
    ("gets a prompt with too little", "prompts/get", {"name": "ask"}),
    ("gets no prompt", "prompts/get", {"name": "nothing"}),
    (
        "completes",
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "topic", "value": "py"}},
    ),
    ("custom method", "example/unknown", {"a": 1}),
    ("call without a name", "tools/call", {"arguments": {}}),
    ("call with a number for a name", "tools/call", {"name": 5}),
    ("call without arguments", "tools/call", {"name": "nothing"}),
    ("call with null arguments", "tools/call", {"name": "nothing", "arguments": None}),
    ("call with a list for arguments", "tools/call", {"name": "add", "arguments": [1, 2]}),
    ("call with a field nobody knows", "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}, "x": 1}),
]

_TOOLS: list[Row] = [
    call("add", a=1, b=2),
    call("add", a="3", b=4),
    call("add", a="x"),
    call("add", a=1, b=2, c=3),
    call("add", a=2**70, b=1),
    call("add", meta={**TOKEN}, a=1, b=2),
    call("add", meta={"progressToken": 7, **LEVEL}, a=1, b=2),
    call("add", meta={**TRACE, "own": {"x": 1}}, a=1, b=2),
    call("aadd", a=1, b=2),
    call("aadd", a=1, b=-2),
    call("text", value=""),
    call("text", value='quotes " \\ \n\t\u2028 é 漢 🎉 \u0000 end'),
    call("text", value="x" * 100_000),
    call("number", value=1),
    call("number", value=0.1),
    call("number", value=1e300),
    call("nothing"),
    call("anything", value={"a": [1, None, {"b": "c"}]}),
    call("anything", value=[1, "two"]),
    call("anything", value="text"),
    call("anything", value=None),
    call("move", point={"x": 1}, by=[1, 2]),
    call("move", point={"x": "one"}, by=[1]),
    call("move", point='{"x": 5}', by="[1, 2]"),
    call("move", point={"x": 1}, by=[]),
    call("search", query="q"),
    call("search", query="q", limit=0),
    call("blocks"),
    call("whole"),
    call("fail", kind="tool"),
    call("fail", kind="protocol"),
    call("fail", kind="stop"),
    call("fail", kind="other"),
    call("afail", kind="tool"),
    call("afail", kind="protocol"),
    call("afail", kind="other"),
    call("where"),
    call("where"),
    call("back"),
    call("context"),
    call("context", meta=TOKEN),
    call("report", n=2),
    call("report", meta=TOKEN, n=2),
    call("report", meta={**TOKEN, **LEVEL}, n=2),
    call("read", uri="mem://note"),
    call("read", uri="mem://nothing"),
    call("elicit"),
    call("sample"),
    call("roots"),
    call("ask_later"),
    call("sync_ask"),
    call("nosuchtool"),
    call("slow", ms=1),
    call("grow", name="grown"),
    call("grown"),
    ("lists the grown tool", "tools/list", None),
]

MCPSERVER = [*_SURFACE, *_TOOLS]

FASTMCP = [
    *_SURFACE,
    ("sets the level", "logging/setLevel", {"level": "info"}),
    *_TOOLS,
    call("search", query="q", order="down"),
    call("search", query="q", order="sideways"),
    call("infinite"),
    call("image"),
    call("loose"),
    call("own_result", error=False),
    call("own_result", error=True),
    call("counted", n=3),
    call("acounted", n=2),
    call("awaited", n=4),
    call("fail", kind="capability"),
    call("fail", kind="pydantic"),
    call("afail", kind="pydantic"),
    call("hasty", ms=0),
    call("hasty", ms=500),
    call("where_loop"),
    call("context_found"),
    call("context_found", meta=TOKEN),
    call("context_sync", a=1),
    call("context_sync", a=1, ctx=5),
    call("depends", a=1),
    call("depends", a=1, b=5),
    call("nested"),
    call("add", meta={"fastmcp": {"version": "2"}}, a=1, b=2),
    call("hide", name="text"),
    call("text", value="hidden?"),
    ("lists without the hidden tool", "tools/list", None),
    call("add", a=5, b=6),
]

MIDDLEWARE = [
    ("lists tools", "tools/list", None),
    ("reads text", "resources/read", {"uri": "mem://note"}),
    ("gets a prompt", "prompts/get", {"name": "ask", "arguments": {"topic": "rust"}}),
    call("add", a=1, b=2),
    call("text", value="refuse"),
    call("fail", kind="tool"),
    call("what_was_watched"),
    *FASTMCP,
]


def _deeds() -> Iterator[Row]:
    """Everything that the watching server's middleware does, with a tool on a thread and one on the loop."""
    for tool in ("act", "aact"):
        for do in (
            *("mutate", "replace", "spoil", "strip", "other_method", "other_type"),
            *("text", "image", "structured", "no_structure", "bad_content", "list_structure"),
            *("meta", "as_error", "copied", "looked_at", "twice", "in_a_task", "at_once", "late", "in_time"),
            *("in_time_anyio", "other_tool", "describe", "keep", "tell", "tags", "variable", "ask"),
        ):
            yield call(tool, do=do, value="v")
        yield call(tool, meta={**TOKEN, **LEVEL}, do="tell", value="v")
        yield call(tool, meta={"progressToken": 7}, do="describe", value="v")
        for value in ("add", "kept", "where", "context", "ask_later", "versioned", "nosuchtool"):
            yield call(tool, do="reroute", value=value)
        kinds = ("tool", "mcp", "capability", "value", "missing", "disabled", "invalid", "pydantic", "stop")
        for kind in kinds:
            yield call(tool, do="refuse", value=kind)
            yield call(tool, do="refuse_after", value=kind)
            for do in ("let_fail", "explain", "chained"):
                yield call(tool, do=do, value=f"fail {kind}")
        for value in ("result", "error", "protocol", "dict", "none", "text", "exception", "input", "wrapped"):
            yield call(tool, do="short", value=value)
        for do in ("in_time", "in_time_anyio"):
            yield call(tool, do=do, value="slowly")
        yield call("what_was_seen")


def _changes() -> Iterator[Row]:
    """What the watching server changes while it runs, each followed by calls that see it."""
    looks = [call("add", a=1, b=2), call("act", do="meta", value="v"), call("grown"), call("what_was_seen")]
    for what in ("grow", "regrow", "shrink", "hide", "show", "hide tagged", "show all", "watch", "unwatch"):
        yield call("change", what=what)
        yield from looks
    for hide in (True, False):
        yield call("session", hide=hide)
        yield from looks
        yield ("lists tools", "tools/list", None)
    for what in ("mount", "name"):
        yield call("change", what=what)
        yield from looks
        yield call("childs")
    yield call("n_add", a=1, b=2)
    yield call("n_what_was_seen")


# Middleware sees a ping, and what is refused before any handler.
_REFUSED: list[Row] = [
    ("pings", "ping", None),
    ("call without a name", "tools/call", {"arguments": {}}),
    ("method that nobody has", "does/not/exist", {"a": 1}),
    ("token that is none", "tools/call", {"name": "add", "_meta": {"progressToken": []}}),
    ("cursor that is none", "tools/list", {"cursor": 5}),
    ("level that is none", "logging/setLevel", {"level": "loud"}),
    ("read of nothing", "resources/read", {}),
]

WATCHING: list[Row] = [
    call("what_was_seen"),
    ("lists tools", "tools/list", None),
    ("reads text", "resources/read", {"uri": "mem://note"}),
    ("sets the level", "logging/setLevel", {"level": "debug"}),
    call("what_was_seen"),
    call("act", do="describe", value="first"),
    call("kept"),
    call("act", do="keep", value="one"),
    call("act", do="reroute", value="kept"),
    call("aact", do="keep", value="two"),
    call("kept"),
    call("act"),
    call("act", do=5),
    call("act", meta={"fastmcp": {"version": "2"}}, do="meta", value="v"),
    call("act", meta=TRACE, do="describe", value="v"),
    call("versioned"),
    call("versioned", meta={"fastmcp": {"version": "1.0"}}),
    call("ask_later"),
    call("nosuchtool"),
    ("call with a field nobody knows", "tools/call", {"name": "add", "arguments": {"a": 1}, "x": 1}),
    (
        "call with answers",
        "tools/call",
        {"name": "act", "arguments": {"do": "describe"}, "inputResponses": {}},
    ),
    call("what_was_seen"),
    *_deeds(),
    *_changes(),
    *_REFUSED,
    call("what_was_seen"),
]

BUNDLED: list[Row] = [
    ("lists tools", "tools/list", None),
    call("add", a=1, b=2),
    call("add", a="x"),
    call("cached", value="a"),
    call("cached", value="a"),
    call("cached", value="b"),
    call("long", n=10),
    call("long", n=1000),
    call("injected", text="t"),
    call("shadowed"),
    call("flaky", times=2),
    call("flaky", times=5),
    call("nosuchtool"),
    *(call("fail", kind=kind) for kind in ("tool", "value", "key", "permission", "timeout", "mcp")),
    call("what_was_logged"),
]

LOWLEVEL: list[Row] = [
    ("lists tools", "tools/list", None),
    ("lists more", "tools/list", {"cursor": "more"}),
    ("bad cursor", "tools/list", {"cursor": "bad"}),
    ("custom method", "example/double", {"value": 21}),
    ("custom method with bad params", "example/double", {"value": "x"}),
    call("echo", text="hi"),
    call("dict"),
    call("bad"),
    call("none"),
    call("error"),
    call("crash"),
    call("nosuchtool"),
    call("watched"),
    ("sets the level", "logging/setLevel", {"level": "info"}),
    ("sets a level that is none", "logging/setLevel", {"level": "loud"}),
    ("subscribes", "resources/subscribe", {"uri": "mem://a"}),
    ("unsubscribes", "resources/unsubscribe", {"uri": "mem://a"}),
    ("lists prompts", "prompts/list", None),
]
