"""Functions that stand round every call of host code, the first one outermost.

Decides on which thread each of them runs. What is sync within and without stays on the thread that took the
call; an async middleware runs on the loop and sends what is sync inside of it to a worker thread; a sync one
round something async waits for it on such a thread. So `call_next()` gives a sync middleware the value and an
async one an awaitable of it, whatever is inside. asyncio is imported only where something is async.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ._signature import is_async
from .context import Context, current_context

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ._declare import Declared

__all__ = ["Middleware", "around"]

Middleware: TypeAlias = Callable[[Context, Callable[[], Any]], Any]
"""Takes the call and what is inside of it; gives what is to be the function's value."""

# As many as the calls that `run()` lets block by default.
_WORKERS = 64


class _Layer(NamedTuple):
    """What a middleware has inside: a function of the call's, and whether that is to be awaited."""

    enter: Callable[..., Any]
    is_async: bool


def around(item: Declared, middleware: Sequence[Middleware]) -> Declared:
    """A declaration whose function is called by these, if there are any."""
    if not middleware:
        return item
    layer = _Layer(lambda _call, function: function(), item.needs_loop)
    for outer in reversed(middleware):
        layer = _wrapped(outer, layer)
    function, enter = item.function, layer.enter

    if layer.is_async:

        async def on_loop(**arguments: Any) -> Any:
            return await enter(current_context(), partial(function, **arguments))

        handler = item.handler.around(on_loop, is_async=True)
    else:

        def here(**arguments: Any) -> Any:
            return enter(current_context(), partial(function, **arguments))

        handler = item.handler.around(here, is_async=False)
    return item._replace(handler=handler, needs_loop=layer.is_async)


def _wrapped(outer: Middleware, inner: _Layer) -> _Layer:
    enter = inner.enter
    if is_async(outer):

        def on_loop(call: Context, function: Callable[[], Any]) -> Any:
            if inner.is_async:
                return outer(call, partial(enter, call, function))
            return outer(call, lambda: _on_worker(partial(enter, call, function)))

        return _Layer(on_loop, True)
    if not inner.is_async:
        return _Layer(lambda call, function: outer(call, partial(enter, call, function)), False)

    async def waiting(call: Context, function: Callable[[], Any]) -> Any:
        return await _round_async(outer, call, partial(enter, call, function))

    return _Layer(waiting, True)


async def _on_worker(function: Callable[[], Any]) -> Any:
    """Calls a sync function on a worker thread, in this context."""
    import asyncio
    from contextvars import copy_context

    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(_workers(), context.run, function)


async def _round_async(outer: Middleware, call: Context, inner: Callable[[], Any]) -> Any:
    """Calls a sync middleware on a worker thread; what is inside of it runs on this loop and ends with it."""
    import asyncio

    loop = asyncio.get_running_loop()
    running = []

    async def within() -> Any:
        return await inner()

    def call_next() -> Any:
        future = asyncio.run_coroutine_threadsafe(within(), loop)
        running.append(future)
        return future.result()

    try:
        return await _on_worker(partial(outer, call, call_next))
    except asyncio.CancelledError:
        for future in running:
            future.cancel()
        raise


@cache
def _workers() -> Executor:
    import os
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):
        # A forked child has none of the threads, and makes its own.
        os.register_at_fork(after_in_child=_workers.cache_clear)
    return ThreadPoolExecutor(_WORKERS, "ferromcp-call")
