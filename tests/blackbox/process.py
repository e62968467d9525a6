"""A server process and its three pipes, and nothing of MCP.

Decides how bytes are written (any cut, without ever deadlocking against a peer that writes at the same time),
how lines are awaited (a deadline always, no sleeps), and what is read from the process beside its answers:
standard error, peak memory, CPU time, exit code. What the lines mean is `wire.py`'s business.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

# One number stretches every deadline, for slow or crowded machines.
PATIENCE = float(os.environ.get("FERROMCP_TEST_PATIENCE", "1"))
DEADLINE = 10.0
CHUNK = 1 << 18


class Silence(AssertionError):
    """The process did not say in time what was awaited."""


class Closed(AssertionError):
    """The process closed its output before it said what was awaited."""


class Process:
    """One child over raw pipes. Output is read only when asked for, so a test decides how slow a reader it
    is.
    """

    def __init__(
        self, command: Sequence[str], env: dict[str, str] | None = None, cwd: str | None = None
    ) -> None:
        self.command = list(command)
        self.child = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self._stdin = self.child.stdin.fileno()
        self._stdout = self.child.stdout.fileno()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        # Complete chunks wait here until a line is asked for: joining them only then keeps long lines linear.
        self._pending: list[bytes] = []
        self._pending_lines = 0
        self._lines: list[bytes] = []
        self._next = 0
        self._stderr: list[bytes] = []
        # Standard error is always drained: a full pipe there would look like a hang here.
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        return self.child.pid

    # Writing.

    def write(self, data: bytes, *, timeout: float = DEADLINE, pump: bool = True) -> None:
        """Writes all of `data`. With `pump`, output that arrives meanwhile is taken in, so that neither side
        stalls.
        """
        end = time.monotonic() + timeout * PATIENCE
        view = memoryview(data)
        while view:
            left = end - time.monotonic()
            if left <= 0:
                raise Silence(f"{len(view)} of {len(data)} bytes were not taken in time\n{self.complaint()}")
            readers = [self._stdout] if pump and self._stdout >= 0 else []
            readable, writable, _ = select.select(readers, [self._stdin], [], left)
            if readable and self._take() == 0:
                pump = False
            if writable:
                try:
                    view = view[os.write(self._stdin, view[:CHUNK]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError as error:
                    raise Closed(f"the process no longer reads\n{self.complaint()}") from error

    def write_some(self, data: bytes, patience: float) -> int:
        """Writes until the process has taken nothing for `patience` seconds; gives the number taken."""
        view = memoryview(data)
        while view:
            if not select.select([], [self._stdin], [], patience * PATIENCE)[1]:
                break
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._stdin, view[:CHUNK]) :]
        return len(data) - len(view)

    def write_cut(self, data: bytes, cuts: Iterator[int]) -> None:
        """Writes `data` in pieces of the sizes that `cuts` yields."""
        at = 0
        while at < len(data):
            size = next(cuts)
            self.write(data[at : at + size])
            at += size

    def end_input(self) -> None:
        assert self.child.stdin
        if not self.child.stdin.closed:
            self.child.stdin.close()

    def stop_reading(self) -> None:
        """Closes the reading end of the child's output: the reader vanishes."""
        assert self.child.stdout
        self.child.stdout.close()
        self._stdout = -1

    # Reading.

    def line(self, timeout: float = DEADLINE) -> bytes:
        """The next line without its newline."""
        end = time.monotonic() + timeout * PATIENCE
        while True:
            if self._next < len(self._lines):
                self._next += 1
                line, self._lines[self._next - 1] = self._lines[self._next - 1], b""
                return line
            if self._pending_lines:
                self._split()
                continue
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
                raise Silence(f"no line within {timeout} s\n{self.complaint()}")
            if self._take() == 0:
                raise Closed(f"output ended\n{self.complaint()}")

    def read_some(self, most: int) -> int:
        """Takes at most `most` bytes that are ready now; for slow readers."""
        if not select.select([self._stdout], [], [], 0)[0]:
            return 0
        return self._take(most)

    def lines_until_end(self, timeout: float = DEADLINE) -> list[bytes]:
        """Every line up to the end of output."""
        lines = []
        with contextlib.suppress(Closed):
            while True:
                lines.append(self.line(timeout))
        return lines

    def rest(self) -> bytes:
        """What followed the last newline. Empty after an orderly end."""
        return b"".join(self._pending)

    def _take(self, most: int = CHUNK) -> int:
        try:
            chunk = os.read(self._stdout, most)
        except BlockingIOError:
            return -1
        if chunk:
            self._pending.append(chunk)
            self._pending_lines += chunk.count(b"\n")
        return len(chunk)

    def _split(self) -> None:
        *lines, rest = b"".join(self._pending).split(b"\n")
        self._pending = [rest] if rest else []
        self._pending_lines = 0
        self._lines = self._lines[self._next :] + lines
        self._next = 0

    def _drain_stderr(self) -> None:
        assert self.child.stderr
        while chunk := self.child.stderr.read(CHUNK):
            self._stderr.append(chunk)

    # Beside the answers.

    @property
    def stderr(self) -> str:
        return b"".join(self._stderr).decode("utf-8", "replace")

    def await_stderr(self, text: str, timeout: float = DEADLINE) -> None:
        end = time.monotonic() + timeout * PATIENCE
        while text not in self.stderr:
            if time.monotonic() > end:
                raise Silence(f"{text!r} never came on standard error\n{self.complaint()}")
            time.sleep(0.01)

    def complaint(self) -> str:
        """What a failing test wants to see."""
        state = self.child.poll()
        return f"exit code {state}, last words on standard error:\n{self.stderr[-2000:]}"

    def peak_mb(self) -> float:
        """Peak resident memory so far, in MB."""
        for row in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if row.startswith("VmHWM:"):
                return int(row.split()[1]) / 1024
        raise AssertionError("no VmHWM")

    def resident_mb(self) -> float:
        """Resident memory now, in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    def cpu_seconds(self) -> float:
        """User and system time of all threads so far, to the nanosecond on Linux."""
        if sys.platform == "linux":
            # The clock id that clock_getcpuclockid(3) makes of a process id.
            return time.clock_gettime((~self.pid << 3) | 2)
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self, timeout: float = DEADLINE) -> int:
        """The exit code, awaited. A negative number is the signal that ended the process."""
        try:
            return self.child.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise Silence(f"still alive after {timeout} s\n{self.complaint()}") from error

    def signal(self, number: signal.Signals) -> None:
        self.child.send_signal(number)

    def close(self) -> None:
        """Ends the process whatever state it is in. Only ever touches the child that this object started."""
        with contextlib.suppress(OSError):
            self.end_input()
        if self.child.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(0.2)
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self._drain.join(1)
        for pipe in (self.child.stdout, self.child.stderr):
            if pipe and not pipe.closed:
                pipe.close()
