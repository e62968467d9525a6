"""Acts that ask the client: functions that wait for answers or run again with them, and rounds by hand.

Decides how a vector's input requests are made into those of the package. Which of a function's acts are these
is decided in `host.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ferromcp import Context, InputRequired, Json
from ferromcp._native import dumps
from ferromcp.asking import Request

from .text import write

__all__ = ["Begin", "Input", "handed_back", "next_act", "round_by_hand"]


class _Asked(Request[Any]):
    """A request as the vector writes it, and its result as the client does."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.method = str(request.get("method"))
        self._params = request.get("params", {})

    def params(self) -> Any:
        return Json(write(self._params))

    def read(self, answer: Mapping[str, Any]) -> Any:
        return answer


class Input:
    """Questions for the client, whose answers the function waits for."""

    def __init__(self, operand: Mapping[str, Any]) -> None:
        self._requests = _requests(operand)

    async def wait(self, ctx: Context) -> list[Any]:
        """The results, in the order asked."""
        return list((await ctx.ask(self._requests)).values())

    def wait_here(self, ctx: Context) -> list[Any]:
        """The same, on this thread."""
        return list(ctx.ask(self._requests).wait().values())


class Begin:
    """A call that is to become a task, if its client takes tasks."""

    async def wait(self, ctx: Context) -> None:
        """Goes on when that is done."""
        await ctx.begin_task()

    def wait_here(self, ctx: Context) -> None:
        """The same, on this thread."""
        ctx.begin_task().wait()


def next_act(acts: list[dict[str, Any]], ctx: Context) -> int:
    """With which act a run begins: behind the `round` that this call comes back from, if any."""
    if ctx.input_responses is None:
        return 0
    rounds = [act.get("round", {}).get("state") if "round" in act else ... for act in acts]
    return rounds.index(ctx.request_state) + 1 if ctx.request_state in rounds else 0


def round_by_hand(operand: Mapping[str, Any], ctx: Context) -> InputRequired:
    """What a `round` act returns."""
    requests = operand.get("requests")
    return ctx.input_required(None if requests is None else _requests(requests), operand.get("state"))


def handed_back(ctx: Context) -> str:
    """What a round by hand has brought back."""
    return dumps({"responses": ctx.input_responses, "state": ctx.request_state}).decode()


def _requests(members: Mapping[str, Any]) -> dict[str, Request[Any]]:
    return {str(key): _Asked(request) for key, request in members.items()}
