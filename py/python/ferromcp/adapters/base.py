"""What an adapted app looks like to whoever runs it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConfigurationError
from .kinds import Kind
from .roads import Explanation

if TYPE_CHECKING:
    from .._native import Server as NativeServer

__all__ = ["Adapter", "adapt"]


class Adapter(Protocol):
    """An app made ready for the engine. Used in this order: `config`, `bind`, `lifespan`."""

    holds: bool
    """Whether modern clients can be asked in a call, which waits for them. Set before `bind`."""
    http: str | None
    """The path of the endpoint, over HTTP; None over a pipe. Set before `bind`."""

    def config(self) -> bytes:
        """The engine's configuration as JSON text."""
        ...

    def bind(self, native: NativeServer) -> None:
        """Registers what runs for the engine's calls and notifications; before anything is served."""
        ...

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """The app's own lifespan, entered on the loop before anything is served and left when all is over."""
        ...


def adapt(app: Any, choice: Explanation, *, holds: bool = False, http: str | None = None) -> Adapter:
    """The adapter for `app` on the road chosen. Imports only what that road needs.

    Raises:
        ConfigurationError: `holds` or `http`, and the road is one on which the SDK writes the answers itself.
    """
    if holds and choice.road == "streams":
        raise ConfigurationError(f"ask='held' is not to be had on this road ({choice})")
    if http is not None and choice.road == "streams":
        # One run of the SDK's server serves one connection, and over HTTP every modern request is one.
        raise ConfigurationError(f"HTTP is not to be had on this road ({choice})")
    adapter = _adapted(app, choice)
    adapter.holds, adapter.http = holds, http
    return adapter


def _adapted(app: Any, choice: Explanation) -> Adapter:
    if choice.kind == Kind.FASTMCP.value:
        from .fastmcp4 import adapt_fastmcp

        return adapt_fastmcp(app, choice.road)
    from .mcp2 import adapt_mcp

    return adapt_mcp(app, choice.road)
