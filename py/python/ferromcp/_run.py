"""From a declared server to the end of its run: the main thread, the loop, and the way out.

Decides who the main thread waits for and with which code a run ends. Reading, writing and draining is the
native module's work; what may hold the process up after that is decided in `_leave`. asyncio is imported only
when something needs a loop.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ._leave import GRACE, Guard, bound_exit, exit_code, leave_fork, leave_now
from ._native import dumps
from ._signals import Signals
from .errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ._native import Server as NativeServer

    Lifespan = Callable[[], AbstractAsyncContextManager[Any]]

__all__ = ["Options", "http_options", "over", "refuse_closed_streams", "run", "serve"]


class Options(NamedTuple):
    """What `run()` was asked for. `http` is the JSON text of its options; None over stdio."""

    drain: float | None = None
    debug: bool | None = None
    max_threads: int = 64
    loop: str = "auto"
    task_store: str = "memory"
    policy: Mapping[str, Any] | None = None
    http: bytes | None = None

    def native(self, *, owns_process: bool) -> dict[str, Any]:
        """The form that the native module takes. Only a process that is ours may be ended by force."""
        return {
            "drain_ms": None if self.drain is None else round(self.drain * 1000),
            "max_threads": self.max_threads,
            "debug": self.debug,
            "task_store": self.task_store,
            "policy": None if self.policy is None else dumps(self.policy, "policy"),
            "grace_ms": round(GRACE * 1000) if owns_process else None,
        }


def http_options(transport: str, options: Mapping[str, Any]) -> bytes | None:
    """The options of a transport that are none of `Options`: the JSON text for "http", None for "stdio".

    Raises:
        ConfigurationError: there is no such transport, or it has no such options.
    """
    if transport == "http":
        from ._http import encode

        return encode(options)
    if transport != "stdio":
        raise ConfigurationError(f"there is no transport {transport!r}: 'stdio' or 'http'")
    if options:
        raise ConfigurationError(f"transport 'stdio' has no option {next(iter(options))!r}")
    return None


def run(native: NativeServer, options: Options, *, on_loop: bool, lifespan: Lifespan | None = None) -> None:
    """Serve until the input ends (then return), a signal comes (SystemExit 143 or 130), or the reader is
    gone; over HTTP until a signal comes. What a function raises to end the program (SystemExit,
    KeyboardInterrupt) is raised here.

    `lifespan` is entered on the loop before the first message is read and left after the last call.
    On another thread than the main one signals and the process stay with the program.
    """
    _refuse_running_loop()
    guard = Guard(native)
    stuck = False
    with Signals(native) as signals:
        owns_process = signals.descriptor is not None
        try:
            if not on_loop and lifespan is None:
                _start(native, None, options, owns_process)
                stuck = _wait(native, options, signals)
            else:
                stuck = _run_loop(options, signals, _main(native, options, signals, lifespan))
        except BaseException as error:  # of a signal handler of the user's own, a lifespan, or a function
            if guard.forked:
                leave_fork(error)
            guard.abandon(exit_code(error))
            guard.over(GRACE)
            if owns_process and native.started:
                bound_exit(exit_code(error))
            raise
    stuck = guard.over() or stuck
    if not owns_process:
        return
    code = native.exit_code
    if stuck:
        leave_now(code)
    bound_exit(code)
    if code:
        raise SystemExit(code)


async def serve(native: NativeServer, options: Options) -> None:
    """Serve on the running loop until the server is over. Signals and the process stay with whoever owns
    the loop.
    """
    guard = Guard(native)
    try:
        await _serve(native, options, owns_process=False)
    except BaseException as error:
        if guard.forked:
            leave_fork(error)
        guard.abandon()
        raise
    finally:
        guard.over()


def _start(
    native: NativeServer, loop: asyncio.AbstractEventLoop | None, options: Options, owns_process: bool
) -> None:
    settings = options.native(owns_process=owns_process)
    if options.http is not None:
        native.start_http(loop, options.http, settings)
    else:
        native.start_stdio(loop, settings)
        _line_buffered()


async def _serve(native: NativeServer, options: Options, *, owns_process: bool) -> None:
    import asyncio

    _start(native, asyncio.get_running_loop(), options, owns_process)
    await over(native)


async def over(native: NativeServer) -> None:
    """Waits for the end of the server, and a moment for the calls that it has cancelled: what they clean up
    may need what is closed next.
    """
    import asyncio

    try:
        await native.finished()
    finally:
        native.acknowledge()
    if tasks := native.tasks():
        await asyncio.wait(tasks, timeout=GRACE)


async def _main(native: NativeServer, options: Options, signals: Signals, lifespan: Lifespan | None) -> None:
    owns_process = signals.descriptor is not None
    if lifespan is None:
        await _serve(native, options, owns_process=owns_process)
        return
    async with lifespan():
        await _serve(native, options, owns_process=owns_process)
        signals.serving = False


def _wait(native: NativeServer, options: Options, signals: Signals) -> bool:
    """Without a loop: the main thread sleeps until the server is over, or until something needs a loop
    after all.
    """
    if native.wait(signals.descriptor) == "loop":
        return _run_loop(options, signals, _join(native))
    native.acknowledge()
    return False


async def _join(native: NativeServer) -> None:
    """A server that runs already gets this loop."""
    import asyncio

    native.set_loop(asyncio.get_running_loop())
    await over(native)


def _refuse_running_loop() -> None:
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError("run() was called inside a running event loop: use `await ...serve()` there")


def refuse_closed_streams() -> None:
    """Before anything is opened, which would get the number of a stream that is closed."""
    for number, name in enumerate(("input", "output")):
        try:
            os.fstat(number)
        except OSError:
            raise ConfigurationError(f"standard {name} is closed: there is no client to serve") from None


def _run_loop(options: Options, signals: Signals, main: Any) -> bool:
    """Run a coroutine on a loop of our own; True when tasks of it would not end.

    Not `asyncio.run`: that waits without bound for tasks and executor threads.
    """
    import asyncio

    process = os.getpid()
    stuck = False
    try:
        loop = _new_loop(options.loop)
    except BaseException:
        main.close()
        raise
    try:
        asyncio.set_event_loop(loop)
        if signals.descriptor is not None:  # a signal that another thread received must wake the loop
            loop.add_reader(signals.descriptor, os.read, signals.descriptor, 4096)
        try:
            loop.run_until_complete(main)
        except BaseException as error:
            if os.getpid() != process:  # what is left to do with the loop is the parent's
                leave_fork(error)
            raise
        finally:
            stuck = loop.run_until_complete(_end_tasks(loop, asyncio.all_tasks(loop)))
        return stuck
    finally:
        asyncio.set_event_loop(None)
        if stuck:
            _left_behind.append(loop)  # closing it would complain of each task
        else:
            loop.close()


_left_behind: list[asyncio.AbstractEventLoop] = []


async def _end_tasks(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Task[Any]]) -> bool:
    """Cancel what is left and wait a moment for it. The default executor is not waited for: a thread in it
    that never ends is met by `bound_exit`.
    """
    import asyncio

    for task in tasks:
        task.cancel()
    pending: set[Any] = set()
    if tasks:
        _, pending = await asyncio.wait(tasks, timeout=GRACE)
    # Generators that were not run to their end have a `finally` too, which may wait for anything.
    closing = loop.create_task(loop.shutdown_asyncgens())
    _, unclosed = await asyncio.wait({closing}, timeout=GRACE)
    return bool(pending or unclosed)


def _new_loop(kind: str) -> asyncio.AbstractEventLoop:
    import asyncio

    if kind not in ("auto", "asyncio", "uvloop"):
        raise ConfigurationError(f"loop {kind!r}: one of 'auto', 'asyncio', 'uvloop'")
    if kind != "asyncio":
        try:
            import uvloop
        except ImportError:
            if kind == "uvloop":
                raise ConfigurationError("loop 'uvloop': it is not installed") from None
        else:
            loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
            return loop
    return asyncio.new_event_loop()


def _line_buffered() -> None:
    """What host code prints goes to stderr now; it should appear there line by line.

    Only after the native module has moved the descriptors: this flushes what was printed before, and that
    must not reach the peer.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)
