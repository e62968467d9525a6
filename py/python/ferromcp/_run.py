"""From a declared server to the end of the process: the main thread, signals, the loop, and how calls that
never end are left behind.

Decides who the main thread waits for and with which code the process ends. Reading, writing and draining is
the native module's work. asyncio is imported only when something needs a loop.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from types import FrameType

    from ._native import Server as NativeServer

    Lifespan = Callable[[], AbstractAsyncContextManager[Any]]

__all__ = ["Options", "leave_now", "run", "serve"]

GRACE = 1.0
"""Seconds that code of the user's gets to end after the server is over: long enough for a `finally`, short
enough that a host that waits for us does not reach for SIGKILL.
"""


class Options(NamedTuple):
    """What `run()` was asked for."""

    drain: float | None = None
    debug: bool | None = None
    max_threads: int = 64
    loop: str = "auto"

    def native(self, *, owns_process: bool) -> dict[str, Any]:
        """The form that the native module takes. Only a process that is ours may be ended by force."""
        return {
            "drain_ms": None if self.drain is None else round(self.drain * 1000),
            "max_threads": self.max_threads,
            "debug": self.debug,
            "grace_ms": round(GRACE * 1000) if owns_process else None,
        }


def run(native: NativeServer, options: Options, *, on_loop: bool, lifespan: Lifespan | None = None) -> None:
    """Serve until the input ends (then return), a signal comes (SystemExit 143 or 130), or the reader is
    gone.

    `lifespan` is entered on the loop before the first message is read and left after the last call.
    """
    stuck = False
    try:
        with _Signals(native) as signals:
            if not on_loop and lifespan is None:
                native.start_stdio(None, options.native(owns_process=True))
                _line_buffered()
                stuck = _wait(native, options, signals)
            else:
                stuck = _run_loop(native, options, signals, _main(native, options, lifespan))
    except BaseException:  # a signal handler of the user's own, or a lifespan that failed
        _abandon(native)
        raise
    _leave(native, stuck)


async def serve(native: NativeServer, options: Options) -> None:
    """Serve on the running loop until the server is over. Signals and the process stay with whoever owns
    the loop.
    """
    await _serve(native, options, owns_process=False)


async def _serve(native: NativeServer, options: Options, *, owns_process: bool) -> None:
    import asyncio

    native.start_stdio(asyncio.get_running_loop(), options.native(owns_process=owns_process))
    _line_buffered()
    try:
        await native.finished()
    except BaseException:
        native.stop()
        raise
    finally:
        native.acknowledge()
        if not owns_process and native.stuck():
            _leave_at_exit()


async def _main(native: NativeServer, options: Options, lifespan: Lifespan | None) -> None:
    if lifespan is None:
        await _serve(native, options, owns_process=True)
        return
    async with lifespan():
        await _serve(native, options, owns_process=True)


def _wait(native: NativeServer, options: Options, signals: _Signals) -> bool:
    """Without a loop: the main thread sleeps until the server is over, or until something needs a loop
    after all.
    """
    if native.wait(signals.descriptor) == "loop":
        return _run_loop(native, options, signals, _join(native))
    native.acknowledge()
    return False


async def _join(native: NativeServer) -> None:
    """A server that runs already gets this loop."""
    import asyncio

    native.set_loop(asyncio.get_running_loop())
    try:
        await native.finished()
    finally:
        native.acknowledge()


def _run_loop(native: NativeServer, options: Options, signals: _Signals, main: Any) -> bool:
    """Run a coroutine on a loop of our own; True when tasks of it would not end.

    Not `asyncio.run`: that waits without bound for tasks and executor threads.
    """
    import asyncio

    loop = _new_loop(options.loop)
    try:
        asyncio.set_event_loop(loop)
        if signals.descriptor is not None:  # a signal that another thread received must wake the loop
            loop.add_reader(signals.descriptor, os.read, signals.descriptor, 4096)
        try:
            loop.run_until_complete(main)
        finally:
            stuck = _end_tasks(loop)
        return stuck
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _end_tasks(loop: asyncio.AbstractEventLoop) -> bool:
    import asyncio

    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    pending: Any = set()
    if tasks:
        _, pending = loop.run_until_complete(asyncio.wait(tasks, timeout=GRACE))
    loop.run_until_complete(loop.shutdown_asyncgens())
    # The default executor is not waited for: a thread in it that never ends is met by `_bound_exit`.
    return bool(pending)


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


class _Signals:
    """SIGTERM and SIGINT end the server in good order, unless host code has handlers of its own for them.

    Handlers of the plain kind, not the loop's: they run between two bytecodes of the main thread, so also
    when an async function blocks the loop.
    """

    def __init__(self, native: NativeServer) -> None:
        self._native = native
        self._before: list[tuple[int, Any]] = []
        self._wakeup: tuple[int, int, int] | None = None
        self._received = False

    @property
    def descriptor(self) -> int | None:
        """Readable when a signal has come; None outside the main thread, which gets none."""
        return None if self._wakeup is None else self._wakeup[0]

    def __enter__(self) -> _Signals:
        try:
            for number, default in (
                (signal.SIGTERM, signal.SIG_DFL),
                (signal.SIGINT, signal.default_int_handler),
            ):
                if signal.getsignal(number) == default:
                    self._before.append((number, signal.signal(number, self._handle)))
        except ValueError:  # not the main thread
            return self
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        self._wakeup = reader, writer, signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)
        if self._wakeup is not None:
            reader, writer, before = self._wakeup
            signal.set_wakeup_fd(before)
            os.close(reader)
            os.close(writer)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._received:  # asked twice: someone is waiting
            os._exit(128 + number)
        self._received = True
        self._native.stop(128 + number)


def _leave(native: NativeServer, stuck: bool) -> None:
    """End as the server ended: return, raise SystemExit, or leave calls behind that would hold the
    process.
    """
    code = native.exit_code
    if stuck or native.stuck():
        leave_now(code)
    if "threading" in sys.modules:
        _bound_exit(code)
    if code:
        raise SystemExit(code)


def _abandon(native: NativeServer) -> None:
    """End a server because of an exception. Its threads must be out of Python before the interpreter ends."""
    native.acknowledge()
    native.stop()
    if native.stuck(GRACE):
        _leave_at_exit()


def _leave_at_exit() -> None:
    """A thread that is stuck in a function would crash when the interpreter ends under it."""
    import atexit

    def leave() -> None:
        atexit.unregister(leave)
        leave_now(1)

    atexit.register(leave)


def _bound_exit(code: int) -> None:
    """A thread or timer that host code left running must not hold the process once its main thread is
    done.
    """
    import threading
    import time

    main = threading.main_thread()

    def others() -> bool:
        return any(thread is not main and not thread.daemon for thread in threading.enumerate())

    if not others() or threading.current_thread() is not main:
        return
    done = threading.Event()
    # The interpreter joins executors' threads before the main thread counts as ended: too early for `join`.
    # This hook is private, and the same since Python 3.9; concurrent.futures uses it too.
    register: Callable[[Callable[[], None]], None] | None = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(done.set)

    def watch() -> None:
        if register is None:
            main.join()
        else:
            done.wait()
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            if not others():
                return
            time.sleep(0.02)
        leave_now(code)

    threading.Thread(target=watch, name="ferromcp-exit", daemon=True).start()


def leave_now(code: int) -> None:
    """End the process although threads are still in host code: exit functions and buffers first."""
    import atexit

    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # reported by atexit itself; nothing may keep us here
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def _line_buffered() -> None:
    """What host code prints goes to stderr now; it should appear there line by line.

    Only after the native module has moved the descriptors: this flushes what was printed before, and that
    must not reach the peer.
    """
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)
