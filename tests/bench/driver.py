"""Load on one server process over raw pipes, and what it costs the process.

CPU time is the process's own (user and system, all threads), so the driver's speed does not count; it only has to keep
the window full. Messages are made before the clock starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TICK = os.sysconf("SC_CLK_TCK")
# Below this many seconds of CPU time the clock's ticks of 10 ms would show.
ENOUGH = 0.6


@dataclass
class Load:
    """What one run gave."""

    cpu_us: float
    calls_per_second: float
    peak_mb: float


class Peer:
    """One server process that has answered its first call."""

    def __init__(self, command: Sequence[str], tool: str, size: int) -> None:
        self.tool = tool
        self.arguments = {"text": "x" * size}
        self.rest = b""
        started = time.perf_counter()
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._in, self._out = self.child.stdin.fileno(), self.child.stdout.fileno()
        self._write(self._message(0))
        answer = self._line()
        self.first_answer_ms = (time.perf_counter() - started) * 1e3
        if b'"result"' not in answer or b'"isError":true' in answer:
            raise SystemExit(f"{command}: unexpected answer {answer[:300]!r}")

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._in)
        self.child.stdin = None
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def load(self, calls: int, window: int) -> Load:
        """Keep ``window`` calls in flight until ``calls`` are answered, and more until the clock is fine enough."""
        self._run(max(window, min(calls, 200)), window)
        spent, wall, done = 0.0, 0.0, 0
        while spent < ENOUGH:
            before, started = self._cpu(), time.perf_counter()
            self._run(calls, window)
            spent += self._cpu() - before
            wall += time.perf_counter() - started
            done += calls
        return Load(spent / done * 1e6, done / wall, self._peak())

    def latencies(self, calls: int) -> list[float]:
        """Microseconds of single calls, one after another."""
        measured = []
        for number in range(calls):
            message = self._message(number)
            started = time.perf_counter()
            self._write(message)
            self._line()
            measured.append((time.perf_counter() - started) * 1e6)
        return sorted(measured)

    def _message(self, number: int) -> bytes:
        params = {"name": self.tool, "arguments": self.arguments, "_meta": META}
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        return json.dumps(request, separators=(",", ":")).encode() + b"\n"

    def _run(self, calls: int, window: int) -> None:
        step = max(1, window // 4)
        groups = [b"".join(map(self._message, range(at, min(at + step, calls)))) for at in range(0, calls, step)]
        sizes = [min(step, calls - at) for at in range(0, calls, step)]
        sent = answered = group = 0
        while answered < calls:
            while group < len(groups) and sent - answered + sizes[group] <= window:
                self._write(groups[group])
                sent += sizes[group]
                group += 1
            chunk = os.read(self._out, 1 << 20)
            if not chunk:
                raise SystemExit(f"{self.child.args}: closed its output")
            answered += chunk.count(b"\n")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in, view) :]

    def _line(self) -> bytes:
        parts = [self.rest]
        while b"\n" not in parts[-1]:
            chunk = os.read(self._out, 1 << 20)
            if not chunk:
                raise SystemExit(f"{self.child.args}: closed its output")
            parts.append(chunk)
        line, _, self.rest = b"".join(parts).partition(b"\n")
        return line

    def _cpu(self) -> float:
        with open(f"/proc/{self.child.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def _peak(self) -> float:
        with open(f"/proc/{self.child.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
