"""Threads for sync functions that are called from the loop.

In the place of `anyio.to_thread.run_sync`, which wakes a thread and the loop for each call. Here one thread
goes on with what has gathered while it ran, and the loop is woken once for all that is done. A function sees
what it would see on one of anyio's threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from .threads import WorkerThreads

if TYPE_CHECKING:
    from ..._native import Call

__all__ = ["Workers"]


class _Job:
    """One call of a function."""

    __slots__ = (
        "arguments",
        "call",
        "context",
        "error",
        "function",
        "future",
        "is_abandoned",
        "is_done",
        "value",
    )

    def __init__(self, call: Call, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.call = call
        self.function = function
        self.arguments = arguments
        self.context: Context = copy_context()
        # The one that the loop waits for now.
        self.future: asyncio.Future[None]
        self.is_abandoned = False
        self.is_done = False
        self.value: Any = None
        self.error: BaseException | None = None


class Workers:
    """The threads of one loop: as many as block at the same time, and one that is ready for the next."""

    def __init__(self, threads: WorkerThreads) -> None:
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._limiter = anyio.to_thread.current_default_thread_limiter()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._done: deque[_Job] = deque()
        # The loop has been told of what is done, and has not looked yet.
        self._told = False
        self._over = False
        self._lock = threading.Lock()
        self._count = 0
        self._idle = 0

    async def run(self, call: Call, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs `function` on a thread, in a copy of the current context; gives its result, raises its error.

        As with anyio's threads, cancelling the request, or a cancel scope round this, lets the function come
        to its end first; then the cancellation is met by what waits next. RuntimeError after `close`.
        """
        if self._over:
            raise RuntimeError("the server is over")
        job = _Job(call, function, arguments)
        job.future = self._loop.create_future()
        self._jobs.put(job)
        if not self._idle:
            self._staff()
        interrupted = False
        with anyio.CancelScope(shield=True):
            while not job.is_done:
                try:
                    await job.future
                except asyncio.CancelledError:
                    if not call.cancelled:
                        job.is_abandoned = True
                        raise
                    interrupted = True
                    job.future = self._loop.create_future()
        if interrupted:
            task = asyncio.current_task()
            assert task is not None  # this is a coroutine, and it was cancelled
            task.cancel()
        if job.error is None:
            return job.value
        try:
            raise job.error
        finally:
            # The error's traceback leads to this frame, and this frame to the error.
            del job

    def close(self) -> None:
        """No more functions are run. The threads end as they come back from theirs."""
        self._over = True
        for _ in range(self._count):
            self._jobs.put(None)

    def _staff(self) -> None:
        """Sees to it that a thread is ready for what is queued, unless there are as many as there may be."""
        with self._lock:
            if self._idle or self._count >= self._limiter.total_tokens:
                return
            self._count += 1
            self._idle += 1
        threading.Thread(target=self._work, name=f"ferromcp worker {self._count}").start()

    def _work(self) -> None:
        while True:
            # Of the threads that wait here, one wakes for what is put there, and wakes another when it has
            # taken it.
            job = self._jobs.get()
            if job is None:
                return
            with self._lock:
                self._idle -= 1
            if not (self._idle or self._jobs.empty()):
                # The function may block, and what is behind it must not wait.
                self._staff()
            self._run(job)
            with self._lock:
                self._idle += 1
            self._tell(job)
            # What it was called with may be large, and the next call may be far off.
            del job

    def _run(self, job: _Job) -> None:
        if job.is_abandoned:
            return
        self._threads.enter(job.call)
        try:
            job.value = job.context.run(job.function, *job.arguments)
        except StopIteration as error:
            # No coroutine can raise it.
            job.error = RuntimeError("coroutine raised StopIteration")
            job.error.__cause__ = error
        except BaseException as error:
            job.error = error
        finally:
            self._threads.leave()

    def _tell(self, job: _Job) -> None:
        self._done.append(job)
        if self._told:
            return
        self._told = True
        try:
            self._loop.call_soon_threadsafe(self._collect)
        except RuntimeError:
            # The loop is closed, and nobody waits.
            return

    def _collect(self) -> None:
        # Before the look, so that what is done after it is told anew.
        self._told = False
        while self._done:
            job = self._done.popleft()
            job.is_done = True
            if not job.future.done():
                job.future.set_result(None)
