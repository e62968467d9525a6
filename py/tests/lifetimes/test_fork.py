"""Forks: before a server starts, and by a tool while one runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fastmcp import FastMCP
from programs import ASYNC, HOSTED, HOSTS, QUIET, SYNC, is_quiet, program

from conftest import Serve
from ferromcp import explain
from support import MODERN

KINDS = ["def", "async def"]

# The parent's half of a tool that forks: waits for the child and tells how it ended.
WAIT = "os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])"


def test_a_server_made_before_a_fork_runs_in_the_child(run_file: Serve) -> None:
    pid = """
    @server.tool()
    def pid() -> int: return os.getpid()
    """
    run = f"""
    child = os.fork()
    if child == 0:
        server.run()
        os._exit(0)
    os.close(0)
    os.close(1)
    sys.exit({WAIT})
    """
    peer = run_file(program(pid, run=run))
    assert peer.text("pid") != str(peer.process.pid)
    assert peer.finish() == 0


@pytest.mark.parametrize("host", HOSTS)
def test_workers_of_a_preloaded_app(tmp_path: Path, host: str) -> None:
    """As gunicorn does it: the app is made once, and each forked worker serves its own client. The workers
    are there together.
    """
    call = {"name": "who", "arguments": {}, "_meta": MODERN}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    who = """
    @server.tool()
    def who() -> str: return str(os.getpid())
    """
    run = f"""
    ferromcp.explain(server)
    def worker():
        reader, to_worker = os.pipe()
        from_worker, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(reader, 0)
            os.dup2(writer, 1)
            for descriptor in (reader, writer, to_worker, from_worker):
                os.close(descriptor)
            ferromcp.run(server)
            sys.exit(5)
        os.close(reader)
        os.close(writer)
        os.set_inheritable(to_worker, False)
        return child, to_worker, os.fdopen(from_worker, "rb")
    workers = [worker() for _ in range(3)]
    for child, to_worker, _ in workers:
        os.write(to_worker, {request.encode()!r} + b"\\n")
    answers = [json.loads(output.readline())["result"]["content"][0]["text"] for _, _, output in workers]
    for _, to_worker, _ in workers:
        os.close(to_worker)
    assert answers == [str(child) for child, _, _ in workers], answers
    assert [output.read() for _, _, output in workers] == [b"", b"", b""]
    assert [{WAIT} for child, _, _ in workers] == [5, 5, 5]
    """
    path = tmp_path / "program.py"
    path.write_text(program("import json", who, host=host, run=run))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, timeout=50)
    assert done.returncode == 0, done.stderr.decode()
    assert is_quiet(done.stderr)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forked_child_is_told(run_file: Serve, kind: str) -> None:
    """What it asks of the server fails; the parent is not disturbed."""
    fork = f"""
    from ferromcp import Context, ForkedError
    @server.tool()
    {kind} fork(context: Context) -> str:
        reader, writer = os.pipe()
        if os.fork() == 0:
            said = []
            for command in (
                lambda: context.report_progress(1),
                lambda: context.info("text"),
                lambda: server.remove_tool("fork"),
                lambda: server.resource_updated("mem://a"),
            ):
                try:
                    command()
                except ForkedError as error:
                    said.append(str(error))
            os.write(writer, f"{{len(said)}} {{set(said)}} {{context.cancelled}}".encode())
            os._exit(0)
        os.close(writer)
        os.wait()
        return os.read(reader, 1000).decode()
    """
    peer = run_file(program(fork, SYNC), *QUIET)
    assert peer.text("fork") == (
        "4 {'the server belongs to the process that started it, not to this forked child'} False"
    )
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == b""


RETURNED = b"ferromcp: a forked child returned from a served function; it has to leave by os._exit\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("way", "code", "said"),
    [
        ("os._exit(4)", 4, b""),
        ("sys.exit(4)", 4, b""),
        ("sys.exit('gone')", 1, b"gone\n"),
        ("raise KeyboardInterrupt", 130, b""),
        ("return 'from the child'", 1, RETURNED),
    ],
    ids=["_exit", "exit", "text", "interrupt", "return"],
)
def test_how_a_forked_child_leaves(run_file: Serve, kind: str, way: str, code: int, said: bytes) -> None:
    """The client gets the parent's answer and no other; loop and exit functions are left to the parent."""
    fork = f"""
    atexit.register(print, "goodbye")
    @server.tool()
    {kind} fork() -> str:
        child = os.fork()
        if child:
            return str({WAIT})
        {way}
    """
    peer = run_file(program(fork, ASYNC), *QUIET)
    assert peer.text("fork") == str(code)
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert peer.stderr == said + b"goodbye\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", HOSTED)
def test_how_a_child_of_an_existing_app_leaves(run_file: Serve, host: str, kind: str) -> None:
    if host != "mcpserver" and explain(FastMCP("tests")).road != "direct":
        pytest.skip("more of the SDK's own code is round the tool, and asks for the loop, which no child has")
    if host == "middleware" and kind == "def":
        pytest.skip("sync tools run on threads of Python's, where a child that comes back is on its own")
    fork = f"""
    @server.tool()
    {kind} fork(returns: bool) -> str:
        child = os.fork()
        if child:
            return str({WAIT})
        if returns:
            return "from the child"
        sys.exit(4)
    """
    peer = run_file(program(fork, ASYNC, host=host), *QUIET)
    assert peer.text("fork", returns=True) == "1"
    assert peer.text("fork", returns=False) == "4"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert RETURNED in peer.stderr
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("kind", KINDS)
def test_a_child_that_raises(run_file: Serve, kind: str) -> None:
    fork = f"""
    @server.tool()
    {kind} fork() -> str:
        child = os.fork()
        if child:
            return str({WAIT})
        raise ValueError("in the child")
    """
    peer = run_file(program(fork, ASYNC), *QUIET)
    assert peer.text("fork") == "1"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr.endswith(RETURNED)


def test_a_child_that_goes_on_with_the_loop(run_file: Serve) -> None:
    """The loop's own descriptors are shared with the parent, who must not miss anything."""
    fork = f"""
    @server.tool()
    async def fork() -> str:
        child = os.fork()
        if child:
            return str(await asyncio.to_thread(lambda: {WAIT}))
        await asyncio.sleep(0.05)
        return "from the child"
    """
    peer = run_file(program(fork, ASYNC), *QUIET)
    assert peer.text("fork") == "1"
    for _ in range(20):
        assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == RETURNED


@pytest.mark.parametrize("kind", KINDS)
def test_signals_of_a_forked_child_are_its_own(run_file: Serve, kind: str) -> None:
    """SIGTERM ends it and SIGINT interrupts it, as without a server; the parent hears nothing of it. Sent
    until the child has gone: Python 3.13 may sleep on when one comes just before, in a child of any thread.
    """
    fork = f"""
    def interrupted(writer):
        try:
            os.write(writer, b"x")
            time.sleep(600)
        except KeyboardInterrupt:
            os._exit(7)
    @server.tool()
    {kind} fork(number: int) -> str:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            interrupted(writer)
        os.read(reader, 1)
        while True:
            os.kill(child, number)
            time.sleep(0.01)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return str(os.waitstatus_to_exitcode(status))
    """
    peer = run_file(program(fork, SYNC), *QUIET)
    assert peer.text("fork", number=int(signal.SIGTERM)) == str(-signal.SIGTERM)
    assert peer.text("fork", number=int(signal.SIGINT)) == "7"
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == b""


def test_the_client_sees_the_end_although_a_child_goes_on(run_file: Serve) -> None:
    """A forked child holds nothing of the connection open, and can't read from it."""
    fork = """
    @server.tool()
    def fork() -> str:
        child = os.fork()
        if child == 0:
            os.closerange(1, 3)
            time.sleep(600)
        return str(child)
    """
    peer = run_file(program(fork), *QUIET)
    child = int(peer.text("fork"))
    try:
        peer.close()
        assert peer.line() is None
        assert peer.ended() == 0
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("same", [True, False])
def test_a_child_may_serve_streams_of_its_own(run_file: Serve, same: bool) -> None:
    """The same server or another one, once it has put them on its standard input and output."""
    call = {"name": "who", "arguments": {}, "_meta": MODERN}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    fork = f"""
    import json
    other = {"server" if same else "ferromcp.Server('other')"}
    @other.tool
    def who() -> str: return str(os.getpid())
    @server.tool
    def fork() -> str:
        reader, to_child = os.pipe()
        from_child, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(to_child)
            os.dup2(reader, 0)
            os.dup2(writer, 1)
            other.run()
            os._exit(5)
        os.close(writer)
        os.write(to_child, {request.encode()!r} + b"\\n")
        os.close(to_child)
        with os.fdopen(from_child, "rb") as output:
            answer = json.load(output)["result"]["content"][0]["text"]
        return f"{{answer == str(child)}} {{{WAIT}}}"
    """
    peer = run_file(program(fork, SYNC), *QUIET)
    assert peer.text("fork") == "True 5"
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == b""


@pytest.mark.parametrize("host", HOSTS)
def test_many_forks_while_calls_run(run_file: Serve, host: str) -> None:
    """Forks while other threads hold what locks there are: no child gets stuck, and no answer is lost."""
    fork = f"""
    @server.tool()
    def fork() -> str:
        child = os.fork()
        if child == 0:
            os._exit(0)
        return str({WAIT})
    """
    peer = run_file(program(fork, SYNC, ASYNC, host=host), *QUIET)
    began = time.monotonic()
    keys = []
    for _ in range(20):
        keys.append(peer.begin("fork"))
        keys += [peer.begin(tool, text="0") for tool in ("echo", "aecho", "echo")]
    for key in keys:
        assert peer.answer(key)["result"]["content"][0]["text"] == "0"
    assert time.monotonic() - began < 15
    assert peer.finish() == 0
    assert is_quiet(peer.stderr)
