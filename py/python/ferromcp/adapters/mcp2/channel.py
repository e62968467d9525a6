"""The way back to the peer: the SDK's `DispatchContext` and `Outbound` over native calls and streams.

Decides which native function carries what. Era rules stay where they are: the SDK decides what may be sent,
the engine refuses what the peer's revision has no place for.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError as SdkError
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_REQUEST, MISSING_REQUIRED_CLIENT_CAPABILITY, REQUEST_TIMEOUT
from opentelemetry.propagate import inject

from ...errors import CapabilityNotDeclared, FerroMCPError, NoBackChannel
from .errors import from_engine
from .http import LazyRequest, http_metadata
from .text import decode, encode

if TYPE_CHECKING:
    from ..._native import Call
    from ..._native import Server as NativeServer

__all__ = ["DUPLEX", "CallChannel", "Progress", "StreamChannel", "ask_peer", "from_http"]

logger = logging.getLogger("ferromcp.adapters")

# The SDK's own name for "JSON-RPC over a duplex pipe": what its handlers see on stock stdio.
DUPLEX = TransportContext(kind="jsonrpc", can_send_request=True)
_ONE_WAY = TransportContext(kind="jsonrpc", can_send_request=False)

Ask = Callable[[str, "bytes | None", "float | None"], Awaitable[bytes]]


class Progress:
    """Progress that peers report on requests of ours, by the tokens that we gave them."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[str, ProgressFnT] = {}

    def expect(self, report: ProgressFnT) -> str:
        """A token under which `report` is called until `forget`."""
        token = f"ferromcp-{next(self._numbers)}"
        self._waiting[token] = report
        return token

    def forget(self, token: str | None) -> None:
        """No more reports under this token."""
        if token is not None:
            self._waiting.pop(token, None)

    def receiver(self, params: Mapping[str, Any] | None) -> Callable[[], Awaitable[None]] | None:
        """What a `notifications/progress` has to call, if it is about a request of ours."""
        token = (params or {}).get("progressToken")
        report = self._waiting.get(token) if isinstance(token, str) else None
        if report is None or params is None:
            return None
        progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
        if not _is_number(progress):
            return None

        async def deliver() -> None:
            try:
                await report(
                    float(cast(float, progress)),
                    float(cast(float, total)) if _is_number(total) else None,
                    message if isinstance(message, str) else None,
                )
            except Exception:
                # A callback of the user's: it must not end the connection.
                logger.exception("progress callback raised")

        return deliver


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_UNDECLARED = {
    "elicitation/create": "Elicitation not supported",
    "roots/list": "List roots not supported",
    "sampling/createMessage": "Sampling not supported",
}


async def ask_peer(ask: Ask, method: str, params: bytes | None) -> bytes:
    """One request to a legacy peer; fails as the SDK's own do."""
    try:
        pending = ask(method, params, None)
    except CapabilityNotDeclared as error:
        # The engine sends nothing that the client has not declared. The words are the SDK's.
        raise SdkError(code=INVALID_REQUEST, message=_UNDECLARED.get(method, str(error))) from None
    except NoBackChannel as error:
        # Nothing is sent before the client is ready.
        raise SdkError(code=INVALID_REQUEST, message=str(error)) from None
    try:
        return await pending
    except FerroMCPError as error:
        raise from_engine(error) from None


async def _request(
    ask: Ask, progress: Progress, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None
) -> dict[str, Any]:
    """One request to a legacy peer, with the SDK's options and errors."""
    opts = opts or {}
    out = dict(params) if params is not None else {}
    meta = dict(out.get("_meta") or {})
    report = opts.get("on_progress")
    token = progress.expect(report) if report is not None else None
    if token is not None:
        meta["progressToken"] = token
    # The trace goes on in the client, as with the SDK's own dispatcher.
    inject(meta)
    if meta:
        out["_meta"] = meta
    else:
        out.pop("_meta", None)
    try:
        with anyio.fail_after(opts.get("timeout")):
            answer = await ask_peer(ask, method, encode(out) if out else None)
    except TimeoutError:
        raise SdkError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out") from None
    finally:
        progress.forget(token)
    result: dict[str, Any] = decode(answer)
    return result


async def _ask_held(
    call: Call, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None
) -> dict[str, Any]:
    """One question to a modern client: its request is answered with it, and the call waits for the retry."""
    try:
        with anyio.fail_after((opts or {}).get("timeout")):
            (answer,) = await call.ask([("", method, encode(params or {}))])
    except TimeoutError:
        raise SdkError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out") from None
    except CapabilityNotDeclared as error:
        required: dict[str, Any] = {}
        for name in reversed(error.capability.split(".")):
            required = {name: required}
        raise SdkError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=_UNDECLARED.get(method, str(error)),
            data={"requiredCapabilities": required},
        ) from None
    except FerroMCPError as error:
        raise SdkError(code=INVALID_REQUEST, message=str(error)) from None
    if isinstance(answer, Exception):
        raise from_engine(answer)
    result: dict[str, Any] = decode(answer)
    return result


class CallChannel:
    """One request being served: the SDK's `DispatchContext`."""

    __slots__ = ("_cancelled", "_holds", "_over", "_progress", "call", "modern", "request")

    def __init__(
        self, call: Call, progress: Progress, *, modern: bool, holds: bool = False, http: str | None = None
    ) -> None:
        """`holds`: a modern client is asked too, and the call waits for it. `http`: the path of the endpoint,
        where there is one.
        """
        self.call = call
        self.modern = modern
        # The HTTP request that this one came in; None over a pipe.
        self.request: LazyRequest | None = None
        if http is not None and (facts := call.http) is not None:
            self.request = LazyRequest(facts, http)
        self._holds = holds
        self._progress = progress
        self._over = False
        self._cancelled: anyio.Event | None = None

    @property
    def transport(self) -> TransportContext:
        if self.modern and self.request is not None:
            return TransportContext(
                kind="streamable-http", can_send_request=self._holds, headers=self.request.headers
            )
        return _ONE_WAY if self.modern and not self._holds else DUPLEX

    @property
    def message_metadata(self) -> ServerMessageMetadata | None:
        # Nothing is attached to a message that came over a pipe.
        if self.request is None:
            return None
        return http_metadata(self.call, self.request, modern=self.modern)

    @property
    def can_send_request(self) -> bool:
        return not self._over and (self._holds or not self.modern)

    @property
    def request_id(self) -> int | str | None:
        return self.call.request_id

    @property
    def cancel_requested(self) -> anyio.Event:
        if self._cancelled is None:
            self._cancelled = anyio.Event()
        if self.call.cancelled:
            self._cancelled.set()
        return self._cancelled

    def close(self, *, cancelled: bool = False) -> None:
        """The handler has returned: nothing belongs to this request any more."""
        self._over = True
        if cancelled and self._cancelled is not None:
            self._cancelled.set()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if not self.can_send_request:
            raise NoBackChannelError(method)
        if self.modern:
            return await _ask_held(self.call, method, params, opts)
        return await _request(self.call.request, self._progress, method, params, opts)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self._over:
            logger.debug("dropped %s: the request is over", method)
            return
        if method == "notifications/progress" and params is not None and self._report(params):
            return
        self.call.notify(method, None if params is None else encode(params))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if not self._over:
            self.call.progress(progress, total, message)

    def _report(self, params: Mapping[str, Any]) -> bool:
        """Sends progress on this very request the quick way; False when it is about something else."""
        token = self.call.progress_token
        if token is None or params.get("progressToken") != token or "_meta" in params:
            return False
        self.call.progress(params["progress"], params.get("total"), params.get("message"))
        return True


def from_http(channel: CallChannel) -> dict[str, Any]:
    """The fields of a `ServerRequestContext` that speak of HTTP."""
    metadata = channel.message_metadata
    if metadata is None:
        return {}
    return {"request": metadata.request_context, "close_sse_stream": metadata.close_sse_stream}


class StreamChannel:
    """One connection outside any request: the SDK's connection-scoped `Outbound`."""

    def __init__(self, native: NativeServer, stream: int, progress: Progress) -> None:
        self._native = native
        self._stream = stream
        self._progress = progress
        self._over = False

    def close(self) -> None:
        """The peer is gone."""
        self._over = True

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        return await _request(self._ask, self._progress, method, params, opts)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self._over:
            logger.debug("dropped %s: the connection is closed", method)
            return
        self._native.notify_stream(self._stream, method, None if params is None else encode(params))

    def _ask(self, method: str, params: bytes | None, timeout: float | None) -> Awaitable[bytes]:
        return self._native.request(self._stream, method, params, timeout)
