"""The one coroutine of ours: what the loop runs when a function gave an awaitable that is no coroutine."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def awaited(value: Awaitable[T]) -> T:
    """Awaits a value."""
    return await value
