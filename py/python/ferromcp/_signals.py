"""SIGTERM and SIGINT while a server runs.

Decides what a signal does. Handlers of the plain kind, not the loop's: they run between two bytecodes of the
main thread, so also when an async function blocks the loop.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from ._leave import GRACE
from ._native import answer_within, early_signals, signal_answered

if TYPE_CHECKING:
    from types import FrameType

    from ._native import Server as NativeServer

__all__ = ["Signals"]

_DEFAULTS = ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler))


class Signals:
    """While the block runs, SIGTERM and SIGINT end the server in good order, unless host code has handlers of
    its own for them.
    """

    _current: Signals | None = None

    def __init__(self, native: NativeServer) -> None:
        self._native = native
        self._before: list[tuple[int, Any]] = []
        self._wakeup: tuple[int, int, int] | None = None
        self._process = os.getpid()
        self._received = False
        self.serving = True
        """Whether there is a server to be ended. Afterwards a signal ends what is left of the program."""

    @property
    def descriptor(self) -> int | None:
        """Readable when a signal has come; None outside the main thread, which gets none."""
        return None if self._wakeup is None else self._wakeup[0]

    def __enter__(self) -> Signals:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        try:
            before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        except ValueError:  # not the main thread
            os.close(reader)
            os.close(writer)
            return self
        self._wakeup = reader, writer, before
        Signals._current = self
        try:
            for number, default in _DEFAULTS:
                if signal.getsignal(number) == default:
                    self._before.append((number, signal.signal(number, self._handle)))
            answer_within([number for number, _ in self._before], GRACE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._wakeup is None:
            return
        Signals._current = None
        for number, handler in self._before:
            signal.signal(number, handler)
        reader, writer, before = self._wakeup
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
        self._before.clear()
        self._wakeup = None

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # in a forked child that has not come to `_forked` yet
            Signals._forked()
            signal.raise_signal(number)
            return
        signal_answered()
        if self._received:  # asked twice: someone is waiting
            os._exit(128 + number)
        self._received = True
        if not self.serving:
            raise SystemExit(128 + number)
        self._native.stop(128 + number)

    @staticmethod
    def _forked() -> None:
        """A forked child has no server to end: there the signals do what they did before. One that came too
        soon, and that Python has forgotten, still ends the child.
        """
        if Signals._current is None:
            return
        Signals._current.__exit__()
        for number in early_signals():
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.raise_signal(number)


os.register_at_fork(after_in_child=Signals._forked)
