"""What a handler of the SDK's gets to see of the HTTP request that its message came in.

The stock transports attach a Starlette `Request` to every message. Under an ASGI server it is made from the
scope that our endpoint was called with; behind the listener of our own from what that keeps: header fields
and path. Neither is made before somebody looks.
"""

from __future__ import annotations

from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from mcp.shared.message import ServerMessageMetadata
from starlette.requests import Request

if TYPE_CHECKING:
    from ..._asgi import Scope
    from ..._native import Call, HttpFacts

__all__ = ["Carried", "LazyRequest", "http_metadata", "session_of"]

_SESSION = b"mcp-session-id"

# The attributes that `Request.__init__` sets.
_PARTS = frozenset(("scope", "_receive", "_send", "_stream_consumed", "_is_disconnected"))


class Carried:
    """One request of an ASGI server's: what goes along with it to the calls that come of it."""

    __slots__ = ("_context", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        # Middleware of the application's leaves there who asks, which trace goes on, and more.
        self._context: Context = copy_context()

    def enter(self) -> None:
        """Sets the context variables of the request in the context that this runs in."""
        for variable, value in self._context.items():
            variable.set(value)


class LazyRequest(Request):
    """A `Request` that takes shape when it is looked at."""

    def __init__(self, facts: HttpFacts, path: str) -> None:
        self._made_of = facts, path

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not set yet.
        if name not in _PARTS:
            raise AttributeError(name)
        super().__init__(_scope(*self._made_of))
        return self.__dict__[name]


def _scope(facts: HttpFacts, path: str) -> Scope:
    if facts.given is not None:
        scope: Scope = facts.given.scope
        return scope
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        # What is called is posted.
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": facts.headers,
        "server": None,
        "client": None,
    }


def http_metadata(call: Call, request: LazyRequest, *, modern: bool) -> ServerMessageMetadata:
    """What the stock transport of HTTP attaches to a message."""
    if modern:
        return ServerMessageMetadata(request_context=request)

    async def close_sse_stream() -> None:
        call.close_sse_stream()

    return ServerMessageMetadata(request_context=request, close_sse_stream=close_sse_stream)


def session_of(facts: HttpFacts | None) -> str | None:
    """The name of the session that a request belongs to."""
    if facts is None:
        return None
    return next((value.decode("latin-1") for name, value in facts.headers if name == _SESSION), None)
