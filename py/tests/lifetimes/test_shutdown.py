"""How a server ends when its input does: what is waited for, what is cleaned up, and what is left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import ASYNC, BOTH, HOSTED, HOSTS, NOISE, SYNC, is_quiet, program

from conftest import Serve
from support import Peer

# What a call that does not end may cost: the moment that code of the user's gets, and a crowded machine.
BOUNDED = 8.0

STUCK = [
    pytest.param("block", id="sync"),
    pytest.param("hog", id="loop"),
    pytest.param("offload", id="executor"),
]


def finish_in_time(peer: Peer) -> int:
    """The exit code of a server that is left with something that does not end."""
    began = time.monotonic()
    code = peer.finish()
    assert time.monotonic() - began < BOUNDED
    return code


def test_a_server_without_any_other_import(serve: Serve) -> None:
    """Neither threads nor a loop are known to the program."""
    peer = serve("import sys\n@server.tool\ndef loaded(name: str) -> bool: return name in sys.modules")
    for name in ("threading", "asyncio", "multiprocessing"):
        assert peer.text("loaded", name=name) == "false"
    assert peer.finish() == 0
    assert peer.line() is None
    assert peer.stderr == b""


@pytest.mark.parametrize("source", BOTH)
def test_end_of_input(run_file: Serve, source: str) -> None:
    peer = run_file(program(source))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert peer.stderr == b""


@pytest.mark.parametrize("host", HOSTED)
def test_end_of_input_of_an_existing_app(run_file: Serve, host: str) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host))
    assert peer.text("echo", text="x") == "x"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert is_quiet(peer.stderr)


PAUSE = """
@server.tool()
def pause() -> str:
    time.sleep(0.3)
    return "slept"
"""
APAUSE = """
@server.tool()
async def apause() -> str:
    await asyncio.sleep(0.3)
    return "slept"
"""


@pytest.mark.parametrize(
    ("host", "tools"),
    [("native", ["pause"]), *((host, ["pause", "apause"]) for host in HOSTS)],
)
def test_calls_in_flight_are_drained(run_file: Serve, host: str, tools: list[str]) -> None:
    peer = run_file(program(PAUSE, APAUSE if "apause" in tools else "", host=host))
    keys = [peer.begin(tool) for tool in tools]
    peer.close()
    for key in keys:
        assert peer.answer(key)["result"]["content"][0]["text"] == "slept"
    assert peer.ended() == 0


@pytest.mark.parametrize("tool", STUCK)
@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_does_not_end_is_left_behind(run_file: Serve, host: str, tool: str) -> None:
    goodbye = "atexit.register(print, 'goodbye')"
    peer = run_file(program(SYNC, ASYNC, goodbye, host=host, run="ferromcp.run(server, drain=0.2)"))
    peer.begin(tool)
    peer.hears(b"begun")
    assert finish_in_time(peer) == 0
    assert peer.stderr.count(b"goodbye") == 1
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("host", HOSTS)
def test_a_cancelled_call_cleans_up(run_file: Serve, host: str) -> None:
    """`finally`, context managers and generators see the end of a call, and may wait for something there."""
    source = """
    @contextlib.asynccontextmanager
    async def resource():
        try:
            yield
        finally:
            await asyncio.sleep(0.01)
            print("resource closed")
    async def numbers():
        try:
            while True:
                await asyncio.sleep(0)
                yield 1
        finally:
            await asyncio.sleep(0.01)
            print("generator closed")
    @server.tool()
    async def use() -> str:
        try:
            async with resource(), contextlib.aclosing(numbers()) as stream:
                async for _ in stream:
                    os.write(2, b"begun\\n")
                    await asyncio.sleep(600)
        finally:
            print("call over")
    """
    peer = run_file(program(source, host=host, run="ferromcp.run(server, drain=0.2)"))
    peer.begin("use")
    peer.hears(b"begun")
    assert finish_in_time(peer) == 0
    for said in (b"resource closed", b"generator closed", b"call over"):
        assert peer.stderr.count(said) == 1
    assert is_quiet(peer.stderr)


def test_a_generator_whose_end_does_not_come(run_file: Serve) -> None:
    """It was left by its call, and is closed with the loop."""
    source = """
    kept = []
    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            print("closing")
            await asyncio.sleep(600)
    @server.tool()
    async def first() -> int:
        kept.append(numbers())
        return await anext(kept[0])
    atexit.register(print, "goodbye")
    """
    peer = run_file(program(source))
    assert peer.text("first") == "1"
    assert finish_in_time(peer) == 0
    assert peer.stderr.split() == [b"closing", b"goodbye"]


def test_a_call_that_ignores_its_cancellation(run_file: Serve) -> None:
    source = """
    @server.tool()
    async def stubborn() -> str:
        os.write(2, b"begun\\n")
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
    """
    peer = run_file(program(source, run="ferromcp.run(server, drain=0.2)"))
    peer.begin("stubborn")
    peer.hears(b"begun")
    assert finish_in_time(peer) == 0
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("source", BOTH)
def test_exit_functions_run_and_may_print(run_file: Serve, source: str) -> None:
    peer = run_file(program("atexit.register(print, 'goodbye')", source))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert peer.stderr == b"goodbye\n"


def test_an_exit_function_that_does_not_end(run_file: Serve) -> None:
    """With a call that is stuck there is nobody left who could end the process in another way."""
    peer = run_file(program("atexit.register(time.sleep, 600)", SYNC, run="ferromcp.run(server, drain=0.2)"))
    peer.begin("block")
    peer.hears(b"begun")
    assert finish_in_time(peer) == 0


def test_code_after_run_is_reached(run_file: Serve) -> None:
    peer = run_file(program(SYNC, run="ferromcp.run(server)\nsys.exit(5)"))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 5


LIFESPAN = """
@contextlib.asynccontextmanager
async def lifespan(app):
    os.write(2, b"opened\\n")
    try:
        yield {}
    finally:
        os.write(2, b"closing\\n")
        await asyncio.sleep(SECONDS)
        os.write(2, b"closed\\n")
server = type(server)("tests", lifespan=lifespan)
"""


@pytest.mark.parametrize("host", HOSTED)
def test_a_lifespan_is_closed(run_file: Serve, host: str) -> None:
    peer = run_file(program(LIFESPAN.replace("SECONDS", "0.05"), SYNC, host=host))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert [line for line in peer.stderr.split() if line in (b"opened", b"closing", b"closed")] == [
        b"opened",
        b"closing",
        b"closed",
    ]
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("host", HOSTED)
def test_a_lifespan_that_does_not_close_ends_with_a_signal(run_file: Serve, host: str) -> None:
    peer = run_file(program(LIFESPAN.replace("SECONDS", "600"), SYNC, host=host))
    assert peer.text("echo", text="x") == "x"
    peer.close()
    peer.hears(b"closing")
    peer.process.terminate()
    assert peer.ended() == 143
    assert b"closed" not in peer.stderr
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize(
    ("host", "redirection"),
    [("native", "<&-"), ("native", ">&-"), ("native", "<&- >&-"), *((host, "<&-") for host in HOSTED)],
)
def test_standard_streams_that_are_closed(tmp_path: Path, host: str, redirection: str) -> None:
    """Their numbers would go to something else that is opened."""
    path = tmp_path / "program.py"
    path.write_text(program(SYNC, host=host))
    command = ["sh", "-c", f'exec "$0" "$1" {redirection}', sys.executable, str(path)]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=20)
    assert done.returncode == 1
    stream = "output" if redirection == ">&-" else "input"
    assert f"ConfigurationError: standard {stream} is closed" in done.stderr.decode()
    assert not any(noise in done.stderr.decode() for noise in NOISE if noise != "Traceback")
