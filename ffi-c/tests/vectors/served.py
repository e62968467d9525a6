"""A server of the C door that listens, and its host code, for the client over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from door import KINDS, Answers, Call, Door, Unasked, text_of
from host import Host
from vectors.text import write

__all__ = ["DEADLINE", "Served"]

# Seconds for anything that is waited for. Only a test that fails waits for so long.
DEADLINE = 10.0
PAUSE = 0.002
# Changes of a list are told together after this time.
COALESCE_MS = 20


class Served:
    """As `web.Served` has it. Host code runs on a thread of its own, one act after the other."""

    principal: str | None = None
    silence = (COALESCE_MS + 10) / 1000

    def __init__(self, door: Door, server: dict[str, Any], http: dict[str, Any]) -> None:
        self._door = door
        config = {key: value for key, value in server.items() if key not in KINDS}
        config["limits"] = {"coalesceMs": COALESCE_MS, **config.get("limits", {})}
        door.do("new", write(config))
        self._host = Host(door)
        for kind in KINDS:
            for entry in server.get(kind, []):
                self._host.add(kind, entry, 0)
        # For the program, which is asked one thing at a time, and what is known of the calls in it.
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._failures: list[BaseException] = []
        (port,) = door.do("start", write({**http, "port": 0, "announce": False}))
        self.address = "127.0.0.1", int(port)
        self._thread = threading.Thread(target=self._serve, name="host")
        self._thread.start()

    def settle(self) -> None:
        """Host code does what has come for it."""
        with self._lock:
            while (output := self._door.poll()) is not None:
                if isinstance(output, Call):
                    self._host.start(output)
                elif isinstance(output, Answers):
                    self._host.inputs(output)
                else:
                    assert isinstance(output, Unasked), output
                    self._host.not_asked(output.key, output.refused)

    def release(self, name: str) -> None:
        """Lets the oldest call of a handler that waits go on."""
        self._await(lambda: self._host.waits(name), f"no call of {name} waits")
        with self._lock:
            self._host.release(name)

    def take_called(self, wanted: list[str]) -> list[str]:
        """The handlers called since the last time."""
        self._await(lambda: len(self._host.called) >= len(wanted), "host code is not called")
        with self._lock:
            called, self._host.called = self._host.called, []
        return called

    def take_cancelled(self, name: str, reason: str | None) -> None:
        """A call of this handler says that nobody waits for it."""
        self._await(lambda: bool(self._reasons(name)), f"no call of {name} is told of a cancellation")
        told = self._reasons(name)
        assert reason is None or reason in told, f"the reason was {told}"

    def change(self, operand: dict[str, Any]) -> None:
        """Adds and removes entries."""
        with self._lock:
            for number, kind in enumerate(KINDS):
                for entry in operand.get("add", {}).get(kind, []):
                    self._host.add(kind, entry, 0)
                for name in operand.get("remove", {}).get(kind, []):
                    self._door.do("remove", number, 0, str(name))

    def stop(self) -> None:
        """Begins the end of the server."""
        with self._lock:
            self._door.do("stop")

    def close(self) -> None:
        """Waits for it."""
        self._ended.set()
        self._thread.join()
        self.settle()
        self._host.release_all()
        self._door.do("free")
        assert not self._failures, self._failures

    def _serve(self) -> None:
        while not self._ended.wait(PAUSE):
            try:
                self.settle()
            except BaseException as failure:  # of host code, whose run this is
                self._failures.append(failure)
                return

    def _reasons(self, name: str) -> list[str | None]:
        """Why nobody waits for calls of this handler any more."""
        with self._lock:
            told = [self._door.do("cancelled", key) for key in self._host.running(name)]
        return [text_of(reason) for cancelled, reason in told if cancelled == "1"]

    def _await(self, condition: Callable[[], bool], failure: str) -> None:
        end = time.monotonic() + DEADLINE
        while True:
            with self._lock:
                self.settle()
                if condition():
                    return
            assert time.monotonic() < end, failure
            time.sleep(PAUSE)
