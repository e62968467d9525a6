"""The event loop without asyncio being imported: the one coroutine of ours, and the check before a wait."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


async def awaited(value: Awaitable[T]) -> T:
    """Awaits a value: what the loop runs when a function gave an awaitable that is no coroutine."""
    return await value


def refuse_loop() -> None:
    """Raises RuntimeError on a thread that runs an event loop, which must not be blocked."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        raise RuntimeError("wait() would block the event loop of this thread: await it")
