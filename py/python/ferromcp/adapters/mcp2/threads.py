"""Sync functions on the engine's threads, with what they would find on one of anyio's.

The stock servers run sync tools on anyio's worker threads, from which `anyio.from_thread` leads back to the
loop. The engine's own threads save the hand-over, and get the same way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.from_thread
import anyio.lowlevel
from anyio._core import _eventloop

from ..._native import Call

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WorkerThreads"]


class _CallScope:
    """What `anyio.from_thread.check_cancelled` looks at."""

    __slots__ = ("_call", "_tasks")

    shield = False
    _parent_scope = None

    def __init__(self, call: Call) -> None:
        self._call = call
        self._tasks: set[Any] = set()

    @property
    def cancel_called(self) -> bool:
        return self._call.cancelled


class WorkerThreads:
    """Makes the engine's threads look like anyio's workers of the loop that this is created on."""

    def __init__(self) -> None:
        self._token = anyio.lowlevel.current_token()
        self._locals: Any = _eventloop.threadlocals
        self.usable = self._probe()

    def enter(self, call: Call) -> None:
        """The thread is about to run host code for `call`."""
        self._locals.current_token = self._token
        self._locals.current_cancel_scope = _CallScope(call)

    def leave(self) -> None:
        """The thread has run it."""
        del self._locals.current_cancel_scope

    def _probe(self) -> bool:
        """Whether the installed anyio keeps its way back where this expects it: asked of anyio itself."""

        def ask() -> bool:
            self._locals.current_token = self._token
            return anyio.from_thread._token_or_error(None) is self._token

        return _on_a_thread(ask)


def _on_a_thread(ask: Callable[[], bool]) -> bool:
    import threading

    answers = []

    def body() -> None:
        try:
            answers.append(ask())
        except Exception:
            answers.append(False)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return answers == [True]
