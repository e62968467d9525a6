"""A process that serves over HTTP: how it starts, where it listens, and how it ends."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Serve
from ferromcp import ConfigurationError, Server
from httppeer import HttpPeer, reached
from httpservers import TOOLS, carried
from support import Peer

# A signal is obeyed within the moment that code of the user's gets; the rest is for a crowded machine.
BOUNDED = 8.0

SIGNALS = [("SIGTERM", 143), ("SIGINT", 130)]

SYNC = """
from ferromcp import Server
server = Server("tests", version="1.0")
@server.tool
def add(a: int, b: int) -> int:
    return a + b
server.run("http", port=0)
"""


def is_quiet(process: Peer, *said: bytes) -> bool:
    """Whether nothing stands on stderr but where it listens and what its tools said."""
    first, *rest = process.stderr.splitlines()
    return first.startswith(b"Listening on http://127.0.0.1:") and rest == list(said)


def send(process: Peer, name: str) -> int:
    """Sends the signal, and gives the exit code."""
    began = time.monotonic()
    process.kill(signal.Signals[name])
    code = process.ended()
    assert time.monotonic() - began < BOUNDED
    return code


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize("source", [SYNC, carried("native")], ids=["sync", "async"])
def test_a_signal_while_idle(run_file: Serve, source: str, name: str, code: int) -> None:
    process = run_file(source)
    assert reached(process).call("add", {"a": 1, "b": 2}).text() == "3"
    assert send(process, name) == code
    assert is_quiet(process)


@pytest.mark.parametrize(("tool", "said"), [("block", (b"begun",)), ("wait", (b"begun", b"cancelled"))])
def test_a_signal_while_a_call_runs(run_file: Serve, tool: str, said: tuple[bytes, ...]) -> None:
    process = run_file(carried("native", options="shutdown_ms=300"))
    connection = reached(process).begin(tool, {"seconds": 600} if tool == "wait" else {})
    process.hears(b"begun")
    assert send(process, "SIGTERM") == 143
    connection.close()
    assert is_quiet(process, *said)


def test_streams_are_ended_in_good_order(run_file: Serve) -> None:
    """2026-07-28 `basic/patterns/subscriptions`, "Graceful Closure": the server answers."""
    process = run_file(carried("native"))
    peer = reached(process)
    messages = peer.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}).messages()
    assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
    session = peer.session().listen()
    process.kill(signal.SIGTERM)
    assert [message["result"]["resultType"] for message in messages] == ["complete"]
    assert list(session.messages()) == []
    assert process.ended() == 143


def test_the_second_signal_waits_for_nothing(run_file: Serve) -> None:
    extra = "import atexit\natexit.register(lambda: (os.write(2, b'leaving\\n'), time.sleep(600)))"
    process = run_file(carried("native", extra=extra, options="shutdown_ms=0"))
    connection = reached(process).begin("block", {})
    process.hears(b"begun")
    process.kill(signal.SIGTERM)
    # What ends a server that is stuck in a function runs exit functions too, for a moment.
    process.hears(b"leaving")
    assert send(process, "SIGINT") in (130, 143)
    connection.close()


@pytest.mark.parametrize("carrier", ["alone", "mounted"])
def test_uvicorn_ends_as_always(run_file: Serve, carrier: str) -> None:
    """The lifespan of a mounted application is nobody's: it is over with the process."""
    process = run_file(carried(carrier))
    assert reached(process).call("aadd", {"a": 1, "b": 2}).text() == "3"
    process.kill(signal.SIGTERM)
    assert process.ended() in (0, -signal.SIGTERM)
    assert is_quiet(process)


def test_standard_output_stays_the_programs_own(run_file: Serve) -> None:
    extra = """
    @server.tool
    def shout() -> str:
        print("loud", flush=True)
        return "quiet"
    """
    process = run_file(carried("native", extra=extra))
    assert reached(process).call("shout").text() == "quiet"
    assert process.line() == b"loud\n"


LOOP = (
    TOOLS
    + """
async def main():
    for _ in range(2):
        task = asyncio.create_task(server.serve("http", port=0, announce=False))
        while server.local_addr is None:
            await asyncio.sleep(0.01)
        print(f"Listening on http://{server.local_addr}/mcp", file=sys.stderr, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert server.local_addr is None
        print("ended", flush=True)
asyncio.run(main())
"""
)


def test_serving_in_a_loop_of_the_programs_own(run_file: Serve) -> None:
    """The address is known once it listens; cancelling the task ends the server."""
    process = run_file(LOOP)
    for _ in range(2):
        assert reached(process).call("aadd", {"a": 1, "b": 2}).text() == "3"
        process.stderr = b""
        process.write(b"\n")
        assert process.line() == b"ended\n"
    assert process.ended() == 0


@pytest.mark.parametrize(
    ("transport", "options", "said"),
    [
        ("http", {"prot": 1}, "unknown field `prot`"),
        ("http", {"port": "a"}, "invalid type"),
        ("http", {"path": "mcp", "port": 0}, "path: must begin with a slash"),
        ("http", {"maxSessions": 1}, "no option 'maxSessions'"),
        ("stdio", {"port": 1}, "transport 'stdio' has no option 'port'"),
        ("carrier-pigeon", {}, "no transport 'carrier-pigeon'"),
    ],
)
def test_options_that_are_wrong(transport: Any, options: dict[str, Any], said: str) -> None:
    server = Server("tests")
    with pytest.raises(ConfigurationError, match=said):
        server.run(transport, **options)
    assert server.local_addr is None


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"can't listen on 127.0.0.1:{port}"):
            Server("tests").run("http", port=port)


def command(folder: Path, *options: str) -> tuple[str, ...]:
    """The command, for a file with a server."""
    file = folder / "served.py"
    file.write_text(TOOLS)
    return ("-m", "ferromcp", "run", str(file), *options)


def test_the_command(tmp_path: Path) -> None:
    with Peer(*command(tmp_path, "--http", "--port", "0", "--path", "/here")) as process:
        peer: HttpPeer = reached(process)
        assert peer.path == "/here"
        assert peer.call("aadd", {"a": 1, "b": 2}).text() == "3"
        assert send(process, "SIGINT") == 130


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "1"], "--port: only with --http"),
        (["--http", "--host", "256.0.0.1", "--port", "0"], "can't listen on 256.0.0.1:0"),
        (["--http", "--port", "0", "--path", "x"], "path: must begin with a slash"),
    ],
)
def test_what_the_command_refuses(tmp_path: Path, options: list[str], said: str) -> None:
    with Peer(*command(tmp_path, *options)) as process:
        assert process.ended() == 2
        assert said in process.stderr.decode()
        assert len(process.stderr.splitlines()) == 1
