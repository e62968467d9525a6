"""A client of raw lines: sends a request and writes down everything that comes back until its answer.

Decides nothing about what is right; it answers what servers ask of clients with fixed values, so that two
servers can be told apart by their transcripts.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from warm import WarmProcess

Message = dict[str, Any]

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
CAPABILITIES: Message = {"elicitation": {"form": {}}, "sampling": {}, "roots": {"listChanged": True}}
CLIENT = {"name": "rawpeer", "version": "1"}
ANSWERS: dict[str, Message] = {
    "elicitation/create": {"action": "accept", "content": {"color": "red", "value": "red"}},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "said"},
        "model": "m",
    },
    "roots/list": {"roots": [{"uri": "file:///tmp"}]},
}
DEADLINE = 30.0


def stock(server: str) -> list[str]:
    """The command that runs a server by its own SDK."""
    return [sys.executable, str(SERVERS / server)]


def ours(server: str, *options: str) -> list[str]:
    """The command that runs the same file on the engine."""
    return [sys.executable, "-m", "ferromcp", "run", str(SERVERS / server), *options]


class RawPeer:
    """One process and one era.

    The process is forked from one that has the SDKs (see `warm`), unless it is to be a new one, or has an
    environment of its own.
    """

    def __init__(self, command: list[str], era: str, *, new: bool = False, **environment: str) -> None:
        self.era = era
        # A file: a pipe that nobody reads would stop a server that logs much.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        env = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | WarmProcess
        if new or environment:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=env)
        else:
            assert command[0] == sys.executable
            self.process = WarmProcess(command[1:], stderr=self._log.fileno(), environment=env)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._buffer = b""
        self.errors = ""

    def __enter__(self) -> RawPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """Ends the input and waits for the process; its exit code. Its stderr is in `errors` then."""
        if self._log.closed:
            return self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            if self.process.stdout is not None:
                self.process.stdout.close()
            self.errors = self._written()
            self._log.close()

    def _written(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def send(self, message: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        while data:
            data = data[os.write(self._in, data) :]

    def receive(self, deadline: float) -> Message:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._out], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("no answer")
            chunk = os.read(self._out, 1 << 16)
            if not chunk:
                self.process.wait(DEADLINE)
                raise EOFError(self._written()[-2000:])
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def handshake(self, version: str = LEGACY, client: Message = CLIENT) -> list[Message]:
        """The legacy era's opening; nothing in the modern one."""
        if self.era == "modern":
            return []
        params = {"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": client}
        transcript = self.request("initialize", params, 0)
        self.send({"method": "notifications/initialized"})
        return transcript

    def request(self, method: str, params: Message | None, request_id: Any) -> list[Message]:
        """Sends a request; everything that came until its answer, the answer last."""
        params = dict(params or {})
        if self.era == "modern":
            envelope = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": CLIENT,
                "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
            }
            params["_meta"] = {**envelope, **params.get("_meta", {})}
        self.send({"id": request_id, "method": method, "params": params})
        return self.until(request_id)

    def until(self, request_id: Any) -> list[Message]:
        transcript = []
        deadline = time.monotonic() + DEADLINE
        while True:
            message = self.receive(deadline)
            if "method" in message and "id" in message:
                transcript.append({"asked": message["method"], "params": message.get("params")})
                self.send({"id": message["id"], "result": ANSWERS.get(message["method"], {})})
                continue
            transcript.append(message)
            if "method" not in message and message.get("id") == request_id:
                return transcript
