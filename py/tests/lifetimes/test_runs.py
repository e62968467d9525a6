"""Where a server can run, and how often: inside a loop, twice, beside another one, in a subinterpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from programs import ASYNC, HOSTED, SYNC, is_quiet, program

from conftest import Serve
from ferromcp._native import Call, Server
from support import DEADLINE, MODERN

TAKEN = "ConfigurationError: standard input and output belong to a server that this process runs, or has run"


def test_inside_a_running_loop(run_file: Serve) -> None:
    """`serve()` is for this: the loop goes on, and the program behind it is reached."""
    run = """
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
    print("main is done")
    """
    peer = run_file(program(SYNC, ASYNC, run=run))
    assert peer.text("echo", text="x") == "x"
    time.sleep(0.05)  # some turns of the loop
    assert peer.text("aecho", text="y") == "y"
    assert peer.finish() == 0
    assert peer.stderr == b"main is done\n"


@pytest.mark.parametrize("host", HOSTED)
def test_an_existing_app_inside_a_running_loop(run_file: Serve, host: str) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host, run="asyncio.run(ferromcp.serve(server))\nsys.exit(5)"))
    assert peer.text("echo", text="x") == "x"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 5
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize(
    ("host", "source"),
    [("native", SYNC), ("native", SYNC + ASYNC), *((host, SYNC) for host in HOSTED)],
)
def test_run_inside_a_running_loop_is_refused(run_file: Serve, host: str, source: str) -> None:
    """It would block the loop. Nothing has been touched: `serve()` still works."""
    run = """
    async def main():
        try:
            ferromcp.run(server)
        except ferromcp.ConfigurationError as error:
            print(error, file=sys.stderr)
        await ferromcp.serve(server)
    asyncio.run(main())
    """
    peer = run_file(program(source, host=host, run=run))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert b"run() was called inside a running event loop: use `await ...serve()` there\n" in peer.stderr
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize(("host", "source"), [("native", SYNC), ("native", SYNC + ASYNC), ("fastmcp", SYNC)])
def test_a_second_run(run_file: Serve, host: str, source: str) -> None:
    """The process's one client has gone."""
    peer = run_file(program(source, host=host, run="ferromcp.run(server)\nferromcp.run(server)"))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 1
    assert TAKEN in peer.stderr.decode()


@pytest.mark.parametrize("host", ["native", "fastmcp"])
def test_two_servers_at_once(run_file: Serve, host: str) -> None:
    """There is one standard input. The first server is not disturbed."""
    run = """
    thread = threading.Thread(target=ferromcp.run, args=(server,))
    thread.start()
    other = ferromcp.Server("other")
    while True:
        try:
            if started.wait():
                other.run()
        except ferromcp.ConfigurationError as error:
            print("ConfigurationError:", error)
            break
    thread.join()
    """
    started = """
    started = threading.Event()
    @server.tool()
    def start() -> str:
        started.set()
        return "started"
    """
    peer = run_file(program(SYNC, started, host=host, run=run))
    assert peer.text("start") == "started"
    peer.hears(TAKEN.encode())
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert is_quiet(peer.stderr)


def test_a_server_runs_once_at_a_time(run_file: Serve) -> None:
    again = """
    @server.tool
    def again() -> str:
        try:
            server.run()
        except ferromcp.ConfigurationError as error:
            return str(error)
        return "ran"
    """
    peer = run_file(program(again))
    assert peer.text("again") == "server 'tests' is running already"
    assert peer.finish() == 0


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_kinds_of_loops(run_file: Serve, loop: str) -> None:
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    which = """
    @server.tool
    async def which() -> str: return type(asyncio.get_running_loop()).__module__
    """
    peer = run_file(program(which, run=f"server.run(loop='{loop}')"))
    assert peer.text("which").startswith(loop)
    assert peer.finish() == 0


class OnPipes:
    """A native server on pipes of its own, run by a thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        server_input, self._writer = os.pipe()
        self._reader, server_output = os.pipe()
        config = {
            "info": {"name": name, "version": "1"},
            "catalogue": "delegated",
            "capabilities": {"tools": {}},
        }
        self._native = Server(json.dumps(config))
        self._native.set_sync_delegate(self._delegate)
        self._native.start_stdio(None, {"fds": (server_input, server_output)})
        self._thread = threading.Thread(target=self._native.wait)
        self._thread.start()

    def _delegate(self, call: Call) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": self.name}]}

    def ask(self) -> str:
        """Who serves a call."""
        params = {"name": "who", "arguments": {}, "_meta": MODERN}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        os.write(self._writer, json.dumps(request).encode() + b"\n")
        answer = json.loads(os.read(self._reader, 1 << 16))
        assert "result" in answer, answer
        return str(answer["result"]["content"][0]["text"])

    def end(self) -> None:
        """The client goes."""
        os.close(self._writer)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()
        assert os.read(self._reader, 1) == b""
        os.close(self._reader)
        self._native.acknowledge()
        assert not self._native.stuck(5.0)


def held() -> tuple[int, int]:
    """Descriptors and threads of this process."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def test_servers_on_pipes_of_their_own() -> None:
    """As many as one likes, at once and one after the other; the descriptors and threads come back."""
    descriptors, threads = held()
    for _ in range(3):
        servers = [OnPipes(f"server {number}") for number in range(3)]
        for _ in range(2):
            for server in servers:
                assert server.ask() == server.name
        first, *others = servers
        first.end()
        for server in others:
            assert server.ask() == server.name
            server.end()
        del first, others, server, servers
    end = time.monotonic() + DEADLINE
    # A thread's last steps are not waited for by anybody.
    while held()[0] > descriptors or held()[1] > threads:
        assert time.monotonic() < end, (held(), descriptors, threads)
        time.sleep(0.01)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="the modules are CPython's own")
@pytest.mark.parametrize("first", ["main", "sub"])
def test_a_subinterpreter_is_refused(tmp_path: Path, first: str) -> None:
    """Whoever imports the package first; the main interpreter is not disturbed."""
    path = tmp_path / "program.py"
    path.write_text(
        f"""
if {first == "main"}:
    import ferromcp
try:
    import _interpreters
except ImportError:
    import _xxsubinterpreters as _interpreters
other = _interpreters.create()
try:
    failed = _interpreters.run_string(other, "import ferromcp")
except Exception as error:
    failed = error
print(failed)
_interpreters.destroy(other)
import ferromcp
ferromcp.Server("tests").run()
"""
    )
    done = subprocess.run(
        [sys.executable, str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    assert done.returncode == 0, done.stderr
    said = (done.stdout + done.stderr).decode()
    assert "ImportError" in said
    assert "subinterpreter" in said
