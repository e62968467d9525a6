"""How a process leaves: exit functions run, and what does not end by itself is left behind.

Decides what may hold the process up and for how long. A call that nobody waits for any more, a thread, a
timer or a child process of `multiprocessing` does not; code that runs on the main thread does.
"""

from __future__ import annotations

import os
import sys
import time
from types import NoneType
from typing import TYPE_CHECKING, Any

from ._native import end_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import Server as NativeServer

__all__ = ["GRACE", "Guard", "bound_exit", "exit_code", "leave_fork", "leave_now"]

GRACE = 1.0
"""Seconds that code of the user's gets to end after the server is over: long enough for a `finally`, short
enough that a host that waits for us does not reach for SIGKILL.
"""

# A look at threads and children that are about to end costs nothing; this is how late their end may be seen.
_LOOK = 0.02


# Where executors keep the threads that they join. Private, and the same since Python 3.9.
_EXECUTORS = (
    ("concurrent.futures.thread", "_threads_queues"),
    ("concurrent.futures.process", "_threads_wakeups"),
)


def exit_code(error: BaseException) -> int:
    """What the process ends with when this exception is not caught."""
    if isinstance(error, SystemExit):
        if error.code is None:
            return 0
        return error.code if isinstance(error.code, int) else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def leave_now(code: int) -> None:
    """End the process although threads are still in host code: exit functions and buffers first, but not for
    longer than they get elsewhere.
    """
    import atexit

    Guard.leaving = True
    end_within(GRACE, code)
    # One of the exit functions waits for them.
    for child in _children():
        child.terminate()
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # reported by atexit itself; nothing may keep us here
    _flush()
    os._exit(code)


def leave_fork(error: BaseException | None) -> None:
    """End a forked child whose function has come back to the server, which is the parent's.

    `sys.exit()` in the child is a way to leave as good as `os._exit()`. Exit functions are the parent's too.
    """
    text = None
    if not isinstance(error, (SystemExit, KeyboardInterrupt)):
        text = "ferromcp: a forked child returned from a served function; it has to leave by os._exit"
        error = SystemExit(1)
    elif isinstance(error, SystemExit) and not isinstance(error.code, (int, NoneType)):
        text = str(error.code)
    if text is not None and sys.stderr is not None:
        print(text, file=sys.stderr)
    _flush()
    os._exit(exit_code(error))


def bound_exit(code: int) -> None:
    """Once the main thread is done, what host code left running gets a moment, and then holds the process no
    longer. To be called on the main thread.
    """
    if not _threads() and not _children():
        return
    import threading

    main = threading.main_thread()
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
        if _gone():
            return
        # Most often these are what the rest waits for: an executor's thread for its processes, or the
        # interpreter itself. They go as those go that were started as daemons.
        children = _children()
        for child in children:
            child.terminate()
        if children and _gone():
            return
        for child in _children():
            child.kill()
        if _threads():
            leave_now(code)

    threading.Thread(target=watch, name="ferromcp-exit", daemon=True).start()


def _gone() -> bool:
    """Waits a moment for threads and children to end."""
    deadline = time.monotonic() + GRACE
    while _threads() or _children():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
    return True


def _threads() -> bool:
    """Whether there are threads that the interpreter waits for, besides the main one."""
    threading: Any = sys.modules.get("threading")
    if threading is None:
        return False
    main = threading.main_thread()
    if any(thread is not main and not thread.daemon for thread in threading.enumerate()):
        return True
    # Executors wait for their threads, which are daemons where a thread of ours has started them.
    for name, place in _EXECUTORS:
        known: Any = getattr(sys.modules.get(name), place, None)
        if known is not None and any(thread.is_alive() for ref in known.keyrefs() if (thread := ref())):
            return True
    return False


def _children() -> list[Any]:
    """The processes that `multiprocessing` waits for at the end."""
    process: Any = sys.modules.get("multiprocessing.process")
    return [] if process is None else [child for child in process.active_children() if not child.daemon]


class Guard:
    """Ends a server before the interpreter ends under it: a thread of the server's that is inside Python then
    would take the process down.

    Needed where the server does not hold the main thread: it runs on another one, or in a loop that whoever
    owns it may stop.
    """

    leaving = False
    """The process is on its way out, whatever is stuck."""

    def __init__(self, native: NativeServer, *, alone: bool = False) -> None:
        """`alone`: no code waits for the server's end."""
        import atexit

        self._native = native
        self._process = os.getpid()
        self._over = alone
        self._code: int | None = None
        atexit.register(self._leave)

    @property
    def forked(self) -> bool:
        """Whether this is a child that was forked while the server ran."""
        return os.getpid() != self._process

    def abandon(self, code: int | None = None) -> None:
        """End the server because of an exception, with which the process is likely to end as well: with
        `code`, if that is known.
        """
        self._code = code
        self._native.acknowledge()
        self._native.stop()

    def over(self, bound: float = 0.2) -> bool:
        """Python is done with the server. True when threads are stuck in a function, and stay guarded."""
        import atexit

        self._over = True
        stuck = self._native.stuck(bound)
        if not stuck:
            atexit.unregister(self._leave)
        return stuck

    def _leave(self) -> None:
        if self.forked or Guard.leaving:
            return
        self._native.acknowledge()
        self._native.stop()
        deadline = time.monotonic() + GRACE
        while not self._over and time.monotonic() < deadline:
            time.sleep(_LOOK)
        if not self._over or self._native.stuck(GRACE):
            # An exit function is not told the code. An exception that nobody caught was shown, and is kept.
            shown = getattr(sys, "last_value", None)
            code = 0 if shown is None else exit_code(shown)
            leave_now(code if self._code is None else self._code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
