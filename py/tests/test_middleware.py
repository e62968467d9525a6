"""Functions round the calls of host code: in which order, on which thread, and what they can do."""

from __future__ import annotations

import pytest

from asked import ERAS, Client, accept
from conftest import Serve
from ferromcp import ConfigurationError, Server

KINDS = pytest.mark.parametrize("kind", ["sync", "async"])
LAYERS = pytest.mark.parametrize("layers", ["sync", "async", "sync async", "async sync"])

HEAD = """
    import asyncio, threading
    from ferromcp import ToolError

    def where() -> str:
        try:
            asyncio.get_running_loop()
            return "loop"
        except RuntimeError:
            return threading.current_thread().name.split("-")[1].split("_")[0]

    trace = []
"""
TOOLS = """
    @server.tool
    def sync_tool(a: int = 1) -> str:
        trace.append("tool " + where())
        return f"value {a}"

    @server.tool
    async def async_tool(a: int = 1) -> str:
        trace.append("tool " + where())
        await asyncio.sleep(0)
        return f"value {a}"

    @server.tool
    def slow_ask(ctx: Context) -> str:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        return str(ctx.elicit("Who?", form).wait().content)

    @server.resource("mem://{x}")
    def note(x: str) -> str: return x

    @server.prompt
    def greet(style: str = "warm") -> str: return style

    @server.completion("greet", "style")
    def styles(value: str) -> list[str]: return ["warm"]
"""


def layer(kind: str, name: str) -> str:
    """A middleware that writes down where it runs, and puts its name round the value."""
    prefix, wait = ("async ", "await ") if kind == "async" else ("", "")
    return f"""
    @server.middleware
    {prefix}def {name}(call: Context, call_next):
        trace.append("{name} " + where())
        value = {wait}call_next()
        trace.append("{name}")
        if call.method != "tools/call": return value
        return f"{name}({{value}})" + (" " + ",".join(trace) if "{name}" == "one" else "")
"""


@KINDS
@LAYERS
def test_the_first_is_the_outermost(serve: Serve, kind: str, layers: str) -> None:
    names = ["one", "two"]
    kinds = layers.split()
    peer = serve(HEAD + "".join(map(layer, kinds, names)) + TOOLS)
    text = peer.text(f"{kind}_tool", a=5)
    used = names[: len(kinds)]
    value, _, trace = text.partition(") ")
    wanted = "value 5"
    for name in reversed(used):
        wanted = f"{name}({wanted})"
    assert value + ")" == wanted
    events = trace.split(",")
    assert [event.split()[0] for event in events] == [*used, "tool", *reversed(used)]
    places = dict(event.split() for event in events if " " in event)
    # Async ones run on the loop. Sync ones stay on the thread that took the call if all are sync; otherwise
    # they block a worker, and never the loop.
    is_async = {**dict(zip(names, kinds, strict=False)), "tool": kind}
    for name, place in places.items():
        if is_async[name] == "async":
            assert place == "loop"
        else:
            assert place == ("call" if "async" in is_async.values() else places["tool"])
            assert place != "loop"
    assert peer.finish() == 0


def test_the_facts_of_a_call(serve: Serve) -> None:
    peer = serve(
        HEAD
        + """
    @server.middleware
    def facts(call: Context, call_next):
        value = call_next()
        print("FACTS", repr([call.method, call.name, call.arguments, call.principal, call.task_id,
              call.request_id, call.protocol_version, call.client_info["name"], call.meta["vendor/x"]]))
        return value
"""
        + TOOLS
    )
    meta = {"vendor/x": 7}
    key = peer.request("tools/call", meta, name="sync_tool", arguments={"a": 2})
    peer.answer(key)
    peer.hears(
        f"['tools/call', 'sync_tool', {{'a': 2}}, None, None, {key}, '2026-07-28', 'tests', 7]".encode()
    )
    peer.result("resources/read", meta, uri="mem://u")
    peer.hears(b"['resources/read', 'mem://u', {}, None")
    peer.result("prompts/get", meta, name="greet")
    peer.hears(b"['prompts/get', 'greet', {}, None")
    completion = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "style", "value": ""}}
    peer.result("completion/complete", meta, **completion)
    peer.hears(b"['completion/complete', None, {}, None")


@KINDS
@pytest.mark.parametrize("around", ["sync", "async"])
def test_a_result_of_its_own_and_an_error(serve: Serve, kind: str, around: str) -> None:
    prefix = "async " if around == "async" else ""
    wait = "await " if around == "async" else ""
    peer = serve(
        HEAD
        + f"""
    @server.middleware
    {prefix}def gate(call: Context, call_next):
        if call.arguments["a"] == 1: return "mine"
        if call.arguments["a"] == 2: raise ToolError("not you")
        try:
            return {wait}call_next()
        except ValueError as error:
            return f"caught {{error}}"
    @server.tool
    def sync_raise(a: int) -> str: raise ValueError("broken")
    @server.tool
    async def async_raise(a: int) -> str: raise ValueError("broken")
"""
    )
    assert peer.text(f"{kind}_raise", a=1) == "mine"
    assert peer.failure(f"{kind}_raise", a=2) == "not you"
    assert peer.text(f"{kind}_raise", a=3) == "caught broken"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("around", ["sync", "async"])
def test_a_sync_tool_inside_can_ask(serve: Serve, era: str, around: str) -> None:
    client = Client(serve(HEAD + layer(around, "two") + TOOLS), era)
    assert client.call("slow_ask", accept(name="Ada")).text == "two({'name': 'Ada'})"


def test_what_is_inside_ends_with_a_cancelled_call(serve: Serve) -> None:
    peer = serve(
        HEAD
        + layer("sync", "two")
        + """
    @server.tool
    async def endless() -> None:
        print("began")
        try:
            await asyncio.Event().wait()
        finally:
            print("ended")
"""
    )
    key = peer.begin("endless")
    peer.hears(b"began\n")
    peer.notify("notifications/cancelled", requestId=key)
    peer.hears(b"ended\n")
    assert peer.finish() == 0


def test_what_is_added_while_the_server_runs_is_inside_too(serve: Serve) -> None:
    peer = serve(
        HEAD
        + layer("sync", "two")
        + """
    @server.tool
    def add() -> None:
        def late() -> str: return "late"
        server.add_tool(late)
        try:
            server.add_middleware(two)
        except Exception as error:
            raise ToolError(type(error).__name__)
"""
    )
    assert peer.failure("add") == ConfigurationError.__name__
    assert peer.text("late") == "two(late)"


def test_without_any_a_function_is_called_as_it_is() -> None:
    def work() -> None: ...

    server = Server("s")
    server.add_tool(work)
    (item,) = server._declared.values()
    assert server._wrapped(item) is item


def test_a_policy_limits_rates(run_file: Serve) -> None:
    peer = run_file("""
        from ferromcp import Server
        server = Server("s", policy={"rateLimits": {"few": {"calls": 2, "periodMs": 3_600_000}}})
        @server.tool
        def work() -> str: return "done"
        server.run()
    """)
    assert [peer.text("work"), peer.text("work")] == ["done", "done"]
    assert "few" in peer.failure("work")


def test_a_policy_that_is_wrong_is_refused(run_file: Serve) -> None:
    peer = run_file("""
        from ferromcp import ConfigurationError, Server
        try:
            Server("s", policy={"unknown": 1}).run()
        except ConfigurationError as error:
            print(error, flush=True)
    """)
    line = peer.line()
    assert line is not None
    assert b"unknown" in line
