"""The request that a function is serving: progress, log, cancellation, and who asks.

Decides nothing about the protocol: each method hands over to the native call, which knows the peer's
revision.
"""

from __future__ import annotations

from collections.abc import Generator
from contextvars import ContextVar
from typing import Any, Literal

from ._native import Call

__all__ = ["Context", "current_context"]

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

_current: ContextVar[Call] = ContextVar("ferromcp_call")


class _Done:
    """Awaitable and over: what is done at once may be awaited all the same."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_DONE = _Done()


class Context:
    """Asked for by a parameter annotated `Context`, or by `current_context()`.

    Every method acts at once and may be awaited or not, so sync and async functions use it the same way.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> _Done:
        """Progress so far, out of `total`. Sent when the peer gave a progress token and the value has
        risen.
        """
        self._call.progress(progress, total, message)
        return _DONE

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> _Done:
        """A log message to the peer, when it wants this level. `data` is any JSON value."""
        self._call.log(level, data, logger)
        return _DONE

    def debug(self, data: Any, logger: str | None = None) -> _Done:
        """`log("debug", data)`."""
        return self.log("debug", data, logger)

    def info(self, data: Any, logger: str | None = None) -> _Done:
        """`log("info", data)`."""
        return self.log("info", data, logger)

    def warning(self, data: Any, logger: str | None = None) -> _Done:
        """`log("warning", data)`."""
        return self.log("warning", data, logger)

    def error(self, data: Any, logger: str | None = None) -> _Done:
        """`log("error", data)`."""
        return self.log("error", data, logger)

    @property
    def cancelled(self) -> bool:
        """The peer no longer wants the answer. Sync functions poll this; async ones get
        `asyncio.CancelledError`.
        """
        return self._call.cancelled

    @property
    def cancel_reason(self) -> str | None:
        """Why the answer is no longer wanted; None while it is.

        In the peer's words where it gave some (`reason` of `notifications/cancelled`). For an async function
        that catches `asyncio.CancelledError` as well.
        """
        return self._call.cancel_reason

    @property
    def request_id(self) -> int | str:
        """The id that the peer gave the request."""
        return self._call.request_id

    @property
    def protocol_version(self) -> str:
        """The revision in force for this request, such as `2026-07-28`."""
        return self._call.protocol_version

    @property
    def client_info(self) -> dict[str, Any] | None:
        """`name`, `version` and more, as the peer told it; None when it did not."""
        return self._call.client_info

    @property
    def client_capabilities(self) -> dict[str, Any]:
        """What the peer can do, as it told it."""
        return self._call.client_capabilities

    @property
    def meta(self) -> dict[str, Any] | None:
        """The request's `_meta`."""
        return self._call.meta

    @property
    def native(self) -> Call:
        """The native call under this context."""
        return self._call


def current_context() -> Context:
    """The context of the request being served; raises LookupError outside of one."""
    call = _current.get(None)
    if call is None:
        raise LookupError("no request is being served here")
    return Context(call)
