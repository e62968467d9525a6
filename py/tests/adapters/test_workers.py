"""Threads for sync functions: what runs where, who waits for whom, and what becomes of a cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from ferromcp.adapters.mcp2.threads import WorkerThreads
from ferromcp.adapters.mcp2.workers import Workers

pytestmark = pytest.mark.asyncio
said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")


class OneCall:
    """What the workers ask of a call."""

    def __init__(self) -> None:
        self.cancelled = False


@asynccontextmanager
async def running() -> AsyncIterator[Workers]:
    """Workers, and the certainty that none of their threads is left."""
    workers = Workers(WorkerThreads())
    try:
        yield workers
    finally:
        workers.close()
        while any(thread.name.startswith("ferromcp worker") for thread in threading.enumerate()):
            await asyncio.sleep(0.001)


async def run(workers: Workers, function: Any, *arguments: Any, call: OneCall | None = None) -> Any:
    made: Any = call or OneCall()
    return await workers.run(made, function, *arguments)


async def test_results_and_errors_come_back() -> None:
    error = ValueError("told")

    def fail() -> None:
        raise error

    def stop() -> None:
        raise StopIteration

    async with running() as workers:
        assert await run(workers, max, 1, 2) == 2
        with pytest.raises(ValueError) as raised:
            await run(workers, fail)
        assert raised.value is error
        # As from one of anyio's threads: no coroutine can raise the other.
        with pytest.raises(RuntimeError, match="coroutine raised StopIteration"):
            await run(workers, stop)
        assert await run(workers, max, 3, 4) == 4


async def test_a_function_finds_what_it_would_find_on_one_of_anyios_threads() -> None:
    def look() -> tuple[str, bool, str]:
        found = said.get()
        said.set("by the function")
        asked = anyio.from_thread.run(asyncio.sleep, 0, "from the loop")
        anyio.from_thread.check_cancelled()
        return found, threading.current_thread() is threading.main_thread(), asked

    async with running() as workers:
        said.set("by the loop")
        assert await run(workers, look) == ("by the loop", False, "from the loop")
        assert said.get() == "by the loop"


async def test_functions_that_block_hold_up_nobody() -> None:
    """Each of these ends when the next has begun."""
    begun = [threading.Event() for _ in range(20)]

    def wait(number: int) -> bool:
        begun[number].set()
        return number + 1 == len(begun) or begun[number + 1].wait(10)

    async with running() as workers:
        assert all(await asyncio.gather(*(run(workers, wait, number) for number in range(len(begun)))))


async def test_quick_functions_share_a_thread() -> None:
    async with running() as workers:
        for _ in range(10):
            names = await asyncio.gather(*(run(workers, threading.current_thread) for _ in range(50)))
        # One that works, one that is ready in case it would block, and a few if the machine is busy: far from
        # one for each.
        assert len(set(names)) < 10


async def test_no_more_threads_than_the_limiter_has_tokens() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = 2
    now = most = 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1

    try:
        async with running() as workers:
            await asyncio.gather(*(run(workers, work) for _ in range(10)))
    finally:
        limiter.total_tokens = 40
    assert most == 2


async def test_a_cancelled_request_waits_for_its_function() -> None:
    began, go_on = threading.Event(), threading.Event()
    call = OneCall()
    result = None

    def work() -> str:
        began.set()
        assert go_on.wait(10)
        return "done"

    async def serve(workers: Workers) -> None:
        nonlocal result
        result = await run(workers, work, call=call)
        await asyncio.sleep(0)

    async with running() as workers:
        task = asyncio.create_task(serve(workers))
        await asyncio.to_thread(began.wait, 10)
        call.cancelled = True
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        go_on.set()
        # The result has come, and what waits next meets the cancellation.
        with pytest.raises(asyncio.CancelledError):
            await task
        assert result == "done"


async def test_a_timeout_of_anyios_waits_too() -> None:
    async with running() as workers:
        with anyio.move_on_after(0.01) as scope:
            assert await run(workers, time.sleep, 0.1) is None
            await anyio.sleep(10)
        assert scope.cancelled_caught


async def test_a_timeout_of_asyncios_does_not() -> None:
    go_on = threading.Event()
    async with running() as workers:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(run(workers, go_on.wait, 10), 0.01)
        go_on.set()
        assert await run(workers, max, 1, 2) == 2


async def test_nothing_is_run_after_the_end() -> None:
    async with running() as workers:
        assert await run(workers, max, 1, 2) == 2
    with pytest.raises(RuntimeError, match="the server is over"):
        await run(workers, max, 1, 2)


async def test_what_nobody_waits_for_does_not_begin() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens = 1
    go_on, ran = threading.Event(), threading.Event()
    try:
        async with running() as workers:
            first = asyncio.create_task(run(workers, go_on.wait, 10))
            second = asyncio.create_task(run(workers, ran.set))
            await asyncio.sleep(0.01)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            go_on.set()
            assert await first
            await run(workers, max, 1, 2)
    finally:
        limiter.total_tokens = 40
    assert not ran.is_set()
