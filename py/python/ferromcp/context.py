"""The request that a function is serving: progress, log, cancellation, who asks, and asking back.

Decides nothing about the protocol: each method hands over to the native call, which knows the peer's
revision.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from ._native import Call, dumps, loads

if TYPE_CHECKING:
    from ._tasks import BeginTask
    from .asking import ElicitResult, InputRequired, Pending, Request, Root, SampleResult

__all__ = ["Context", "TraceContext", "current_context"]

T = TypeVar("T")
LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

_current: ContextVar[Call] = ContextVar("ferromcp_call")


class _Done:
    """Awaitable and over: what is done at once may be awaited all the same."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_DONE = _Done()


class TraceContext(NamedTuple):
    """The trace that a request belongs to, as its client wrote it: W3C Trace Context and W3C Baggage, and
    whoever reads it has to expect anything (2026-07-28 `basic/index`, "OpenTelemetry trace context").
    """

    traceparent: str | None = None
    tracestate: str | None = None
    baggage: str | None = None


class Context:
    """Asked for by a parameter annotated `Context`, or by `current_context()`.

    What tells the peer something acts at once and may be awaited or not, so that sync and async functions use
    it the same way. What asks it something gives a `Pending`: an async function awaits it, a sync one calls
    `.wait()`.
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

    @overload
    def elicit(
        self,
        message: str,
        schema: Mapping[str, Any],
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Pending[ElicitResult[dict[str, Any]]]: ...

    @overload
    def elicit(
        self, message: str, schema: type[T], *, key: str | None = None, timeout: float | None = None
    ) -> Pending[ElicitResult[T]]: ...

    def elicit(
        self, message: str, schema: Any, *, key: str | None = None, timeout: float | None = None
    ) -> Pending[ElicitResult[Any]]:
        """Ask the user by a form: a pydantic model, dataclass or TypedDict, or the JSON Schema of a flat
        object.

        `key` tells this question from others; without one the order of asking does, which must then be the
        same in every run. `timeout` bounds, in seconds, the wait for a legacy client; a modern one comes back
        when it can.

        Raises:
            ConfigurationError: `schema` is none of these.
        """
        from .asking import Elicit, one

        return one(self._call, Elicit(message, schema), key, timeout)

    def elicit_url(
        self, message: str, url: str, *, key: str | None = None, timeout: float | None = None
    ) -> Pending[ElicitResult[None]]:
        """Ask the user to visit a URL, for what must not go through the client. "accept" says that the user
        agreed to.
        """
        from .asking import ElicitUrl, one

        return one(self._call, ElicitUrl(message, url), key, timeout)

    def sample(
        self,
        messages: str | Sequence[Any],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        temperature: float | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: Mapping[str, Any] | None = None,
        model_preferences: Mapping[str, Any] | None = None,
        stop_sequences: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Pending[SampleResult]:
        """Ask the client's model. `messages` is one text of the user's, or a list of texts,
        `{"role", "content"}` and `PromptMessage`.
        """
        from .asking import Sample, one

        request = Sample(
            messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            temperature=temperature,
            tools=tools,
            tool_choice=tool_choice,
            model_preferences=model_preferences,
            stop_sequences=stop_sequences,
            metadata=metadata,
            include_context=include_context,
        )
        return one(self._call, request, key, timeout)

    def list_roots(self, *, key: str | None = None, timeout: float | None = None) -> Pending[list[Root]]:
        """Ask which folders and files the client works on."""
        from .asking import ListRoots, one

        return one(self._call, ListRoots(), key, timeout)

    def ask(
        self, requests: Mapping[str, Request[Any]], *, timeout: float | None = None
    ) -> Pending[dict[str, Any]]:
        """Ask several things in one round: `Elicit`, `ElicitUrl`, `Sample` and `ListRoots` by key; their
        results by the same keys.
        """
        from .asking import several

        return several(self._call, requests, timeout)

    def input_required(
        self, requests: Mapping[str, Request[Any]] | None = None, state: str | None = None
    ) -> InputRequired:
        """A round by hand, to be returned: the client is asked, and then the function is called again with
        `input_responses` and `request_state`. `state` goes through the client, which can neither read nor
        change it.
        """
        from .asking import by_hand

        return by_hand(requests, state)

    @property
    def input_responses(self) -> dict[str, Any] | None:
        """What the client has answered to the round by hand: results by key, as MCP writes them, and of what
        was asked alone. `Request.read` turns one into a value. None in the first call.
        """
        return self._call.input_responses

    @property
    def request_state(self) -> str | None:
        """The `state` of the last round by hand."""
        return self._call.request_state

    def begin_task(self) -> BeginTask:
        """Turn this call of a tool into a task, where its client takes tasks: the client gets the task at
        once, and later, as its result, what the function returns. What has to be asked first is best asked
        before.

        Awaited, or after `.wait()`, the task's id; None where the call goes on as it is.
        """
        from ._tasks import BeginTask

        return BeginTask(self._call)

    @property
    def task_id(self) -> str | None:
        """The id of the task that this call is; None where it is none."""
        return self._call.task_id

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> _Done:
        """A notification of an extension that belongs to this request. Nothing is sent when that is over."""
        self._call.notify(method, None if params is None else dumps(params, "params"))
        return _DONE

    def close_sse_stream(self) -> bool:
        """End the connection of this call's stream over HTTP, and not the call: a legacy client comes back
        for the rest when the time that it is told is over (2025-11-25 `basic/transports`, "Sending Messages
        to the Server"). False: there is no stream that could be opened again, and nothing has changed.
        """
        return self._call.close_sse_stream()

    def client_extension(self, name: str) -> dict[str, Any] | None:
        """The settings with which the client declares an extension. None: it does not, so nothing of the
        extension may be used with it.
        """
        extensions = self._call.client_capabilities.get("extensions")
        settings = extensions.get(name) if isinstance(extensions, dict) else None
        return settings if isinstance(settings, dict) else None

    @property
    def cancelled(self) -> bool:
        """The peer no longer wants the answer. Sync functions poll this; async ones get
        `asyncio.CancelledError`, as when the peer is asked and the function is going to run again.
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
    def method(self) -> str:
        """The request's method, such as `tools/call`."""
        return self._call.method

    @property
    def name(self) -> str | None:
        """The name of the tool or prompt, or the URI of the resource, that the request is about."""
        params = self._params
        name = params.get("name", params.get("uri"))
        return name if isinstance(name, str) else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a tool or prompt, as the peer sent them."""
        arguments = self._params.get("arguments")
        return arguments if isinstance(arguments, dict) else {}

    @property
    def principal(self) -> str | None:
        """Who has called, as far as it was verified; None over standard input and output."""
        return self._call.principal

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
    def trace_context(self) -> TraceContext:
        """The trace that the request belongs to; what the client does not say is None."""
        return TraceContext(*self._call.trace_context)

    @property
    def _params(self) -> dict[str, Any]:
        params: dict[str, Any] = loads(self._call.params)
        return params

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
