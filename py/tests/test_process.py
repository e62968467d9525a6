"""The process round the server: its descriptors, its end, signals, and calls that do not end."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import Serve
from support import Peer, write_server

SIGNALS = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]

ECHO = """
import asyncio, os, subprocess, sys, time
@server.tool
def echo(text: str) -> str: return text
@server.tool
def block(seconds: float, ctx: Context) -> str:
    ctx.report_progress(1)
    time.sleep(seconds)
    return "slept"
"""

ASYNC = """
@server.tool
async def aecho(text: str) -> str: return text
@server.tool
async def wait(seconds: float, ctx: Context) -> str:
    ctx.report_progress(1)
    await asyncio.sleep(seconds)
    return "slept"
@server.tool
async def hog(seconds: float, ctx: Context) -> str:
    ctx.report_progress(1)
    time.sleep(seconds)
    return "slept"
@server.tool
async def offload(seconds: float, ctx: Context) -> str:
    ctx.report_progress(1)
    return await asyncio.to_thread(time.sleep, seconds)
"""

BOTH = [pytest.param(ECHO, id="sync"), pytest.param(ECHO + ASYNC, id="loop")]


def begun(peer: Peer, tool: str, **arguments: object) -> int:
    """A call that has certainly begun."""
    key = peer.begin(tool, {"progressToken": 1}, **arguments)
    assert peer.message()["method"] == "notifications/progress"
    return key


@pytest.mark.parametrize("source", BOTH)
def test_end_of_input(serve: Serve, source: str) -> None:
    peer = serve(source)
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert peer.stderr == b""


@pytest.mark.parametrize(
    ("source", "tool"), [(ECHO, "block"), (ECHO + ASYNC, "block"), (ECHO + ASYNC, "wait")]
)
def test_calls_in_flight_are_drained(serve: Serve, source: str, tool: str) -> None:
    peer = serve(source)
    key = peer.begin(tool, seconds=0.3)
    peer.close()
    assert peer.answer(key)["result"]["content"][0]["text"] == "slept"
    assert peer.ended() == 0


def test_nothing_but_input(tmp_path: Path) -> None:
    path = write_server(tmp_path, ECHO)
    call = {
        "name": "echo",
        "arguments": {"text": "x"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + "\n"
    done = subprocess.run(
        [sys.executable, path], input=line.encode(), capture_output=True, timeout=20, check=True
    )
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "x"
    done = subprocess.run(
        [sys.executable, path], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True
    )
    assert done.stdout == b""


STUCK = [
    pytest.param("block", id="sync"),
    pytest.param("hog", id="loop"),
    pytest.param("offload", id="executor"),
]


@pytest.mark.parametrize("tool", STUCK)
def test_a_call_that_does_not_end_is_left_behind(run_file: Serve, tool: str) -> None:
    source = "from ferromcp import Context, Server\nimport atexit\nserver = Server('s')\n" + ECHO + ASYNC
    peer = run_file(source + "\natexit.register(print, 'goodbye')\nserver.run(drain=0.2)\n")
    begun(peer, tool, seconds=600)
    start = time.monotonic()
    assert peer.finish() == 0
    assert time.monotonic() - start < 5
    assert peer.stderr.count(b"goodbye") == 1


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("source", BOTH)
def test_signals_while_idle(serve: Serve, source: str, number: signal.Signals, code: int) -> None:
    peer = serve(source)
    assert peer.text("echo", text="x") == "x"
    start = time.monotonic()
    peer.kill(number)
    assert peer.ended() == code
    assert time.monotonic() - start < 2
    assert peer.stderr == b""


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("tool", [*STUCK, "wait"])
def test_signals_while_a_call_runs(serve: Serve, tool: str, number: signal.Signals, code: int) -> None:
    peer = serve(ECHO + ASYNC)
    begun(peer, tool, seconds=600)
    start = time.monotonic()
    peer.kill(number)
    assert peer.ended() == code
    assert time.monotonic() - start < 5


def test_a_handler_of_the_users_own_is_kept(run_file: Serve) -> None:
    peer = run_file(
        """
        import signal, sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def echo(text: str) -> str: return text
        def mine(number, frame):
            sys.stderr.write("mine\\n")
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, mine)
        try:
            server.run()
        except KeyboardInterrupt:
            sys.exit(7)
        """
    )
    assert peer.text("echo", text="x") == "x"
    peer.kill(signal.SIGINT)
    assert peer.ended() == 7
    assert peer.stderr == b"mine\n"


def test_the_reader_is_gone(serve: Serve) -> None:
    peer = serve(ECHO)
    assert peer.text("echo", text="x") == "x"
    # The writing side of the input stays open.
    assert peer.process.stdout is not None
    os.close(os.dup(peer.process.stdout.fileno()))
    peer.kill(signal.SIGTERM)
    assert peer.ended() == 143


def test_the_reader_is_gone_for_real(tmp_path: Path) -> None:
    path = write_server(tmp_path, ECHO)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, path], stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.close(reader)
    try:
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def test_what_is_printed_does_not_reach_the_peer(run_file: Serve) -> None:
    peer = run_file(
        """
        import os, subprocess, sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def noisy(text: str) -> str:
            print("printed")
            sys.__stdout__.write("written\\n")
            os.write(1, b"raw\\n")
            subprocess.run(["echo", "child"], check=True)
            return text
        @server.tool
        def child_input() -> str:
            return subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout.decode()
        print("before", flush=False)
        server.run()
        print("after")
        """
    )
    assert peer.text("noisy", text="x") == "x"
    assert peer.text("child_input") == ""
    assert peer.finish() == 0
    assert peer.line() is None
    for word in (b"before", b"printed", b"written", b"raw", b"child", b"after"):
        assert word in peer.stderr


def test_nothing_reaches_the_peer_after_a_signal(run_file: Serve) -> None:
    peer = run_file(
        """
        import atexit
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def echo(text: str) -> str: return text
        atexit.register(print, "goodbye")
        server.run()
        """
    )
    assert peer.text("echo", text="x") == "x"
    peer.kill(signal.SIGTERM)
    assert peer.ended() == 143
    assert peer.line() is None
    assert b"goodbye" in peer.stderr


def test_threads_and_timers_do_not_hold_the_process(run_file: Serve) -> None:
    peer = run_file(
        """
        import threading, time
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def echo(text: str) -> str: return text
        threading.Timer(600, print).start()
        server.run()
        """
    )
    assert peer.text("echo", text="x") == "x"
    start = time.monotonic()
    assert peer.finish() == 0
    assert time.monotonic() - start < 3


def test_code_after_run_is_reached(run_file: Serve) -> None:
    peer = run_file(
        """
        import sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def echo(text: str) -> str: return text
        server.run()
        sys.exit(5)
        """
    )
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 5


def test_serving_inside_a_running_loop(run_file: Serve) -> None:
    peer = run_file(
        """
        import asyncio, sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def echo(text: str) -> str: return text
        @server.tool
        async def aecho(text: str) -> str:
            await asyncio.sleep(0)
            return text
        async def main():
            ticks = 0
            async def tick():
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.01)
                    ticks += 1
            ticker = asyncio.create_task(tick())
            await server.serve()
            ticker.cancel()
            assert ticks
        asyncio.run(main())
        print("main is done", file=sys.stderr)
        """
    )
    assert peer.text("echo", text="x") == "x"
    time.sleep(0.05)
    assert peer.text("aecho", text="y") == "y"
    assert peer.finish() == 0
    assert peer.stderr == b"main is done\n"


def test_a_thread_that_is_not_the_main_one(run_file: Serve) -> None:
    for coroutine in ("", "async "):
        peer = run_file(
            f"""
            import threading
            from ferromcp import Server
            server = Server("s")
            @server.tool
            {coroutine}def echo(text: str) -> str: return text
            thread = threading.Thread(target=server.run)
            thread.start()
            thread.join()
            """
        )
        assert peer.text("echo", text="x") == "x"
        assert peer.finish() == 0
        assert peer.stderr == b""


def test_an_async_function_that_exits(run_file: Serve) -> None:
    peer = run_file(
        """
        import sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        async def leave() -> str: sys.exit(3)
        server.run()
        """
    )
    peer.begin("leave")
    assert peer.ended() == 3


def test_a_server_runs_once_at_a_time(run_file: Serve) -> None:
    peer = run_file(
        """
        from ferromcp import ConfigurationError, Server
        server = Server("s")
        @server.tool
        def again() -> str:
            try:
                server.run()
            except ConfigurationError as error:
                return str(error)
            return "ran"
        server.run()
        """
    )
    assert peer.text("again") == "server 's' is running already"
    assert peer.finish() == 0


def test_loops(run_file: Serve) -> None:
    for loop in ("asyncio", "uvloop"):
        if loop == "uvloop":
            pytest.importorskip("uvloop")
        peer = run_file(
            f"""
            import asyncio
            from ferromcp import Server
            server = Server("s")
            @server.tool
            async def which() -> str: return type(asyncio.get_running_loop()).__module__
            server.run(loop="{loop}")
            """
        )
        assert peer.text("which").startswith(loop)
        assert peer.finish() == 0


def test_a_forked_child_is_told(serve: Serve) -> None:
    peer = serve(
        """
        import os
        from ferromcp import ForkedError
        @server.tool
        def fork(ctx: Context) -> str:
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    ctx.report_progress(1)
                    said = "nothing"
                except ForkedError as error:
                    said = str(error)
                os.write(writer, said.encode())
                os._exit(0)
            os.close(writer)
            os.wait()
            return os.read(reader, 1000).decode()
        @server.tool
        def careless() -> str:
            child = os.fork()
            if child:
                return f"{os.waitpid(child, 0)[1] >> 8}"
            return "from the child"
        """
    )
    assert "forked child" in peer.text("fork")
    assert peer.text("careless") == "1"
    assert peer.finish() == 0
    assert b"a forked child returned from a served function" in peer.stderr


def test_a_server_made_before_a_fork_runs_in_the_child(run_file: Serve) -> None:
    peer = run_file(
        """
        import os
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def pid() -> int: return os.getpid()
        child = os.fork()
        if child == 0:
            server.run()
            os._exit(0)
        os.close(0)
        os.close(1)
        raise SystemExit(os.waitpid(child, 0)[1])
        """
    )
    assert peer.call("pid")["structuredContent"] != peer.process.pid
    assert peer.finish() == 0


def test_debug_output(serve: Serve) -> None:
    peer = serve(ECHO, env={"MCP_DEBUG": "1"})
    assert peer.text("echo", text="needle") == "needle"
    assert peer.finish() == 0
    assert peer.stderr.count(b"needle") == 2


def test_development_mode(tmp_path: Path) -> None:
    path = write_server(tmp_path, ECHO + ASYNC)
    with Peer("-X", "dev", "-W", "error", str(path)) as peer:
        assert peer.text("echo", text="x") == "x"
        assert peer.text("aecho", text="x") == "x"
        assert peer.finish() == 0
        assert peer.stderr == b""


def spent(*arguments: str) -> float:
    """Processor seconds of a whole life; the clock on the wall would measure the machine's other work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Peer(*arguments) as peer:
        if len(arguments) == 1:
            peer.text("echo", text="x")
            peer.close()
        peer.ended()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_spawn_to_first_answer(tmp_path: Path) -> None:
    path = str(write_server(tmp_path, "@server.tool\ndef echo(text: str) -> str: return text\n"))
    spent(path)
    bare = min(spent("-c", "pass") for _ in range(10))
    ours = min(spent(path) for _ in range(10))
    assert ours - bare < 0.060


def test_import_time(tmp_path: Path) -> None:
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import ferromcp"], capture_output=True, check=True
    ).stderr.decode()
    (total,) = re.findall(r"\|\s+(\d+) \| ferromcp$", report, re.M)
    assert int(total) < 150_000  # microseconds on the wall; a fifth of it on a machine that does nothing else
