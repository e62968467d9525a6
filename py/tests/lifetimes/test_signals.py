"""SIGTERM and SIGINT: while nothing happens, while a tool runs, and beside handlers of the user's own."""

from __future__ import annotations

import signal
import time

import pytest
from programs import ASYNC, BOTH, HOSTED, SIGNALS, SYNC, is_quiet, program

from conftest import Serve
from support import Peer

# A signal is obeyed within the moment that code of the user's gets; the rest is for a crowded machine.
BOUNDED = 8.0


def send(peer: Peer, name: str) -> int:
    """Sends the signal, and gives the exit code."""
    began = time.monotonic()
    peer.kill(signal.Signals[name])
    code = peer.ended()
    assert time.monotonic() - began < BOUNDED
    return code


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize("source", BOTH)
def test_while_idle(run_file: Serve, source: str, name: str, code: int) -> None:
    peer = run_file(program("atexit.register(print, 'goodbye')", source))
    assert peer.text("echo", text="x") == "x"
    assert send(peer, name) == code
    assert peer.line() is None
    assert peer.stderr == b"goodbye\n"


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize("host", HOSTED)
def test_while_an_existing_app_is_idle(run_file: Serve, host: str, name: str, code: int) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host))
    assert peer.text("echo", text="x") == "x"
    assert send(peer, name) == code
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize(
    ("host", "tool"),
    [
        *(("native", tool) for tool in ("block", "wait", "hog", "offload")),
        *((host, tool) for host in HOSTED for tool in ("block", "wait")),
    ],
)
def test_while_a_call_runs(run_file: Serve, host: str, tool: str, name: str, code: int) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host))
    peer.begin(tool)
    peer.hears(b"begun")
    assert send(peer, name) == code
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize(("name", "code"), SIGNALS)
@pytest.mark.parametrize("source", BOTH)
def test_while_a_function_holds_the_interpreter(run_file: Serve, source: str, name: str, code: int) -> None:
    """Python's handlers can't run then, whoever is asked to."""
    compute = """
    @server.tool()
    def compute() -> int:
        os.write(2, b"begun\\n")
        return sum(range(10**15))
    """
    peer = run_file(program(source, compute))
    peer.begin("compute")
    peer.hears(b"begun")
    assert send(peer, name) == code


@pytest.mark.parametrize("tool", ["block", "hog"])
def test_the_second_signal_waits_for_nothing(run_file: Serve, tool: str) -> None:
    """The first one has closed the connection; exit functions would follow some time later."""
    peer = run_file(program("atexit.register(time.sleep, 600)", SYNC, ASYNC))
    peer.begin(tool)
    peer.hears(b"begun")
    peer.kill(signal.SIGTERM)
    assert peer.line() is None
    assert send(peer, "SIGINT") in (130, 143)


def test_a_handler_of_the_users_own_is_kept(run_file: Serve) -> None:
    source = """
    def mine(number, frame):
        sys.stderr.write("mine\\n")
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, mine)
    """
    run = """
    try:
        server.run()
    except KeyboardInterrupt:
        sys.exit(7)
    """
    peer = run_file(program(SYNC, source, run=run))
    assert peer.text("echo", text="x") == "x"
    assert send(peer, "SIGINT") == 7
    assert peer.stderr == b"mine\n"


@pytest.mark.parametrize("source", BOTH)
def test_other_signals_reach_their_handlers(run_file: Serve, source: str) -> None:
    """Also one that the program has set for SIGTERM, which then does not end the server."""
    handlers = """
    def mine(number, frame):
        os.write(2, signal.Signals(number).name.encode() + b"\\n")
    signal.signal(signal.SIGUSR1, mine)
    signal.signal(signal.SIGTERM, mine)
    """
    peer = run_file(program(source, handlers))
    assert peer.text("echo", text="x") == "x"
    for name in ("SIGUSR1", "SIGTERM"):
        peer.kill(signal.Signals[name])
        peer.hears(name.encode())
        assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr.split() == [b"SIGUSR1", b"SIGTERM"]


def test_an_ignored_signal_stays_ignored(run_file: Serve) -> None:
    """As `nohup` and shells without job control ask for it."""
    peer = run_file(program("signal.signal(signal.SIGINT, signal.SIG_IGN)", SYNC))
    assert peer.text("echo", text="x") == "x"
    peer.kill(signal.SIGINT)
    assert peer.text("echo", text="x") == "x"
    assert send(peer, "SIGTERM") == 143


@pytest.mark.parametrize("source", BOTH)
def test_everything_is_put_back(run_file: Serve, source: str) -> None:
    run = """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    server.run()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert signal.set_wakeup_fd(-1) == writer
    signal.raise_signal(signal.SIGTERM)
    """
    peer = run_file(program(source, run=run))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == -signal.SIGTERM
    assert peer.stderr == b""


def test_on_another_thread_signals_stay_with_the_program(run_file: Serve) -> None:
    run = """
    thread = threading.Thread(target=server.run)
    thread.start()
    thread.join()
    """
    peer = run_file(program(SYNC, run=run))
    assert peer.text("echo", text="x") == "x"
    assert send(peer, "SIGTERM") == -signal.SIGTERM


def test_in_a_loop_of_the_programs_own_signals_stay_with_it(run_file: Serve) -> None:
    peer = run_file(program(SYNC, ASYNC, run="asyncio.run(server.serve())"))
    assert peer.text("aecho", text="x") == "x"
    assert send(peer, "SIGTERM") == -signal.SIGTERM
    peer = run_file(program(SYNC, ASYNC, run="asyncio.run(server.serve())"))
    assert peer.text("aecho", text="x") == "x"
    assert send(peer, "SIGINT") == -signal.SIGINT
    assert peer.stderr.rstrip().endswith(b"KeyboardInterrupt")
