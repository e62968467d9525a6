"""Tasks: calls whose answer is fetched later. What becomes of them, and where, is decided below."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ._aio import refuse_loop
from ._native import Call

__all__ = ["BeginTask"]


class BeginTask:
    """A call that is to become a task: `await` it in an async function, `wait()` for it in a sync one.

    Nothing happens before. Both give the task's id when the task is kept and its client has been told of it,
    or None where the client does not take tasks.

    Raises:
        ConfigurationError: one client has `maxTasks` running.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __await__(self) -> Generator[Any, None, str | None]:
        return self._call.begin_task().__await__()

    def wait(self) -> str | None:
        """Blocks this thread until the task is kept.

        Raises:
            RuntimeError: this thread runs an event loop, which must not be blocked: await it.
        """
        refuse_loop()
        return self._call.begin_task_and_wait()
