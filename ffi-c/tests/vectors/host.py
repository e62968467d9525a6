"""The host code of a vector: what its tools, resources, prompts and completions do when they are called.

Decides which function of the C door each act is. A call that waits is kept by the driver until it goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from door import (
    KINDS,
    LEVELS,
    NOT_DECLARED,
    SUSPENDED,
    Answers,
    Call,
    Door,
    Refused,
    Response,
    reentry_number,
    text_of,
)
from vectors.text import parse, write

__all__ = ["Host"]

NAMES = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
TARGETS = {"tools": "tool", "resources": "resource", "templates": "template", "prompts": "prompt"}
NO_CODE = -32603


@dataclass
class Entry:
    """One definition; its tag is its place."""

    kind: str
    name: str
    acts: list[dict[str, Any]]
    completions: dict[str, Any]
    reentry: int = 0


@dataclass
class Running:
    """A call that has not come to the end of its acts."""

    entry: Entry
    call: Call
    next: int = 0
    held: bool = False
    # What became of the request to the client: whether it failed, and the text to answer with.
    answer: tuple[bool, str] = field(default=(True, "unavailable"))
    # What `input` acts wait for, and the results that they have got.
    ask: int = 0
    inputs: list[str] = field(default_factory=list)


class Host:
    """All handlers, the calls that run, and what the script may ask about them."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._entries: list[Entry] = []
        self._running: dict[int, Running] = {}
        self.called: list[str] = []
        self.cancelled: list[tuple[str, str | None]] = []

    def add(self, kind: str, entry: dict[str, Any], now: int) -> None:
        """Adds one entry of `tools`, `resources`, `templates` or `prompts`. Raises Refused."""
        definition = entry["definition"]
        self._door.do("add", KINDS.index(kind), len(self._entries), now, write(definition))
        acts, completions = entry.get("behaviour", []), entry.get("completions", {})
        name, reentry = str(definition.get(NAMES[kind], "")), entry.get("reentry", "replay")
        self._entries.append(Entry(kind, name, acts, completions, reentry_number(reentry)))

    def start(self, call: Call) -> None:
        """Starts what a call asks for."""
        entry = self._entries[call.tag]
        if call.argument is not None:
            self._complete(entry, call)
            return
        assert call.target == TARGETS[entry.kind], call
        self.called.append(entry.name)
        running = Running(entry, call, _first_act(entry, call))
        self._running[call.key] = running
        self._run(running)

    def release(self, name: str) -> None:
        """Lets the oldest call of a handler that waits go on."""
        held = (running for running in self._running.values() if running.held and running.entry.name == name)
        running = next(held, None)
        assert running is not None, f"no call of {name} waits"
        running.held = False
        self._run(running)

    def cancel(self, key: int, reason: str | None) -> None:
        """A call is over before its end; its acts can go on, and send nothing."""
        if running := self._running.get(key):
            cancelled, words = self._door.do("cancelled", key)
            assert cancelled == "1", "the call itself does not know of it"
            # Where the client gave no reason, the call has words of the library's own.
            assert text_of(words) == reason or (reason is None and text_of(words))
            self.cancelled.append((running.entry.name, reason))

    def answered(self, response: Response) -> None:
        """The client answered the request of a call, or nobody did."""
        running = self._running[response.key]
        if response.result is not None:
            running.answer = (False, response.result)
        elif response.outcome == "error":
            running.answer = (True, f"{response.code} {response.message}")
        else:
            running.answer = (True, "timed out" if response.outcome == "timed out" else "unavailable")
        self._run(running)

    def inputs(self, answers: Answers) -> None:
        """The client answered what an `input` act asked, or will not."""
        running = self._running.get(answers.key)
        if running is None:
            return
        assert running.ask == answers.ask, "these are answers to other questions"
        for answer in answers.answers:
            if answer.result is None:
                self._fail(running, answer.message or answer.outcome)
                return
            running.inputs.append(answer.result)
        self._run(running)

    def not_asked(self, key: int, refused: Refused) -> None:
        """Asking was refused, or this run of the call is over."""
        if running := self._running.get(key):
            self._refused(running, refused)

    def running(self, name: str) -> list[int]:
        """The calls of a handler that have not come to their end."""
        return [key for key, running in self._running.items() if running.entry.name == name]

    def waits(self, name: str) -> bool:
        """Whether a call of a handler waits for its release."""
        return any(running.held and running.entry.name == name for running in self._running.values())

    def release_all(self) -> None:
        """Lets every call that waits go on."""
        for running in [running for running in self._running.values() if running.held]:
            running.held = False
            self._run(running)

    def begun(self, key: int, task: str | None) -> None:
        """A call that wanted to be a task is one, or goes on without."""
        if running := self._running.get(key):
            (told,) = self._door.do("task_id", key)
            assert text_of(told) == task, "the call itself says something else"
            self._run(running)

    def _complete(self, entry: Entry, call: Call) -> None:
        completion = entry.completions.get(str(call.argument))
        if completion is None:
            self._do("completion", call, "[]", -1, -1)
            return
        self.called.append(f"{entry.name}/{call.argument}")
        if "raise" in completion or "result" in completion:
            ((verb, operand),) = completion.items()
            self._answer(Entry("completions", entry.name, [], {}), call, verb, operand)
            return
        values = [value for value in completion.get("values", []) if value.startswith(str(call.value))]
        more = completion.get("hasMore")
        total = int(completion.get("total", -1))
        self._do("completion", call, write(values), total, -1 if more is None else int(more))

    def _run(self, running: Running) -> None:
        """Does acts until one has to wait or none is left."""
        call = running.call
        while running.next < len(running.entry.acts):
            ((verb, operand),) = running.entry.acts[running.next].items()
            running.next += 1
            if verb == "wait":
                running.held = True
                return
            if verb == "begin":
                if self._door.do("begin_task", call.key) == ["1"]:
                    return
            elif verb == "progress":
                progress, total, message = (*operand, None, None)[:3]
                message = None if message is None else str(message)
                self._door.do("progress", call.key, float(progress), float(total or "nan"), message)
            elif verb == "log":
                level, logger, data = operand
                logger = None if logger is None else str(logger)
                self._door.do("log", call.key, LEVELS.index(level), logger, write(data))
            elif verb == "closeStream":
                self._door.do("close_stream", call.key)
            elif verb == "notify":
                params = write(operand["params"]) if "params" in operand else None
                self._door.do("notify", call.key, str(operand["method"]), params)
            elif verb == "ask":
                if self._ask(call, operand):
                    return
            elif verb == "input":
                if not self._input(running, operand):
                    return
            elif verb == "round":
                self._round(running, operand)
                return
            elif verb == "inputs":
                self._do("text", call, f"[{','.join(running.inputs)}]")
            elif verb == "handedBack":
                state = "null" if call.state is None else write(call.state)
                self._do("text", call, f'{{"responses":{call.responses or "null"},"state":{state}}}')
            elif verb == "answered":
                failed, text = running.answer
                self._do("tool_error" if failed else "text", call, text)
            else:
                self._answer(running.entry, call, verb, operand)
        self._end(running)

    def _end(self, running: Running) -> None:
        """A call that is answered is not needed any more; nor is one that can't be."""
        del self._running[running.call.key]
        self._door.do("let_go", running.call.key)

    def _input(self, running: Running, operand: dict[str, Any]) -> bool:
        """Asks the client; whether the answers are there already."""
        requests = [
            (key, str(asked["method"]), write(asked["params"]) if "params" in asked else None)
            for key, asked in operand.items()
        ]
        try:
            running.ask, answers = self._door.ask(running.call.key, running.entry.reentry, requests)
        except Refused as refused:
            self._refused(running, refused)
            return False
        results = [answer.result for answer in answers]
        running.inputs += [result for result in results if result is not None]
        assert None not in results, answers
        return bool(answers)

    def _round(self, running: Running, operand: dict[str, Any]) -> None:
        requests = write(operand["requests"]) if "requests" in operand else None
        state = str(operand["state"]) if "state" in operand else None
        try:
            self._door.do("round", running.call.key, requests, state)
        except Refused as refused:
            self._refused(running, refused)
        else:
            self._end(running)

    def _refused(self, running: Running, refused: Refused) -> None:
        """Nothing was asked, or this run is over: host code does nothing about it."""
        if refused.status in (SUSPENDED, NOT_DECLARED):
            self._end(running)
        else:
            self._fail(running, str(refused))

    def _fail(self, running: Running, text: str) -> None:
        self._answer(running.entry, running.call, "raise", text)
        self._end(running)

    def _ask(self, call: Call, operand: dict[str, Any]) -> bool:
        params = write(operand["params"]) if "params" in operand else None
        try:
            self._door.do(
                "request", call.key, int(operand.get("timeoutMs", -1)), str(operand["method"]), params
            )
        except Refused:
            return False
        return True

    def _answer(self, entry: Entry, call: Call, verb: str, operand: Any) -> None:
        """An act that answers the call."""
        match verb, entry.kind:
            case "echo", "tools":
                self._blocks(call, parse(call.arguments).get(operand, ""))
            case "echo", "prompts":
                content = {"type": "text", "text": parse(call.arguments).get(operand, "")}
                self._do("prompt", call, None, write([{"role": "user", "content": content}]))
            case "reflect", "tools":
                self._do("tool", call, None, call.arguments, 0, None)
            case "reflect", "templates":
                self._reflect(entry, call)
            case "revision", "tools":
                self._do("text", call, call.revision)
            case "meta", "tools":
                meta = parse(call.meta or "{}")
                self._do("text", call, write(meta[operand]) if operand in meta else "absent")
            case "return", "tools":
                content, structured, meta = (
                    write(operand[name]) if name in operand else None
                    for name in ("content", "structuredContent", "_meta")
                )
                self._do("tool", call, content, structured, int(operand.get("isError", False)), meta)
            case "return", "resources" | "templates":
                self._do("contents", call, write(operand))
            case "return", "prompts":
                description = operand.get("description")
                description = None if description is None else str(description)
                self._do("prompt", call, description, write(operand.get("messages", [])))
            case "result", _:
                try:
                    self._door.do("result", call.key, write(operand))
                except Refused as refused:
                    # What the engine does not let host code send is a failure of host code.
                    self._do("fail", call, NO_CODE, str(refused), None)
            case "raise", "tools":
                self._do("tool_error", call, str(operand))
            case "raise", _:
                self._do("fail", call, NO_CODE, str(operand), None)
            case "fail", _:
                data = write(operand["data"]) if "data" in operand else None
                self._do("fail", call, int(operand["code"]), str(operand.get("message", "")), data)
            case _:
                raise AssertionError(f"no such act here: {verb} for {entry.kind}")

    def _reflect(self, entry: Entry, call: Call) -> None:
        names = (part for part in entry.name.replace("{", "}").split("}")[1::2])
        names = (name for part in names for name in part.lstrip("+#./;?&").split(","))
        variables = {}
        for name in (name.split(":")[0].rstrip("*") for name in names):
            (found,) = self._door.do("variable", call.key, name)
            if found != "-":
                variables[name] = bytes.fromhex(found).decode()
        text = json.dumps(variables, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self._do("contents", call, write([{"uri": call.uri, "mimeType": "application/json", "text": text}]))

    def _blocks(self, call: Call, text: Any) -> None:
        """As JSON text, because not every JSON string is text for C."""
        self._do("tool", call, write([{"type": "text", "text": text}]), None, 0, None)

    def _do(self, verb: str, call: Call, *fields: int | str | None) -> None:
        try:
            self._door.do(verb, call.key, *fields)
        except Refused as refused:
            # A second answer is refused, and must have no effect.
            if str(refused) != "this call is answered already":
                raise


def _first_act(entry: Entry, call: Call) -> int:
    """With which act a run begins: behind the round by hand that it comes back from, if any."""
    if call.responses is not None:
        for at, act in enumerate(entry.acts):
            if "round" in act and act["round"].get("state") == call.state:
                return at + 1
    return 0
