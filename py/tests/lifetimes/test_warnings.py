"""Development mode with warnings as errors: nothing is left open or unawaited, however a run ends."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from programs import ASYNC, BOTH, HOSTED, SYNC, is_quiet, program

from conftest import Serve
from support import Peer

End = Callable[[Peer], int]

STRICT = ("-X", "dev", "-W", "error")

# Other packages warn of things of their own while they are imported.
THEIRS = ("-X", "dev")


def at_the_end(peer: Peer) -> int:
    """The input ends, with nothing to wait for."""
    return peer.finish()


def in_a_call(peer: Peer) -> int:
    """The input ends while a call waits."""
    peer.begin("wait")
    peer.hears(b"begun")
    return peer.finish()


def by_a_signal(peer: Peer) -> int:
    """A signal comes while a call waits."""
    peer.begin("wait")
    peer.hears(b"begun")
    peer.kill(signal.SIGTERM)
    return peer.ended()


def said(peer: Peer) -> list[bytes]:
    """The lines on stderr, without those in which asyncio tells that a crowded machine was slow."""
    return [line for line in peer.stderr.splitlines() if not line.startswith(b"Executing <")]


@pytest.mark.parametrize("source", BOTH)
def test_end_of_input(run_file: Serve, source: str) -> None:
    peer = run_file(program(source), *STRICT)
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert said(peer) == []


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(("end", "code"), [(at_the_end, 0), (in_a_call, 0), (by_a_signal, 143)])
def test_a_loop_of_ours(run_file: Serve, end: End, code: int, loop: str) -> None:
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    peer = run_file(program(SYNC, ASYNC, run=f"server.run(drain=0.2, loop='{loop}')"), *STRICT)
    assert peer.text("aecho", text="x") == "x"
    assert end(peer) == code
    assert said(peer) in ([], [b"begun"])


@pytest.mark.parametrize("end", [at_the_end, in_a_call])
def test_a_loop_of_the_programs_own(run_file: Serve, end: End) -> None:
    peer = run_file(program(SYNC, ASYNC, run="asyncio.run(server.serve(drain=0.2))"), *STRICT)
    assert peer.text("aecho", text="x") == "x"
    assert end(peer) == 0
    assert said(peer) in ([], [b"begun"])


def test_a_loop_that_comes_late(run_file: Serve) -> None:
    """A sync function gave an awaitable; until then no loop was needed."""
    late = """
    async def later(): return "later"
    @server.tool()
    def late() -> str: return later()
    """
    peer = run_file(program(late), *STRICT)
    assert peer.text("late") == "later"
    assert peer.finish() == 0
    assert said(peer) == []


def test_run_that_is_refused(run_file: Serve) -> None:
    run = """
    async def main():
        try:
            server.run()
        except ferromcp.ConfigurationError:
            sys.exit(5)
    asyncio.run(main())
    """
    peer = run_file(program(SYNC, ASYNC, run=run), *STRICT)
    assert peer.ended() == 5
    assert said(peer) == []


def test_another_thread(run_file: Serve) -> None:
    run = "thread = threading.Thread(target=server.run)\nthread.start()\nthread.join()"
    peer = run_file(program(SYNC, ASYNC, run=run), *STRICT)
    assert peer.text("echo", text="x") == "x"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert said(peer) == []


@pytest.mark.parametrize(("end", "code"), [(at_the_end, 0), (in_a_call, 0), (by_a_signal, 143)])
@pytest.mark.parametrize("host", HOSTED)
def test_an_existing_app(run_file: Serve, host: str, end: End, code: int) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host, run="ferromcp.run(server, drain=0.2)"), *THEIRS)
    assert peer.text("echo", text="x") == "x"
    assert peer.text("aecho", text="x") == "x"
    assert end(peer) == code
    assert is_quiet(peer.stderr)
