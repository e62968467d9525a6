"""A server process on pipes, and a client that speaks to it line by line, with a deadline on every wait."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Generous, because it is only ever waited for in full when a test fails.
DEADLINE = 20.0

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

Message = dict[str, Any]


def _environment() -> dict[str, str]:
    """Ours, without what would change how the server's standard streams behave."""
    return {
        name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "MCP_DEBUG")
    }


class Peer:
    """A client of one server process."""

    def __init__(
        self, *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**_environment(), **(env or {})},
            cwd=cwd,
        )
        self._next_id = 0
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._unasked: list[Message] = []
        self.stderr = b""
        self._heard = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read1(1 << 16):  # type: ignore[attr-defined]
            with self._heard:
                self.stderr += chunk
                self._heard.notify_all()

    # Sending

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """One message."""
        self.write(json.dumps(message).encode() + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        """One notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, meta: Mapping[str, Any] | None = None, **params: Any) -> int:
        """One request of the modern era; its id."""
        self._next_id += 1
        params["_meta"] = {**MODERN, **(meta or {})}
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def close(self) -> None:
        """The end of the input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    # Receiving

    def line(self, deadline: float = DEADLINE) -> bytes | None:
        """The next line; None at the end of the output."""
        return self._lines.get(timeout=deadline)

    def message(self, deadline: float = DEADLINE) -> Message:
        """The next message."""
        line = self.line(deadline)
        assert line is not None, f"the server closed its output: {self.stderr.decode()}"
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, key: int, deadline: float = DEADLINE) -> Message:
        """The answer to one request; other messages are kept for `unasked`."""
        end = time.monotonic() + deadline
        for at, message in enumerate(self._unasked):
            if message.get("id") == key:
                return self._unasked.pop(at)
        while True:
            message = self.message(max(0.0, end - time.monotonic()))
            if message.get("id") == key:
                return message
            self._unasked.append(message)

    def unasked(self) -> list[Message]:
        """What came while an answer was waited for."""
        messages, self._unasked = self._unasked, []
        return messages

    def result(self, method: str, meta: Mapping[str, Any] | None = None, **params: Any) -> Any:
        """Request, answer, result."""
        answer = self.answer(self.request(method, meta, **params))
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, **params: Any) -> Any:
        """Request, answer, error."""
        answer = self.answer(self.request(method, **params))
        assert "error" in answer, answer
        return answer["error"]

    def begin(self, name: str, meta: Mapping[str, Any] | None = None, /, **arguments: Any) -> int:
        """Calls a tool; the request's id."""
        return self.request("tools/call", meta, name=name, arguments=arguments)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Calls a tool; its result."""
        answer = self.answer(self.begin(name, **arguments))
        assert "result" in answer, answer
        return answer["result"]

    def text(self, name: str, /, **arguments: Any) -> str:
        """Calls a tool that gives one text, and does not fail."""
        result = self.call(name, **arguments)
        assert not result.get("isError"), result
        (block,) = result["content"]
        return str(block["text"])

    def failure(self, name: str, /, **arguments: Any) -> str:
        """Calls a tool that fails; the text."""
        result = self.call(name, **arguments)
        assert result["isError"] is True, result
        (block,) = result["content"]
        return str(block["text"])

    def silent(self, seconds: float) -> bool:
        """Whether nothing comes for some time."""
        try:
            self._unasked.append(self.message(seconds))
        except queue.Empty:
            return True
        return False

    def hears(self, text: bytes, deadline: float = DEADLINE) -> None:
        """Waits until the server has written this to stderr."""
        with self._heard:
            said = self._heard.wait_for(lambda: text in self.stderr, deadline)
        assert said, self.stderr.decode()

    # Ending

    def kill(self, number: signal.Signals) -> None:
        """A signal for the process."""
        self.process.send_signal(number)

    def ended(self, deadline: float = DEADLINE) -> int:
        """Waits for the end of the process; its exit code."""
        code = self.process.wait(deadline)
        for reader in self._readers:
            reader.join(DEADLINE)
        return code

    def finish(self) -> int:
        """Closes the input and waits for the end."""
        self.close()
        return self.ended()


def write_server(folder: Path, source: str, name: str = "server_under_test.py") -> Path:
    """A server file with the usual beginning and end round its declarations."""
    path = folder / name
    path.write_text(
        "from ferromcp import Context, Server\n"
        "server = Server('tests', version='1.0')\n"
        + source
        + "\nif __name__ == '__main__':\n    server.run()\n"
    )
    return path
