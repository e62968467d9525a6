"""The server that vectors talk to: entries with acts, declared as functions of the Python door."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ferromcp import (
    BlobResource,
    Completion,
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
from ferromcp._native import Handler, Server, dumps

KINDS = {"tools": "tool", "resources": "resource", "templates": "template", "prompts": "prompt"}
KEYS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}

# A declared function gives values and not the result object itself: adapters do that, through a delegate.
UNSUPPORTED_ACTS = {"result"}

# Acts that do not answer.
ASIDE = {"wait", "progress", "log", "notify", "ask"}

Acts = list[dict[str, Any]]


Step = Callable[[Context, dict[str, Any]], Any]


class Behaviour:
    """A native server with the entries of a vector, and what its functions saw."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.calls: list[str] = []
        self.cancelled: dict[str, int] = defaultdict(int)
        self.waiting: dict[str, list[asyncio.Event]] = defaultdict(list)
        self.events: list[str] = []
        catalogue = {lists: config.pop(lists, []) for lists in KINDS}
        self.native = Server(json.dumps(config))
        self.native.set_stream_handler(lambda _, what: self.events.append(what))
        self.add(catalogue)

    def add(self, catalogue: dict[str, Any]) -> None:
        """Declares entries."""
        for lists, entries in catalogue.items():
            for entry in entries:
                self.declare(lists, entry["definition"], entry.get("behaviour", []))
                for argument, completion in entry.get("completions", {}).items():
                    self.complete(entry["definition"][KEYS[lists]], argument, completion)

    def remove(self, catalogue: dict[str, Any]) -> None:
        """Takes entries away by their keys."""
        for lists, keys in catalogue.items():
            for key in keys:
                assert self.native.remove(KINDS[lists], key)  # type: ignore[arg-type]

    def declare(self, lists: str, definition: dict[str, Any], acts: Acts) -> None:
        """Declares one entry."""
        kind, key = KINDS[lists], str(definition.get(KEYS[lists]))
        steps = self.steps(kind, key, acts)

        async def later(ctx_: Context, **arguments: Any) -> Any:
            try:
                for number, step in enumerate(steps, 1):
                    answer = await step(ctx_, arguments)
                    if answer is not None:
                        if number < len(steps):
                            self.afterwards(steps[number:], ctx_, arguments)
                        return answer
            except asyncio.CancelledError:
                self.cancelled[key] += 1
                raise

        def at_once(ctx_: Context, **arguments: Any) -> Any:
            # Without an act that waits the coroutine ends in one go, and the sync road is walked as well.
            try:
                later(ctx_, **arguments).send(None)
            except StopIteration as stop:
                return stop.value
            raise AssertionError("an act waited")

        # An act behind the answer is done by the loop, when the answer is out.
        answers = [number for number, act in enumerate(acts, 1) if not ASIDE & set(act)]
        waits = any(name in act for act in acts for name in ("wait", "ask")) or answers[:1] < [len(acts)]
        handler = Handler(
            kind,  # type: ignore[arg-type]
            key,
            later if waits else at_once,
            is_async=waits,
            context="ctx_",
            mime_type=definition.get("mimeType"),
        )
        self.native.add(kind, json.dumps(definition), handler)  # type: ignore[arg-type]

    def afterwards(self, steps: list[Step], ctx: Context, arguments: dict[str, Any]) -> None:
        """Does what stands behind the answer."""

        async def rest() -> None:
            await asyncio.sleep(0.02)
            for step in steps:
                await step(ctx, arguments)

        self.rest = asyncio.ensure_future(rest())

    def complete(self, key: str, argument: str, completion: dict[str, Any]) -> None:
        """Declares the completion of one argument."""

        def values(value: str) -> Any:
            self.calls.append(f"{key}/{argument}")
            if "raise" in completion:
                raise RuntimeError(completion["raise"])
            chosen = [item for item in completion["values"] if item.startswith(value)]
            return Completion(chosen, completion.get("total"), completion.get("hasMore"))

        handler = Handler("completion", f"{key}/{argument}", values, is_async=False, names=["value"])
        self.native.add("completion", json.dumps({"ref": key, "argument": argument}), handler)

    def steps(self, kind: str, key: str, acts: Acts) -> list[Step]:
        """A coroutine function for each act."""
        answers: list[str | None] = []

        async def begin(ctx: Context, arguments: dict[str, Any]) -> None:
            self.calls.append(key)

        def step(act: dict[str, Any]) -> Step:
            async def run(ctx: Context, arguments: dict[str, Any]) -> Any:
                ((name, operand),) = act.items()
                match name:
                    case "wait":
                        event = asyncio.Event()
                        self.waiting[key].append(event)
                        await event.wait()
                    case "progress":
                        ctx.report_progress(*operand)
                    case "log":
                        level, logger, data = operand
                        ctx.log(level, data, logger)
                    case "notify":
                        params = operand.get("params")
                        ctx.native.notify(operand["method"], None if params is None else json.dumps(params))
                    case "ask":
                        answers.append(await ask(ctx, operand))
                    case "answered":
                        text = answers.pop()
                        failed = text is not None and not text.startswith("{")
                        return ToolResult([TextContent(str(text))], is_error=failed)
                    case _:
                        return answer(kind, name, operand, ctx, arguments)
                return None

            return run

        return [begin, *map(step, acts)]

    def release(self, key: str) -> None:
        """Lets the oldest call that waits go on."""
        self.waiting[key].pop(0).set()


async def ask(ctx: Context, operand: dict[str, Any]) -> str:
    """A request to the client, and how it ended."""
    params, timeout = operand.get("params"), operand.get("timeoutMs")
    try:
        text = None if params is None else json.dumps(params)
        seconds = None if timeout is None else timeout / 1000
        return (await ctx.native.request(operand["method"], text, seconds)).decode()
    except MCPError as error:
        return f"{error.code} {error.message}"
    except TimeoutError:
        return "timed out"
    except NoBackChannel:
        return "unavailable"


def answer(kind: str, name: str, operand: Any, ctx: Context, arguments: dict[str, Any]) -> Any:
    """What an act answers with."""
    match name:
        case "echo":
            return arguments[operand]
        case "reflect" if kind == "tool":
            return ToolResult([], structured=arguments)
        case "reflect":
            text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            return TextResource(text, mime_type="application/json")
        case "revision":
            return ctx.protocol_version
        case "meta":
            return dumps((ctx.meta or {}).get(operand)).decode()
        case "raise":
            raise ToolError(operand) if kind == "tool" else RuntimeError(operand)
        case "fail":
            raise MCPError(operand["code"], operand["message"], operand.get("data"))
        case "return" if kind == "tool":
            return ToolResult(
                operand.get("content", []),
                Json("null")
                if operand.get("structuredContent", ...) is None
                else operand.get("structuredContent"),
                operand.get("isError", False),
                operand.get("_meta"),
            )
        case "return" if kind == "prompt":
            return PromptResult(operand["messages"], operand.get("description"))
        case "return":
            return [contents(item) for item in operand]
    raise AssertionError(f"no act is called {name}")


def contents(item: dict[str, Any]) -> TextResource | BlobResource:
    """Resource contents from MCP's own form."""
    mime_type, meta = item.get("mimeType"), item.get("_meta")
    if "blob" in item:
        return BlobResource(item["blob"], item["uri"], mime_type, meta)
    return TextResource(item["text"], item["uri"], mime_type, meta)
