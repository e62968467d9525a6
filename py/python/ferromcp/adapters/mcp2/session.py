"""What a handler of the SDK's gets to see of its request, made only as far as it looks.

Most tools never touch their session; the typed client information behind it is the dearest part of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession

from .channel import CallChannel

__all__ = ["LazySession"]

# The attributes that `ServerSession.__init__` sets.
_PARTS = frozenset(("_request_outbound", "_connection", "_log_is_request_scoped", "_allowed_log_levels"))


class LazySession(ServerSession):
    """A `ServerSession` that connects itself when it is first used."""

    def __init__(
        self,
        channel: CallChannel,
        connect: Callable[[CallChannel], Connection],
        meta: Mapping[str, Any] | None,
    ) -> None:
        self.channel = channel
        self._parts = (connect, meta)

    def __getattr__(self, name: str) -> Any:
        # Reached only for attributes that are not set yet.
        if name not in _PARTS:
            raise AttributeError(name)
        connect, meta = self._parts
        super().__init__(self.channel, connect(self.channel), request_meta=meta)  # type: ignore[arg-type]
        return self.__dict__[name]

    @property
    def used(self) -> Connection | None:
        """The connection, if anything looked at it."""
        connection: Connection | None = self.__dict__.get("_connection")
        return connection
