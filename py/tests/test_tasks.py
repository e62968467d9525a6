"""Tasks in both eras (2026-07-28, extension `io.modelcontextprotocol/tasks`; 2025-11-25
`basic/utilities/tasks`).
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asked import ALL, ERAS, Client
from conftest import Serve
from ferromcp import ConfigurationError, Server
from support import DEADLINE, Message, Peer

EACH_ERA = pytest.mark.parametrize("era", ERAS)
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])
EXTENSION = "io.modelcontextprotocol/tasks"
TAKES_TASKS: dict[str, Any] = {**ALL, "extensions": {EXTENSION: {}}}
DONE = ("completed", "failed", "cancelled")

SOURCE = """
    import asyncio, os, time
    from pathlib import Path

    def until(done):
        end = time.monotonic() + 20
        while not done():
            assert time.monotonic() < end
            time.sleep(0.01)

    @server.tool(task="optional")
    def sync_work(ctx: Context, text: str = "done") -> str:
        ctx.report_progress(1, 2, "half")
        return f"{text} {ctx.task_id is not None}"

    @server.tool(task="optional")
    async def async_work(ctx: Context, text: str = "done") -> str:
        ctx.report_progress(1, 2, "half")
        return f"{text} {ctx.task_id is not None}"

    @server.tool(task="required")
    def sync_only() -> str:
        return "only"

    @server.tool(task="required")
    async def async_only() -> str:
        return "only"

    @server.tool(task="optional")
    def sync_fail() -> str:
        raise ValueError("broken")

    @server.tool(task="optional")
    async def async_fail() -> str:
        raise ValueError("broken")

    FORM = {"type": "object", "properties": {"name": {"type": "string"}}}

    @server.tool(task="optional")
    def sync_ask(ctx: Context) -> str:
        return str(ctx.elicit("Who?", FORM, key="who").wait().content)

    @server.tool(task="optional")
    async def async_ask(ctx: Context) -> str:
        return str((await ctx.elicit("Who?", FORM, key="who")).content)

    @server.tool(task="optional")
    def sync_wait(ctx: Context, path: str) -> str:
        Path(path).touch()
        until(lambda: ctx.cancelled)
        Path(path).write_text(str(ctx.cancel_reason))
        return "too late"

    @server.tool(task="optional")
    async def async_wait(ctx: Context, path: str) -> str:
        Path(path).touch()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            Path(path).write_text(str(ctx.cancel_reason))
            raise

    @server.tool
    def sync_begin(ctx: Context) -> str:
        before = ctx.task_id
        begun = ctx.begin_task().wait()
        again = ctx.begin_task().wait()
        return f"{before} {begun == ctx.task_id == again} {begun is not None}"

    @server.tool
    async def async_begin(ctx: Context) -> str:
        before = ctx.task_id
        begun = await ctx.begin_task()
        again = await ctx.begin_task()
        return f"{before} {begun == ctx.task_id == again} {begun is not None}"
"""


def client_of(peer: Peer, era: str) -> Client:
    return Client(peer, era, TAKES_TASKS)


def begin(client: Client, name: str, /, **arguments: Any) -> Message:
    """Calls a tool as a task; the task as it is at first."""
    ttl = {} if client.era == "modern" else {"task": {}}
    answer = client.peer.answer(client.begin("tools/call", name=name, arguments=arguments, **ttl))
    result: Message = answer["result"]
    if client.era == "modern":
        assert result["resultType"] == "task"
        return result
    task: Message = result["task"]
    return task


def look(client: Client, task: str) -> Message:
    """The task as it is now."""
    result: Message = client.peer.answer(client.begin("tasks/get", taskId=task))["result"]
    return result


def until(client: Client, task: str, *statuses: str) -> Message:
    """Looks until the task has one of these."""
    end = time.monotonic() + DEADLINE
    while True:
        found = look(client, task)
        if found["status"] in statuses:
            return found
        assert time.monotonic() < end, found
        time.sleep(0.01)


def begun(path: Path) -> None:
    """Waits until the tool is at work: a task that is cancelled before that never enters it."""
    end = time.monotonic() + DEADLINE
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def result_of(client: Client, task: str) -> Message:
    """The result of a task that ends."""
    if client.era == "modern":
        result: Message = until(client, task, *DONE)["result"]
        return result
    answer = client.peer.answer(client.begin("tasks/result", taskId=task))
    legacy: Message = answer["result"]
    return legacy


def text_of(result: Message) -> str:
    (block,) = result["content"]
    return str(block["text"])


@EACH_ERA
@KINDS
def test_a_call_becomes_a_task(serve: Serve, era: str, kind: str) -> None:
    client = client_of(serve(SOURCE), era)
    task = begin(client, f"{kind}_work", text="well")
    assert task["status"] in ("working", "completed")
    assert text_of(result_of(client, task["taskId"])) == "well True"
    assert look(client, task["taskId"])["status"] == "completed"
    assert client.peer.finish() == 0


@EACH_ERA
@KINDS
def test_who_takes_no_tasks_gets_an_answer(serve: Serve, era: str, kind: str) -> None:
    client = Client(serve(SOURCE), era)
    answer = client.peer.answer(client.begin_call(f"{kind}_work"))
    assert text_of(answer["result"]) == "done False"
    # "Tool-Level Negotiation": -32601; extension, "Capability Negotiation": -32021.
    refused = client.peer.answer(client.begin_call(f"{kind}_only"))
    assert refused["error"]["code"] == (-32021 if era == "modern" else -32601)


def test_what_definitions_say(serve: Serve) -> None:
    peer = serve(SOURCE)
    tools = {tool["name"]: tool for tool in peer.result("tools/list")["tools"]}
    client = client_of(serve(SOURCE), "legacy")
    answer = client.peer.answer(client.begin("tools/list"))
    legacy = {tool["name"]: tool for tool in answer["result"]["tools"]}
    wanted = {"sync_work": "optional", "sync_only": "required", "sync_begin": "forbidden"}
    for name, support in wanted.items():
        # 2025-11-25 `basic/utilities/tasks`, "Tool-Level Negotiation": nothing is as "forbidden". The
        # extension has no such member: there the server decides.
        assert legacy[name].get("execution", {}).get("taskSupport", "forbidden") == support
        assert "execution" not in tools[name]


def test_support_that_does_not_exist_is_refused() -> None:
    def work() -> None: ...

    with pytest.raises(ConfigurationError, match="sometimes"):
        Server("s").add_tool(work, task="sometimes")  # type: ignore[arg-type]


@EACH_ERA
@KINDS
def test_a_tool_that_fails(serve: Serve, era: str, kind: str) -> None:
    client = client_of(serve(SOURCE), era)
    task = begin(client, f"{kind}_fail")["taskId"]
    ended = until(client, task, *DONE)
    # 2025-11-25, "Task Execution Errors": `isError` fails the task. In the extension it is a result.
    assert ended["status"] == ("completed" if era == "modern" else "failed")
    result = result_of(client, task)
    assert result["isError"] is True
    assert "ValueError: broken" in text_of(result)


@EACH_ERA
@KINDS
def test_a_task_asks(serve: Serve, era: str, kind: str) -> None:
    client = client_of(serve(SOURCE), era)
    accepted = {"action": "accept", "content": {"name": "Ada"}}
    if era == "modern":
        task = begin(client, f"{kind}_ask")["taskId"]
        requests = until(client, task, "input_required")["inputRequests"]
        assert requests["who"]["method"] == "elicitation/create"
        client.peer.answer(client.begin("tasks/update", taskId=task, inputResponses={"who": accepted}))
    else:
        call = client.begin("tools/call", name=f"{kind}_ask", arguments={}, task={})
        task = client.peer.answer(call)["result"]["task"]["taskId"]
        request = next(
            message for message in messages(client.peer) if message.get("method") == "elicitation/create"
        )
        related = request["params"]["_meta"]["io.modelcontextprotocol/related-task"]
        assert related == {"taskId": task}
        client.peer.send({"jsonrpc": "2.0", "id": request["id"], "result": accepted})
    assert text_of(result_of(client, task)) == "{'name': 'Ada'}"


def messages(peer: Peer) -> Any:
    """What has come, and what comes."""
    yield from peer.unasked()
    while True:
        yield peer.message()


@EACH_ERA
@KINDS
def test_cancelling_reaches_the_tool(serve: Serve, tmp_path: Path, era: str, kind: str) -> None:
    client = client_of(serve(SOURCE), era)
    path = tmp_path / "reason"
    task = begin(client, f"{kind}_wait", path=str(path))["taskId"]
    begun(path)
    answer = client.peer.answer(client.begin("tasks/cancel", taskId=task))
    assert "result" in answer, answer
    assert until(client, task, *DONE)["status"] == "cancelled"
    assert client.peer.finish() == 0
    # The tool has seen it before the server's end.
    assert path.read_text()


@KINDS
def test_a_running_call_becomes_a_task(serve: Serve, kind: str) -> None:
    client = client_of(serve(SOURCE), "modern")
    task = begin(client, f"{kind}_begin")["taskId"]
    assert text_of(result_of(client, task)) == "None True True"


@EACH_ERA
@KINDS
def test_a_running_call_goes_on_where_there_are_no_tasks(serve: Serve, era: str, kind: str) -> None:
    # In the legacy era it is the client that decides.
    client = Client(serve(SOURCE), era)
    answer = client.peer.answer(client.begin_call(f"{kind}_begin"))
    assert text_of(answer["result"]) == "None True False"


def test_the_options_of_tasks_reach_the_engine(run_file: Serve) -> None:
    peer = run_file("""
        from ferromcp import Server
        server = Server("s", tasks={"ttlMs": 7000, "pollMs": 50})
        @server.tool(task="optional")
        async def work() -> str:
            return "done"
        server.run(task_store="memory")
    """)
    task = begin(client_of(peer, "modern"), "work")
    assert (task["ttlMs"], task["pollIntervalMs"]) == (7000, 50)


@pytest.mark.parametrize("url", ["nowhere:", "sqlite:/does/not/exist/tasks.db"])
def test_a_store_that_can_not_be_opened_is_said_at_the_start(run_file: Serve, url: str) -> None:
    peer = run_file(f"""
        from ferromcp import Server, TaskStoreError
        server = Server("s")
        try:
            server.run(task_store={url!r})
        except TaskStoreError as error:
            print(error, flush=True)
    """)
    line = peer.line()
    assert line is not None
    assert b"store of tasks" in line
    assert peer.ended() == 0


DURABLE = """
    from ferromcp import Server
    import time
    server = Server("durable", config={{"limits": {{"maxTasks": 2000}}}})
    @server.tool(task="optional")
    def quick(text: str) -> str:
        return text
    @server.tool(task="optional")
    async def {slow}(text: str) -> str:
        import asyncio
        await asyncio.Event().wait()
        return text
    server.run(task_store={url!r})
"""


@pytest.mark.parametrize("era", ERAS)
def test_every_acknowledged_task_survives_kill_9(run_file: Serve, tmp_path: Path, era: str) -> None:
    """Extension, "Task Creation": a task that a client was told of is there, whatever happens."""
    program = DURABLE.format(url=f"sqlite:{tmp_path / 'tasks.db'}", slow="slow")
    client = client_of(run_file(program), era)
    finished = [begin(client, "quick", text=f"text {n}")["taskId"] for n in range(20)]
    texts = [text_of(result_of(client, task)) for task in finished]
    running = [begin(client, "slow", text="never")["taskId"] for _ in range(20)]
    # These are acknowledged while the process is killed: what was not read by then may be there as well.
    ttl = {} if era == "modern" else {"task": {}}
    calls = [client.begin("tools/call", name="slow", arguments={"text": "x"}, **ttl) for _ in range(200)]
    answers = [client.peer.answer(calls[20])]
    client.peer.kill(signal.SIGKILL)
    while (line := client.peer.line()) is not None:
        if line.endswith(b"\n"):  # else it was killed in the middle of it
            answers.append(json.loads(line))
    acknowledged = [answer["result"] for answer in [*client.peer.unasked(), *answers] if "result" in answer]
    running += [result.get("task", result)["taskId"] for result in acknowledged]
    assert len(running) >= 40

    again = client_of(run_file(program), era)
    assert [text_of(result_of(again, task)) for task in finished] == texts
    for task in running:
        lost = look(again, task)
        assert lost["status"] == "failed"
        assert "gone" in lost["statusMessage"]
    assert again.peer.finish() == 0


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Redis or Valkey server that ends with the test; its URL."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    assert program is not None, "make system-packages installs it"
    socket = tmp_path / "redis.sock"
    arguments = [program, "--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path), "--save", ""]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            next(line for line in server.stdout if "ready to accept connections" in line.lower())
            yield f"unix://{socket}"
        finally:
            server.kill()


@EACH_ERA
@KINDS
def test_processes_share_a_store(serve: Serve, tmp_path: Path, redis: str, era: str, kind: str) -> None:
    source = (
        SOURCE
        + f"""
    import functools
    server.run = functools.partial(server.run, task_store={redis!r})
"""
    )
    first, second = (client_of(serve(source), era) for _ in range(2))
    task = begin(first, f"{kind}_work", text="shared")["taskId"]
    assert text_of(result_of(second, task)) == "shared True"
    path = tmp_path / "reason"
    task = begin(first, f"{kind}_wait", path=str(path))["taskId"]
    begun(path)
    assert "result" in second.peer.answer(second.begin("tasks/cancel", taskId=task))
    assert until(first, task, *DONE)["status"] == "cancelled"
    assert first.peer.finish() == 0
    assert path.read_text()


EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "tasks.py"


def test_the_example_and_its_restart(tmp_path: Path) -> None:
    arguments = str(EXAMPLE), str(tmp_path / "tasks.db")
    with Peer(*arguments) as peer:
        client = client_of(peer, "modern")
        task = begin(client, "write_report", topic="crabs")["taskId"]
        said = {"pages": {"action": "accept", "content": {"pages": 2}}}
        for key in ("pages", "page-1", "page-2"):
            request = until(client, task, "input_required")["inputRequests"][key]
            text = request["params"].get("messages", [{}])[0].get("content", {}).get("text")
            page = {"role": "assistant", "content": {"type": "text", "text": f"On: {text}"}, "model": "m"}
            answer = {key: said.get(key, page)}
            client.peer.answer(client.begin("tasks/update", taskId=task, inputResponses=answer))
        wanted = "On: Page 1 on crabs\nOn: Page 2 on crabs"
        assert text_of(result_of(client, task)) == wanted
        counted = begin(client, "count", to=101)["taskId"]
        assert text_of(result_of(client, counted)) == "counted to 101"
        answer = peer.answer(client.begin_call("count", to=1))
        assert text_of(answer["result"]) == "counted to 1"
        peer.kill(signal.SIGKILL)
    for era in ERAS:
        with Peer(*arguments) as peer:
            assert text_of(result_of(client_of(peer, era), task)) == wanted
            assert peer.finish() == 0
