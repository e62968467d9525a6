"""What happens round a call: arguments, context, progress, log, cancellation, exceptions, concurrency."""

from __future__ import annotations

import time
from typing import Any

from conftest import Serve


def test_arguments_arrive_as_annotated(serve: Serve) -> None:
    peer = serve(
        """
        import enum, dataclasses
        class Colour(enum.Enum):
            RED = "red"
        @dataclasses.dataclass
        class Point:
            x: float
        @server.tool
        def show(i: int = 0, f: float = 0.0, s: set[int] | None = None, t: tuple[int, str] = (0, ""),
                 c: Colour | None = None, p: Point | None = None, l: list[float] | None = None) -> str:
            return repr((i, f, s, t, c, p, l))
        @server.tool
        def anything(a, **rest): return repr((a, rest))
        """
    )
    shown = peer.text("show", i=1.0, f=1, s=[1], t=[2.0, "x"], c="red", p={"x": 1}, l=[1, 2.5])
    assert shown == "(1, 1.0, {1}, (2, 'x'), <Colour.RED: 'red'>, Point(x=1.0), [1.0, 2.5])"
    assert peer.text("show", i=10**30, f=0.5) == f"({10**30}, 0.5, None, (0, ''), None, None, None)"
    assert peer.text("anything", a=[1.0], b=2) == "([1.0], {'b': 2})"
    peer.write(
        b'{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":"anything",'
        b'"arguments":{"a":[1e400,"a\\ud83d"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n'
    )
    assert peer.answer(900)["result"]["content"][0]["text"] == r"([inf, 'a\ud83d'], {})"


def test_arguments_that_do_not_fit_never_reach_python(serve: Serve) -> None:
    peer = serve(
        """
        calls = []
        @server.tool
        def add(a: int, b: int) -> int:
            calls.append(a)
            return a + b
        @server.tool
        def count() -> int: return len(calls)
        """
    )
    for arguments in ({"a": "x", "b": 1}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1.5, "b": 1}):
        assert peer.call("add", **arguments)["isError"] is True
    assert peer.call("count")["structuredContent"] == 0
    assert peer.call("add", a=1, b=2)["structuredContent"] == 3


def test_pydantic_arguments(serve: Serve) -> None:
    peer = serve(
        """
        import datetime
        from typing import Annotated
        from pydantic import BaseModel, Field, field_validator
        class User(BaseModel):
            name: str
            born: datetime.date
            @field_validator("name")
            @classmethod
            def check(cls, value: str) -> str:
                if value == "bad":
                    raise ValueError("no such name")
                return value
        @server.tool
        def greet(user: User, size: int = Field(default=3, le=9)) -> User:
            assert isinstance(user.born, datetime.date)
            return user.model_copy(update={"name": user.name * size})
        """
    )
    user = {"name": "a", "born": "2020-01-02"}
    assert peer.call("greet", user=user)["structuredContent"] == {"name": "aaa", "born": "2020-01-02"}
    assert peer.call("greet", user=user, size=99)["isError"] is True
    refused = peer.failure("greet", user={"name": "bad", "born": "2020-01-02"})
    assert refused == "Invalid arguments for tool 'greet': user: name: Value error, no such name"


def test_exceptions(serve: Serve) -> None:
    peer = serve(
        """
        from ferromcp import MCPError, ToolError
        def boom(kind):
            if kind == "tool": raise ToolError("just this")
            if kind == "value": raise ValueError("no luck")
            if kind == "empty": raise KeyError
            if kind == "rpc": raise MCPError(-32001, "mine", {"a": [1]})
            if kind == "surrogate": raise ValueError("\\ud800")
        @server.tool
        def sync(kind: str): boom(kind)
        @server.tool
        async def aio(kind: str): boom(kind)
        """
    )
    for tool in ("sync", "aio"):
        assert peer.failure(tool, kind="tool") == "just this"
        assert peer.failure(tool, kind="value") == f"Error calling tool '{tool}': ValueError: no luck"
        assert peer.failure(tool, kind="empty") == f"Error calling tool '{tool}': KeyError"
        error = peer.error("tools/call", name=tool, arguments={"kind": "rpc"})
        assert error["message"] == "mine"
        assert error["data"] == {"a": [1]}
        assert peer.call(tool, kind="surrogate")["isError"] is True
    assert peer.finish() == 0
    assert b'raise ValueError("no luck")' in peer.stderr  # the traceback is for whoever runs the server
    assert b"just this" not in peer.stderr


def test_an_argument_error_code_of_the_users_own_to_a_legacy_peer(serve: Serve) -> None:
    peer = serve(
        """
        from ferromcp import MCPError
        @server.tool
        def fail(): raise MCPError(-32001, "mine")
        """
    )
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    peer.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})
    assert peer.message()["result"]["protocolVersion"] == "2025-06-18"
    peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    peer.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fail"}})
    assert peer.message()["error"] == {"code": -32001, "message": "mine"}


CONTEXT = """
import asyncio, contextvars, time
from ferromcp import current_context
var = contextvars.ContextVar("var", default="unset")
var.set("from the module")

@server.tool
def sync(value: str, ctx: Context) -> str:
    before = var.get()
    var.set(value)
    same = current_context().request_id == ctx.request_id
    return f"{before} {var.get()} {same}"

@server.tool
async def aio(value: str, ctx: Context) -> str:
    before = var.get()
    var.set(value)
    await asyncio.sleep(0)
    async def child(): return var.get()
    inside = await asyncio.create_task(child())
    in_thread = await asyncio.to_thread(lambda: current_context().request_id)
    return f"{before} {inside} {in_thread == ctx.request_id}"
"""


def test_context_variables_stay_in_their_request(serve: Serve) -> None:
    peer = serve(CONTEXT)
    for tool in ("sync", "aio"):
        keys = [peer.begin(tool, value=f"v{n}") for n in range(20)]
        for n, key in enumerate(keys):
            text = peer.answer(key)["result"]["content"][0]["text"]
            assert text == f"from the module v{n} True"


def test_outside_of_a_request_there_is_no_context() -> None:
    import pytest

    from ferromcp import current_context

    with pytest.raises(LookupError):
        current_context()


def test_what_a_context_knows(serve: Serve) -> None:
    peer = serve(
        """
        @server.tool
        def facts(ctx: Context) -> dict:
            return {
                "id": ctx.request_id, "version": ctx.protocol_version, "client": ctx.client_info,
                "capabilities": ctx.client_capabilities, "own": ctx.meta["own"], "cancelled": ctx.cancelled,
            }
        """
    )
    key = peer.begin("facts", {"own": 1})
    facts = peer.answer(key)["result"]["content"][0]["text"]
    assert facts == (
        f'{{"id":{key},"version":"2026-07-28","client":{{"name":"tests","version":"1"}},'
        '"capabilities":{},"own":1,"cancelled":false}'
    )


PROGRESS = """
@server.tool
def sync(ctx: Context) -> str:
    ctx.report_progress(1, 3, "one")
    ctx.report_progress(1, 3)
    ctx.report_progress(2.5, 3)
    ctx.log("warning", {"a": [1, "\\ud800"]}, "here")
    ctx.debug("not wanted")
    return "done"
@server.tool
async def aio(ctx: Context) -> str:
    await ctx.report_progress(1, 3, "one")
    await ctx.report_progress(1, 3)
    ctx.report_progress(2.5, 3)
    await ctx.warning({"a": [1, "\\ud800"]}, "here")
    await ctx.debug("not wanted")
    return "done"
"""


def test_progress_and_log(serve: Serve) -> None:
    peer = serve(PROGRESS)
    for tool in ("sync", "aio"):
        meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"}
        peer.answer(peer.begin(tool, meta))
        notes = [(message["method"], message["params"]) for message in peer.unasked()]
        assert notes == [
            ("notifications/progress", {"progressToken": "t", "progress": 1, "total": 3, "message": "one"}),
            ("notifications/progress", {"progressToken": "t", "progress": 2.5, "total": 3}),
            ("notifications/message", {"level": "warning", "logger": "here", "data": {"a": [1, "\ud800"]}}),
        ]
        peer.answer(peer.begin(tool))
        assert peer.unasked() == []


def test_progress_is_sent_while_a_sync_tool_runs(serve: Serve) -> None:
    peer = serve(
        """
        import time
        @server.tool
        def slow(ctx: Context) -> str:
            ctx.report_progress(1)
            while not ctx.cancelled:
                time.sleep(0.005)
            return "never seen"
        """
    )
    key = peer.begin("slow", {"progressToken": 7})
    assert peer.message()["params"]["progressToken"] == 7
    peer.notify("notifications/cancelled", requestId=key)
    peer.result("tools/list")
    assert peer.unasked() == []


CANCELLED = """
import asyncio, time
seen = []
@server.tool
def sync(ctx: Context) -> str:
    ctx.report_progress(1)
    while not ctx.cancelled:
        time.sleep(0.002)
    seen.append(f"sync: {ctx.cancel_reason}")
    return "late"
@server.tool
async def aio(ctx: Context) -> str:
    assert ctx.cancel_reason is None
    try:
        ctx.report_progress(1)
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        seen.append(f"aio: {ctx.cancel_reason}")
        raise
    return "late"
@server.tool
async def stubborn(ctx: Context) -> str:
    try:
        ctx.report_progress(1)
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        seen.append("stubborn")
    return "late"
@server.tool
def what() -> list[str]: return sorted(seen)
@server.tool
async def selfish() -> str:
    raise asyncio.CancelledError
"""


def test_cancellation(serve: Serve) -> None:
    peer = serve(CANCELLED)
    for tool in ("sync", "aio", "stubborn"):
        key = peer.begin(tool, {"progressToken": 1})
        assert peer.message()["method"] == "notifications/progress"
        peer.notify("notifications/cancelled", requestId=key, reason="enough")
    end = time.monotonic() + 10
    while (seen := peer.call("what")["structuredContent"]) != ["aio: enough", "stubborn", "sync: enough"]:
        assert time.monotonic() < end, seen
    assert peer.unasked() == []
    assert peer.failure("selfish").endswith("CancelledError")


def test_a_cancelled_call_in_a_burst_is_not_started(serve: Serve) -> None:
    peer = serve(
        """
        import time
        ran = []
        @server.tool
        async def aio(n: int) -> int:
            ran.append(n)
            return n
        @server.tool
        async def block() -> int:
            time.sleep(0.3)
            return 0
        @server.tool
        def what() -> list[int]: return ran
        """
    )
    peer.answer(peer.begin("aio", n=0))
    block = peer.begin("block")
    time.sleep(0.1)  # the loop is inside `block` now
    key = peer.begin("aio", n=1)
    last = peer.begin("aio", n=2)
    peer.notify("notifications/cancelled", requestId=key)
    peer.answer(block)
    peer.answer(last)
    assert peer.call("what")["structuredContent"] == [0, 2]


def test_blocked_tools_hold_nobody_up(serve: Serve) -> None:
    peer = serve(
        """
        import time, threading
        both = threading.Barrier(2)
        @server.tool
        def meet() -> str:
            both.wait(10)
            return "met"
        @server.tool
        async def aio(n: int) -> int: return n
        @server.tool
        def quick(n: int) -> int: return n
        """
    )
    first = peer.begin("meet")
    assert peer.call("quick", n=1)["structuredContent"] == 1
    assert peer.call("aio", n=2)["structuredContent"] == 2
    second = peer.begin("meet")
    for key in (first, second):
        assert peer.answer(key)["result"]["content"][0]["text"] == "met"


def test_many_at_once_are_all_answered(serve: Serve) -> None:
    peer = serve(
        """
        import asyncio, time
        @server.tool
        def sync(n: int) -> int:
            if n % 50 == 0: time.sleep(0.005)
            return n
        @server.tool
        async def aio(n: int) -> int:
            if n % 3 == 0: await asyncio.sleep(0)
            return n
        """
    )
    keys = {peer.begin("sync" if n % 2 else "aio", n=n): n for n in range(600)}
    for key, n in keys.items():
        assert peer.answer(key)["result"]["structuredContent"] == n


def test_sync_functions_that_give_awaitables(serve: Serve) -> None:
    peer = serve(
        """
        import asyncio
        async def inner(n):
            await asyncio.sleep(0)
            return n * 2
        @server.tool
        def hidden(n: int): return inner(n)
        class Tool:
            async def __call__(self, n: int): return await inner(n)
        server.add_tool(Tool(), name="object")
        server.add_tool(lambda n: n, name="lambda")
        """
    )
    assert peer.text("hidden", n=2) == "4"
    assert peer.text("object", n=3) == "6"
    assert peer.text("lambda", n=4) == "4"


def test_tools_that_come_and_go_while_running(serve: Serve) -> None:
    peer = serve(
        """
        @server.tool
        def add() -> str:
            async def later() -> str: return "async after all"
            server.add_tool(later)
            return "added"
        @server.tool
        def remove() -> bool: return server.remove_tool("later")
        """
    )
    assert peer.error("tools/call", name="later")["code"] == -32602
    assert peer.text("add") == "added"
    assert peer.text("later") == "async after all"
    assert peer.call("remove")["structuredContent"] is True
    assert peer.error("tools/call", name="later")["code"] == -32602
    assert peer.call("remove")["structuredContent"] is False


def test_large_values(serve: Serve) -> None:
    peer = serve(
        """
        @server.tool
        def echo(text: str) -> str: return text
        @server.tool
        async def aecho(text: str) -> str: return text
        """
    )
    for tool in ("echo", "aecho"):
        text = 'é\n"' * 300_000
        assert peer.text(tool, text=text) == text


def test_schema_of_another_dialect(serve: Serve) -> None:
    peer = serve(
        """
        @server.tool(input_schema={"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                                   "properties": {"a": {"items": [{"type": "integer"}]}}})
        def f(a): return a
        """
    )
    assert peer.text("f", a=[1, "x"]) == '[1,"x"]'
    result: Any = peer.call("f", a=["x"])
    assert result["isError"] is True
