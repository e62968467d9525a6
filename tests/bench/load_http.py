"""Loads one HTTP server and measures it.

The load comes from `wrk`, which needs some 15 us for a request, most of it in the kernel: on two cores a
driver in Python would be what is measured. wrk does not look into answers, so that is done here: before
each load an answer is read and has to be the sum, no answer of the load may have another status or another
length, and after it the sum is asked for once more.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load import MODERN

WRK_SCRIPT = str(Path(__file__).resolve().parent / "wrk.lua")
LEGACY = "2025-11-25"
TOOL, ARGUMENTS, SUM = "add", {"a": 2, "b": 3}, "5"
CONNECTIONS = 16
# Descriptors that a thousand open streams need, in the driver and in the server, which inherits the limit.
DESCRIPTORS = 8192


@dataclass
class Figures:
    """One measurement of one server: microseconds of its CPU for each request, and requests a second."""

    cpu_us: float
    requests_per_second: float
    p50_us: float
    p99_us: float
    # One connection, one request after another.
    alone_p50_us: float
    peak_mb: float
    # What the load tool itself needs, to tell when it is what limits.
    driver_us: float


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    session: str | None
    # The JSON-RPC message in it.
    message: dict[str, Any]
    # Bytes of head and body on the wire.
    size: int


@dataclass(frozen=True)
class Load:
    """What wrk says at its end, and what the server did in the meantime."""

    requests: int
    seconds: float
    p50_us: float
    p99_us: float
    cpu_us: float
    driver_us: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


class HttpPeer:
    """One server process, with the sessions that the legacy era needs."""

    def __init__(self, command: Sequence[str], port: int, env: dict[str, str], legacy: bool = False) -> None:
        self.command, self.port, self.legacy = list(command), port, legacy
        self.sessions: list[str] = []
        allow_descriptors()
        quiet = subprocess.DEVNULL
        whole = {**os.environ, **env}
        self.child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=whole)
        try:
            self._wait_until_it_listens()
            if legacy:
                # As many clients as connections. A server without sessions gives none, and is called without.
                self.sessions = [id for _ in range(CONNECTIONS) if (id := self._open_session())]
            self.check()
        except BaseException:
            self.close()
            raise

    def _wait_until_it_listens(self) -> None:
        until = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self.child.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.command} does not listen on port {self.port}")
            time.sleep(0.02)

    def _open_session(self) -> str | None:
        client = {"name": "bench", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
        opened = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {})
        if opened.status != 200 or opened.message.get("result", {}).get("protocolVersion") != LEGACY:
            raise RuntimeError(f"{self.command} does not open a session: {opened}")
        headers = {"MCP-Protocol-Version": LEGACY, **session_header(opened.session)}
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        return opened.session

    def post(self, message: dict[str, Any], headers: dict[str, str]) -> Reply:
        body = json.dumps(message, separators=(",", ":"))
        every = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(request(self.port, {**every, **headers}, body))
            return read_reply(connection, "id" in message)

    def check(self) -> int:
        """Asks for the sum, and gives the length of an answer: one that refuses quickly would look fast."""
        params: dict[str, Any] = {"name": TOOL, "arguments": ARGUMENTS}
        if self.legacy:
            headers = {"MCP-Protocol-Version": LEGACY, **session_header(next(iter(self.sessions), None))}
        else:
            params["_meta"] = meta()
            headers = modern_headers("tools/call", TOOL)
        # With as many digits as the ids of the load.
        id = time.monotonic_ns() % 10**8 + 9 * 10**8
        call = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        reply = self.post(call, headers)
        result = reply.message.get("result", {})
        text = result.get("content", [{}])[0].get("text")
        if reply.status != 200 or reply.message.get("id") != id or result.get("isError") or text != SUM:
            raise RuntimeError(f"{self.command}: not the answer that is measured: {reply}")
        return reply.size

    def load(self, seconds: float, connections: int = CONNECTIONS) -> Load:
        """Calls the tool for so long. Raises when an answer was not the one that is measured."""
        size = self.check()
        url = f"http://127.0.0.1:{self.port}/mcp"
        # wrk takes whole seconds.
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s"]
        call = [TOOL, json.dumps(ARGUMENTS, separators=(",", ":"))]
        era = ["legacy", *self.sessions] if self.legacy else []
        cpu, driver = self.cpu_seconds(), children_seconds()
        done = subprocess.run(
            [*command, "-s", WRK_SCRIPT, url, "--", *call, *era], capture_output=True, text=True, check=True
        )
        cpu, driver = self.cpu_seconds() - cpu, children_seconds() - driver
        said = json.loads(done.stdout.splitlines()[-1])
        number = said["requests"]
        faults = {name: said[name] for name in ("refused", "broken", "late") if said[name]}
        if faults or not number:
            raise RuntimeError(f"{self.command}: {faults or 'nothing'} beside {number} answers")
        # Answers that were under way at the end count in the sum of bytes. In a session, numbers of events
        # may be longer or shorter.
        tolerated = CONNECTIONS * size + said["bytes"] * (0.02 if self.legacy else 0.001)
        if abs(said["bytes"] - number * size) > tolerated:
            raise RuntimeError(f"{self.command}: {said['bytes'] / number:.0f} bytes an answer, not {size}")
        self.check()
        each = 1e6 / number
        return Load(number, said["seconds"], said["p50_us"], said["p99_us"], cpu * each, driver * each)

    @contextmanager
    def streams(self, number: int) -> Iterator[None]:
        """Holds so many streams of `subscriptions/listen` open meanwhile. Raises when one has ended."""
        held: list[socket.socket] = []
        try:
            for n in range(number):
                held.append(self._listen(n))
            yield
            ended = sum(has_ended(stream) for stream in held)
            if ended:
                raise RuntimeError(f"{self.command}: {ended} of {number} streams have ended")
        finally:
            for stream in held:
                stream.close()

    def _listen(self, id: int) -> socket.socket:
        params = {"_meta": meta(), "notifications": {"toolsListChanged": True}}
        message = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers.update(modern_headers("subscriptions/listen"))
        stream = socket.create_connection(("127.0.0.1", self.port), 30)
        stream.sendall(request(self.port, headers, json.dumps(message)))
        got = b""
        while b"notifications/subscriptions/acknowledged" not in got:
            more = stream.recv(1 << 16)
            if not more or not b"HTTP/1.1 200".startswith((got + more)[:12]):
                raise RuntimeError(f"{self.command}: no stream: {(got + more)[:300]!r}")
            got += more
        return stream

    def cpu_seconds(self) -> float:
        """User and system time so far, of all threads of the server and of its children."""
        return sum(process_seconds(pid) for pid in family(self.child.pid))

    def memory_mb(self, what: str = "VmRSS") -> float:
        """What the server and its children hold now, or with `VmHWM` at most."""
        return sum(status_mb(pid, what) for pid in family(self.child.pid))

    def close(self) -> None:
        self.child.terminate()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def measure(peer: HttpPeer, seconds: float) -> Figures:
    """Warms a server up, and measures it: one connection first, then all."""
    peer.load(1)
    alone = peer.load(1, connections=1)
    found = peer.load(seconds)
    return Figures(
        cpu_us=found.cpu_us,
        requests_per_second=found.rate,
        p50_us=found.p50_us,
        p99_us=found.p99_us,
        alone_p50_us=alone.p50_us,
        peak_mb=peer.memory_mb("VmHWM"),
        driver_us=found.driver_us,
    )


def meta() -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    return {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}


def session_header(id: str | None) -> dict[str, str]:
    return {"Mcp-Session-Id": id} if id else {}


def request(port: int, headers: dict[str, str], body: str) -> bytes:
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def read_reply(connection: socket.socket, expects_message: bool) -> Reply:
    """One answer, whose message is its body or the last event of its stream."""
    counted = Counted(connection)
    response = http.client.HTTPResponse(counted)  # type: ignore[arg-type]
    response.begin()
    body = response.read().decode()
    session = response.getheader("Mcp-Session-Id")
    if (response.getheader("Content-Type") or "").startswith("text/event-stream"):
        events = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
        body = next((event for event in reversed(events) if event), "")
    message = {}
    if expects_message:
        with suppress(ValueError):
            message = json.loads(body)
    size = counted.size
    return Reply(response.status, session, message if isinstance(message, dict) else {}, size)


class Counted:
    """A socket as `http.client` wants it, that counts what is read."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.size = connection, 0

    def makefile(self, mode: Any) -> Any:
        file = self.connection.makefile(mode)
        count = self

        class File:
            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def readline(self, limit: int = -1) -> bytes:
                return self._counted(file.readline(limit))

            def read(self, size: int = -1) -> bytes:
                return self._counted(file.read(size))

            def _counted(self, data: bytes) -> bytes:
                count.size += len(data)
                return data

        return File()


def has_ended(stream: socket.socket) -> bool:
    """Whether the server has closed a stream. What else lies there is dropped."""
    stream.setblocking(False)
    try:
        while stream.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


def family(pid: int) -> Iterator[int]:
    """A process and what it has started."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


def process_seconds(pid: int) -> float:
    """All threads of one process, by the clock id that clock_getcpuclockid(3) makes of a process id."""
    return time.clock_gettime((~pid << 3) | 2)


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def status_mb(pid: int, what: str) -> float:
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if sys.platform != "linux":
    raise SystemExit("this measures by /proc, which Linux has")
