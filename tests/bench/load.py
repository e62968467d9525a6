"""Loads one stdio server through raw pipes and measures it.

The driver does next to nothing for a call, so that it is not what is measured: all calls are one block of
bytes made beforehand, every call of the same length, written as slices of it; answers are counted by their
newlines.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MODERN = "2026-07-28"
CHUNK = 1 << 20


@dataclass
class Figures:
    """One measurement of one server. Times are microseconds a call, from this many calls."""

    cpu_us: float
    calls_per_second: float
    sequential_p50_us: float
    sequential_p99_us: float
    peak_mb: float
    calls: int


def block_of_calls(tool: str, size: int, number: int) -> tuple[bytes, int]:
    """`number` calls of a tool with a text of `size` characters, as one block, and the length of each."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {"text": "x" * size}, "_meta": meta}
    head = b'{"jsonrpc":"2.0","id":'
    tail = b',"method":"tools/call","params":' + json.dumps(params, separators=(",", ":")).encode() + b"}\n"
    # Ids of one length. They only need to differ from those that are in flight.
    calls = [head + str(100_000_000 + n).encode() + tail for n in range(number)]
    return b"".join(calls), len(calls[0])


class Peer:
    """One server process."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        self.command = list(command)
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, **env},
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._in = self.child.stdin.fileno()
        self._out = self.child.stdout.fileno()
        os.set_blocking(self._in, False)

    def cpu_seconds(self) -> float:
        """User and system time of the process so far: its CPU clock, to the nanosecond where the system has
        one.
        """
        if sys.platform == "linux":
            # The clock id that clock_getcpuclockid(3) makes of a process id.
            return time.clock_gettime((~self.child.pid << 3) | 2)
        times = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.child.pid}/status").read_text())
        assert found is not None
        return int(found[1]) / 1024

    def exchange(self, block: bytes, length: int, number: int, window: int) -> None:
        """Sends the first `number` calls of a block, at most `window` in flight, until all are answered."""
        view = memoryview(block)[: number * length]
        at = answered = 0
        while answered < number:
            limit = min((answered + window) * length, len(view))
            if at < limit:
                with contextlib.suppress(BlockingIOError):
                    at += os.write(self._in, view[at:limit])
            # A call that is longer than the pipe goes in while answers come out: waiting for either alone
            # would stall.
            if at < limit and at % length and not select.select([self._out], [self._in], [], 60)[0]:
                continue
            answered += self._count()

    def _count(self) -> int:
        chunk = os.read(self._out, CHUNK)
        if not chunk:
            raise RuntimeError(f"{self.command} closed its output")
        return chunk.count(b"\n")

    def first_answer(self, block: bytes, length: int) -> bytes:
        """The first call's whole answer."""
        view = memoryview(block)[:length]
        while view:
            select.select([], [self._in], [], 60)
            view = view[os.write(self._in, view) :]
        answer = b""
        while not answer.endswith(b"\n"):
            chunk = os.read(self._out, CHUNK)
            if not chunk:
                raise RuntimeError(f"{self.command} closed its output")
            answer += chunk
        return answer

    def latencies(self, block: bytes, length: int, number: int) -> list[float]:
        """Microseconds from call to answer, one call at a time, sorted."""
        took = []
        for n in range(number):
            call = block[n * length : (n + 1) * length]
            began = time.perf_counter()
            os.write(self._in, call)
            while os.read(self._out, CHUNK)[-1:] != b"\n":
                pass
            took.append((time.perf_counter() - began) * 1e6)
        return sorted(took)

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        assert self.child.stdout is not None
        self.child.stdout.close()


def check(answer: bytes, size: int) -> None:
    """A server that refuses quickly would look fast: the first answer has to be the text."""
    result = json.loads(answer).get("result", {})
    if result.get("isError") or result.get("content", [{}])[0].get("text") != "x" * size:
        raise RuntimeError(f"not the answer that is measured: {answer[:300]!r}")


def measure(
    command: Sequence[str], env: dict[str, str], tool: str, size: int, window: int, seconds: float
) -> Figures:
    """Starts a server, warms it up, and measures for about `seconds`, sequential calls first."""
    small = size < 10_000
    block, length = block_of_calls(tool, size, 4096 if small else 64)
    whole = len(block) // length
    peer = Peer(command, env)
    try:
        check(peer.first_answer(block, length), size)
        peer.exchange(block, length, min(whole, 512 if small else 8), window)
        took = peer.latencies(block, length, 400 if small else 8) if small else [0.0]
        # How many calls fill the time.
        began = time.perf_counter()
        trial = min(whole, 512 if small else 8)
        peer.exchange(block, length, trial, window)
        rate = trial / (time.perf_counter() - began)
        rounds = max(1, round(rate * seconds / whole))
        cpu, began = peer.cpu_seconds(), time.perf_counter()
        for _ in range(rounds):
            peer.exchange(block, length, whole, window)
        wall, cpu = time.perf_counter() - began, peer.cpu_seconds() - cpu
        calls = rounds * whole
        return Figures(
            cpu_us=cpu / calls * 1e6,
            calls_per_second=calls / wall,
            sequential_p50_us=took[len(took) // 2],
            sequential_p99_us=took[int(len(took) * 0.99)],
            peak_mb=peer.peak_mb(),
            calls=calls,
        )
    finally:
        peer.close()


def spawn_to_first_answer(command: Sequence[str], env: dict[str, str], tool: str) -> float:
    """Milliseconds from spawning a server to the last byte of its first answer."""
    block, length = block_of_calls(tool, 16, 1)
    began = time.perf_counter()
    peer = Peer(command, env)
    try:
        answer = peer.first_answer(block, length)
        took = (time.perf_counter() - began) * 1e3
        check(answer, 16)
        return took
    finally:
        peer.close()


def spawn_to_first_byte(interpreter: str, env: dict[str, str]) -> float:
    """Milliseconds from spawning the bare interpreter to the first byte that it writes."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [interpreter, "-c", "import os; os.write(1, b'x')"], stdout=subprocess.PIPE, env={**os.environ, **env}
    )
    assert child.stdout is not None
    child.stdout.read(1)
    took = (time.perf_counter() - began) * 1e3
    child.stdout.close()
    child.wait()
    return took
