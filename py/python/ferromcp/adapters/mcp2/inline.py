"""Coroutines that wait for nothing, run where there is no loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["drive"]

T = TypeVar("T")


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end here and now.

    Raises:
        RuntimeError: it waited for something, which is a mistake of whoever called this.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("code that runs without an event loop waited for one")
