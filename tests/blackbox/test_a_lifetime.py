"""Cases A4 and A5: the process lives as long as its client, answers what it has accepted, and then goes with
code 0.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMANDS, Start
from process import PATIENCE, Closed
from wire import text_of

# Seconds: the default bound for draining, and what is allowed on top for a Python interpreter to go down.
DEFAULT_DRAIN = 5.0
PROMPT = 2.0


# requirement: stdio-exit-at-eof
def test_a4_exit_after_end_of_input(server: str, start: Start) -> None:
    wire = start(server)
    began = time.monotonic()
    assert wire.finish() == 0
    assert time.monotonic() - began < PROMPT * PATIENCE


def test_a4_exit_with_a_pending_timer(server: str, start: Start) -> None:
    wire = start(server)
    wire.call("timer")
    began = time.monotonic()
    assert wire.finish() == 0
    assert time.monotonic() - began < PROMPT * PATIENCE


@pytest.mark.engine
def test_a4_no_input_at_all(server: str) -> None:
    done = subprocess.run(
        COMMANDS[server], check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=15 * PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""


def test_a4_parent_is_killed(server: str, tmp_path: Path) -> None:
    """The pipes of a killed parent close, which is all that the server is told."""
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE,"
        " stderr=subprocess.DEVNULL)\n"
        'child.stdin.write(b\'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n\')\n'
        "child.stdin.flush()\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, *COMMANDS[server]], stdout=subprocess.PIPE)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + PROMPT * PATIENCE
    try:
        while is_running(pid):
            assert time.monotonic() < end, "the server outlived its parent"
            time.sleep(0.02)
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether the process still does something: a zombie that nobody collects has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a4_vanished_reader(server: str, start: Start) -> None:
    """Nobody can hear the server any more, although its input stays open: it goes, with a call in flight or
    not.
    """
    wire = start(server)
    wire.start("slow", ms=60_000)
    wire.alive()
    wire.process.stop_reading()
    # It may have noticed before it was spoken to again.
    with contextlib.suppress(Closed):
        wire.process.write(wire.call_frame("echo", {"text": "to nobody"}), pump=False)
    wire.process.wait(PROMPT + 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a4_signals(server: str, start: Start, number: signal.Signals) -> None:
    wire = start(server)
    wire.call("echo", text="warm")
    wire.process.signal(number)
    wire.process.wait(PROMPT)
    assert "Traceback" not in wire.process.stderr


def test_a5_answers_in_flight_are_drained(server: str, era: str, start: Start) -> None:
    """What `printf ... | server` does: everything is written, and input ends before the first answer."""
    wire = start(server, era, open=False)
    frames = b""
    if era == "legacy":
        params = {
            "protocolVersion": wire.revision,
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        frames += wire.frame("initialize", params, id="init")
        frames += b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    frames += wire.call_frame("slow", {"ms": 50}, id="slow")
    frames += wire.call_frame("block", {"ms": 50}, id="block")
    frames += wire.call_frame("echo", {"text": "quick"}, id="quick")
    # The last line of a stream may lack its newline.
    wire.process.write(frames.rstrip(b"\n"))
    assert wire.finish() == 0
    assert text_of(wire.answer("quick")["result"]) == "quick"
    assert text_of(wire.answer("slow")["result"]) == "done"
    assert text_of(wire.answer("block")["result"]) == "done"


@pytest.mark.parametrize("bound", [1.0, pytest.param(None, marks=pytest.mark.slow)], ids=["given", "default"])
def test_a5_draining_is_bounded(server: str, start: Start, bound: float | None) -> None:
    """Neither a coroutine nor a thread that never ends keeps the process beyond the bound: one that is given,
    or the default.
    """
    wire = start(server, options=() if bound is None else ("--drain", str(bound)))
    wire.start("slow", ms=60_000)
    wire.start("block", ms=60_000)
    wire.alive()
    bound = DEFAULT_DRAIN if bound is None else bound
    began = time.monotonic()
    assert wire.finish(timeout=bound + PROMPT) == 0
    assert bound - 0.5 < time.monotonic() - began < (bound + PROMPT) * PATIENCE
