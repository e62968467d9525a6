"""The host code of a vector: what its tools, resources, prompts and completions do when they are called.

Decides what each act is as Python code that serves a request: a value that is returned, an exception, a call
on the `Context`. The same acts run as `async def` functions, which wait on the loop and are cancelled there,
and as plain functions, which wait on their thread and look at `cancelled`. How a function gets to the server
is decided in `door.py`.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeAlias

from ferromcp import (
    BlobResource,
    CompletionResult,
    Context,
    Json,
    MCPError,
    NoBackChannel,
    PromptResult,
    TextContent,
    TextResource,
    ToolError,
    ToolResult,
)
from ferromcp._native import dumps
from ferromcp.errors import CallOver

from .rounds import Begin, Input, handed_back, next_act, round_by_hand
from .text import Number, as_python, parse, write

__all__ = ["DEADLINE", "Ask", "Held", "Host"]

DEADLINE = 10.0
"""Seconds for anything that is waited for. Only a test that fails waits for so long."""

POLL = 0.002
"""How often a plain function that waits looks whether it is cancelled, in seconds."""

ASIDE = {"closeStream", "log", "notify", "progress"}

Acts = list[dict[str, Any]]
Pause: TypeAlias = "Held | Ask | Begin | Input"
Steps = Generator[Pause, Any, Any]


class Held:
    """A call that waits for `release`."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._event = threading.Event()
        self._loop_event = asyncio.Event()
        self.released = False
        self.cancelled = False

    def release(self) -> None:
        """Lets the call go on."""
        self._event.set()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop_event.set)

    def wait(self, seconds: float) -> bool:
        """Waits on this thread; whether the call may go on."""
        return self._event.wait(seconds)

    async def wait_on_loop(self) -> None:
        """Waits on the loop until the call may go on."""
        await self._loop_event.wait()


class Ask:
    """A request to the client."""

    def __init__(self, operand: dict[str, Any]) -> None:
        self.method = operand["method"]
        self.params = write(operand["params"]) if "params" in operand else None
        self.timeout = int(operand["timeoutMs"]) / 1000 if "timeoutMs" in operand else None

    async def wait(self, ctx: Context) -> ToolResult:
        """Sends it; the tool result that tells of its end."""
        try:
            answer = await ctx.native.request(self.method, self.params, self.timeout)
        except MCPError as error:
            return _failed(f"{error.code} {error.message}")
        except TimeoutError:
            return _failed("timed out")
        except NoBackChannel:
            return _failed("unavailable")
        return ToolResult([TextContent(answer.decode())])


class Host:
    """What the functions of one server have seen, and those of them that wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        self._changed = threading.Condition()
        self._called: list[str] = []
        self._cancelled: list[str] = []
        self._held: dict[str, list[Held]] = defaultdict(list)
        self._busy = 0
        self._closing = False
        self._late: list[Callable[[], None]] = []

    # What becomes a handler

    def function(self, what: str, key: str, acts: Acts) -> Callable[..., Any]:
        """The function behind one entry; `what` is `tool`, `resource`, `template` or `prompt`."""

        async def serve_on_loop(ctx_: Context, **arguments: Any) -> Any:
            steps, given = self._begin(what, key, acts, ctx_, arguments), None
            try:
                while True:
                    given = await self._wait_on_loop(steps.send(given), key, ctx_)
            except StopIteration as end:
                return end.value
            except asyncio.CancelledError:
                self._note(self._cancelled, key)
                raise
            finally:
                self._count(-1)

        def serve_here(ctx_: Context, **arguments: Any) -> Any:
            steps, given = self._begin(what, key, acts, ctx_, arguments), None
            try:
                while True:
                    given = self._wait_here(steps.send(given), key, ctx_)
            except StopIteration as end:
                return end.value
            except CallOver:
                self._note(self._cancelled, key)
                raise
            finally:
                self._count(-1)

        return serve_here if self.loop is None else serve_on_loop

    def completion(self, key: str, argument: str, operand: dict[str, Any]) -> Callable[[str], Any]:
        """The function behind one completion."""

        def complete(value: str) -> CompletionResult:
            self._note(self._called, f"{key}/{argument}")
            if "raise" in operand:
                raise RuntimeError(str(operand["raise"]))
            values = [str(item) for item in operand["values"] if item.startswith(value)]
            return CompletionResult(values, as_python(operand.get("total")), operand.get("hasMore"))

        async def complete_on_loop(value: str) -> CompletionResult:
            return complete(value)

        return complete if self.loop is None else complete_on_loop

    def whole_result(self, key: str, result: Any) -> bytes:
        """What a delegate gives for an entry that answers with a whole result object."""
        self._note(self._called, key)
        return write(result).encode()

    # What the script asks and does

    def take_called(self, wanted: list[str]) -> list[str]:
        """The handlers called since the last time, as soon as there are as many as are wanted."""
        self._await(lambda: len(self._called) >= len(wanted), "host code is not called")
        with self._changed:
            called = list(self._called)
            self._called.clear()
        return called

    def take_cancelled(self, key: str) -> None:
        """A call of this handler was told that nobody waits for it."""
        self._await(lambda: key in self._cancelled, f"no call of {key} is told of a cancellation")
        with self._changed:
            self._cancelled.remove(key)

    def release(self, key: str) -> None:
        """Lets the oldest call of a handler that waits go on."""
        self._await(lambda: bool(self._held[key]), f"no call of {key} waits")
        with self._changed:
            held = self._held[key].pop(0)
            held.released = True
            # It counts from now on; one that was cancelled has counted since then.
            self._busy += not held.cancelled
        held.release()

    def release_all(self) -> bool:
        """Lets every call go on, and those that are still to wait; whether there was one."""
        with self._changed:
            self._closing = True
            keys = [key for key, calls in self._held.items() for _ in calls]
        for key in keys:
            self.release(key)
        return bool(keys)

    def waits(self) -> bool:
        """Whether a call waits for its release."""
        with self._changed:
            return any(self._held.values())

    def settle(self) -> None:
        """Returns when no function runs, but for those that wait, and does the acts that follow answers."""
        self._await(lambda: self._busy == 0, "host code does not end")
        with self._changed:
            late, self._late = self._late, []
        for act in late:
            act()

    # How the acts run

    def _begin(self, what: str, key: str, acts: Acts, ctx: Context, arguments: dict[str, Any]) -> Steps:
        self._count(+1)
        self._note(self._called, key)
        return self._steps(what, acts, ctx, arguments)

    def _steps(self, what: str, acts: Acts, ctx: Context, arguments: dict[str, Any]) -> Steps:
        answered = _failed("unavailable")
        inputs: list[Any] = []
        first = next_act(acts, ctx)
        for number, act in enumerate(acts[first:], first + 1):
            ((verb, operand),) = act.items()
            if verb == "input":
                inputs += yield Input(operand)
            elif verb == "begin":
                yield Begin()
            elif verb == "inputs":
                return _said(what, dumps(inputs).decode())
            elif verb == "round":
                return round_by_hand(operand, ctx)
            elif verb == "handedBack":
                return _said(what, handed_back(ctx))
            elif verb == "wait":
                yield Held(self.loop)
            elif verb == "ask":
                answered = yield Ask(operand)
            elif verb in ASIDE:
                _aside(verb, operand, ctx)
            elif verb == "reflect" and what == "tool":
                return ToolResult([], structured=self._reflected(ctx, arguments))
            else:
                for late in acts[number:]:
                    ((aside, parts),) = late.items()
                    assert aside in ASIDE, f"{aside} can't follow an answer here"
                    self._late.append(partial(_aside, aside, parts, ctx))
                return answered if verb == "answered" else _answer(what, verb, operand, ctx, arguments)
        raise AssertionError("no act answers")

    def _reflected(self, ctx: Context, arguments: dict[str, Any]) -> Any:
        # One road for those who pass JSON on as it is, the other for values that Python has made of it.
        return arguments if self.loop is None else Json(write(parse(ctx.native.params).get("arguments", {})))

    async def _wait_on_loop(self, pause: Pause, key: str, ctx: Context) -> Any:
        if not isinstance(pause, Held):
            self._count(-1)
            try:
                return await pause.wait(ctx)
            finally:
                self._count(+1)
        self._hold(pause, key)
        try:
            await pause.wait_on_loop()
        except asyncio.CancelledError:
            with self._changed:
                pause.cancelled = True
                self._busy += not pause.released
            raise
        return None

    def _wait_here(self, pause: Pause, key: str, ctx: Context) -> Any:
        if isinstance(pause, Begin | Input):
            self._count(-1)
            try:
                return pause.wait_here(ctx)
            finally:
                self._count(+1)
        assert isinstance(pause, Held), "a plain function can't ask the client"
        self._hold(pause, key)
        told = False
        while not pause.wait(POLL):
            if ctx.cancelled and not told:
                told = True
                self._note(self._cancelled, key)
        return None

    def _hold(self, pause: Held, key: str) -> None:
        with self._changed:
            self._held[key].append(pause)
            self._busy -= 1
            self._changed.notify_all()
            closing = self._closing
        if closing:
            self.release(key)

    def _count(self, number: int) -> None:
        with self._changed:
            self._busy += number
            self._changed.notify_all()

    def _note(self, names: list[str], name: str) -> None:
        with self._changed:
            names.append(name)
            self._changed.notify_all()

    def _await(self, condition: Callable[[], bool], failure: str) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, DEADLINE):
                raise AssertionError(failure)


def _aside(verb: str, operand: Any, ctx: Context) -> None:
    """An act that sends something beside the answer."""
    match verb:
        case "progress":
            ctx.report_progress(*as_python(operand))
        case "log":
            level, logger, data = as_python(operand)
            ctx.log(level, data, logger)
        case "closeStream":
            ctx.close_sse_stream()
        case "notify":
            ctx.native.notify(operand["method"], write(operand["params"]) if "params" in operand else None)


def _said(what: str, text: str) -> Any:
    """A text, which as a resource's is of no certain type."""
    return TextResource(text) if what in ("resource", "template") else text


def _answer(what: str, verb: str, operand: Any, ctx: Context, arguments: dict[str, Any]) -> Any:
    """What an act that answers returns or raises."""
    match verb:
        case "echo":
            return arguments.get(operand, "")
        case "reflect":
            text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            return TextResource(text, mime_type="application/json")
        case "revision":
            return ctx.protocol_version
        case "meta":
            meta = ctx.meta or {}
            return dumps(meta[operand]).decode() if operand in meta else "absent"
        case "raise":
            raise ToolError(str(operand)) if what == "tool" else RuntimeError(str(operand))
        case "fail":
            raise MCPError(int(operand["code"]), operand["message"], _exact(operand.get("data")))
        case "return":
            return _returned(what, operand)
    raise AssertionError(f"no act is called {verb}")


def _returned(what: str, operand: Any) -> Any:
    """The value that a function returns for MCP's own form of it."""
    if what == "prompt":
        return PromptResult(_exact(operand["messages"]), operand.get("description"))
    if what != "tool":
        return [_contents(as_python(item)) for item in operand]
    structured = _exact(operand.get("structuredContent"))
    if structured is None and "structuredContent" in operand:
        structured = Json("null")
    is_error = operand.get("isError", False)
    return ToolResult(_exact(operand.get("content", [])), structured, is_error, _exact(operand.get("_meta")))


def _contents(item: dict[str, Any]) -> TextResource | BlobResource:
    mime_type, meta = item.get("mimeType"), item.get("_meta")
    if "blob" in item:
        return BlobResource(item["blob"], item["uri"], mime_type, meta)
    return TextResource(item["text"], item["uri"], mime_type, meta)


def _exact(value: Any) -> Any:
    """As Python has it, with ready text for numbers that Python would spell otherwise."""
    if isinstance(value, Number):
        plain = as_python(value)
        return plain if json.dumps(plain) == value else Json(value)
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return [_exact(item) for item in value] if isinstance(value, list) else as_python(value)


def _failed(text: str) -> ToolResult:
    return ToolResult([TextContent(text)], is_error=True)
