"""Notifications of extensions: which function gets which, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._native import loads

__all__ = ["Notified"]


class Notified:
    """The functions by method, as the native server's handler of notifications."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[[dict[str, Any]], object]] = {}

    def __call__(self, _stream: int, method: str, params: bytes | None) -> object:
        """Gives what the function gave, which may be an awaitable; nothing where there is no function."""
        function = self.functions.get(method)
        return None if function is None else function({} if params is None else loads(params))
