"""The C door as a process: `driver.c`, its lines, and an engine behind them.

Decides how calls of the library and their outcomes are said in lines. What they mean for a vector is decided
in `script.py` and `host.py`.
"""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "KINDS",
    "LEVELS",
    "NOT_DECLARED",
    "SUSPENDED",
    "Answer",
    "Answers",
    "Call",
    "Door",
    "Event",
    "Field",
    "Output",
    "Refused",
    "Response",
    "Unasked",
    "reentry_number",
]

KINDS = ("tools", "resources", "templates", "prompts")
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
# As ferromcp.h numbers them.
EVENTS = (
    "none",
    "transmit",
    "call",
    "cancelled",
    "notification",
    "initialized",
    "subscribed",
    "unsubscribed",
    "diagnostic",
    "drained",
    "answers",
    "taskBegun",
)
DIAGNOSTICS = ("none", "noise", "badMessage", "strayResponse", "badResult", "definition", "other", "store")
TARGETS = (
    "none",
    "tool",
    "resource",
    "template",
    "prompt",
    "promptCompletion",
    "templateCompletion",
    "delegated",
)
OUTCOMES = ("none", "result", "error", "timed out", "closed", "invalid")
REENTRIES = ("replay", "held")
# The statuses with which a question is refused and nothing is left to do.
SUSPENDED = 6
NOT_DECLARED = 8


Field = int | float | bytes | str | None


class Refused(Exception):
    """The library refused a call; the text is its own."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Call(NamedTuple):
    """A request that host code serves."""

    stream: int
    key: int
    tag: int
    target: str
    arguments: str
    uri: str | None
    meta: str | None
    revision: str
    argument: str | None
    value: str | None
    responses: str | None
    state: str | None


class Response(NamedTuple):
    """What the client answered to the request of a call."""

    key: int
    outcome: str
    result: str | None
    code: int
    message: str | None


class Answer(NamedTuple):
    """What the client answered to one of several questions."""

    outcome: str
    result: str | None
    message: str | None


class Answers(NamedTuple):
    """What the client answered to what a call has asked."""

    key: int
    ask: int
    answers: list[Answer]


class Event(NamedTuple):
    """Anything else that an engine puts out."""

    kind: str
    stream: int
    key: int
    diagnostic: str
    text: str | None
    params: str | None


class Unasked(NamedTuple):
    """Asking was refused to a call of a server that listens, or its run is over."""

    key: int
    refused: Refused


Output = Call | Event | Response | Answers | Unasked


class Door:
    """A driver and its one engine."""

    def __init__(self, command: Sequence[str]) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._outputs: deque[Output] = deque()

    def close(self) -> int:
        """Ends the driver; its exit code."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        assert not self._child.stdout.read(), "the driver says something at its end"
        self._child.stdout.close()
        return self._child.wait()

    def kill(self) -> None:
        """Ends the driver whatever it does."""
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def do(self, verb: str, *fields: Field) -> list[str]:
        """Calls the library; the fields of its answer. Numbers go as they are, texts in hexadecimal."""
        answer = self._ask(verb, *fields)
        if answer[0] == "refused":
            raise Refused(bytes.fromhex(answer[2]).decode(), int(answer[1]))
        assert answer[0] == "ok", answer
        return answer[1:]

    def ask(
        self, key: int, reentry: int, requests: Sequence[tuple[str, str, str | None]]
    ) -> tuple[int, list[Answer]]:
        """Asks the client of a call: the number of the questions, and the answers that are there already.

        A request is key, method and parameters. Raises Refused.
        """
        fields = [field for request in requests for field in request]
        ask, *answers = self.do("begin_ask", key, reentry, *fields)
        return int(ask), _answers(answers)

    def poll(self) -> Output | None:
        """The next output."""
        if not self._outputs:
            verb, *fields = self._ask("poll")
            # Answers to questions are told while the next output is looked for.
            while verb == "response":
                self._outputs.append(_response(*fields))
                verb, *fields = self._line()
            if verb == "call":
                self._outputs.append(_call(*fields))
            elif verb == "answers":
                key, ask, *answers = fields
                self._outputs.append(Answers(int(key), int(ask), _answers(answers)))
            elif verb == "unasked":
                key, status, text = fields
                self._outputs.append(Unasked(int(key), Refused(text_of(text) or "", int(status))))
            elif verb == "event":
                self._outputs.append(_event(*fields))
            else:
                assert verb == "none", [verb, *fields]
        return self._outputs.popleft() if self._outputs else None

    def _ask(self, verb: str, *fields: Field) -> list[str]:
        assert self._child.stdin is not None
        line = "\t".join([verb, *map(_field, fields)])
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()
        return self._line()

    def _line(self) -> list[str]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line.endswith(b"\n"), f"the driver is gone: {self._child.wait()}"
        return line[:-1].decode().split("\t")


def reentry_number(name: str) -> int:
    """A reentry as the header numbers it."""
    return REENTRIES.index(name)


def _field(value: Field) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return str(int(value) if isinstance(value, bool) else value)
    data = value.encode() if isinstance(value, str) else value
    return data.hex()


def text_of(field: str) -> str | None:
    """A text of the driver's; None where there is none."""
    return None if field == "-" else bytes.fromhex(field).decode()


def _response(key: str, outcome: str, result: str, code: str, message: str) -> Response:
    return Response(int(key), OUTCOMES[int(outcome)], text_of(result), int(code), text_of(message))


def _call(stream: str, key: str, tag: str, target: str, *texts: str) -> Call:
    arguments, uri, meta, revision, *rest = map(text_of, texts)
    assert arguments is not None, "every call has them"
    assert revision is not None, "every call has one"
    name = TARGETS[int(target)]
    return Call(int(stream), int(key), int(tag), name, arguments, uri, meta, revision, *rest)


def _answers(fields: list[str]) -> list[Answer]:
    triples = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    return [Answer(OUTCOMES[int(outcome)], text_of(result), text_of(why)) for outcome, result, why in triples]


def _event(kind: str, stream: str, key: str, diagnostic: str, text: str, params: str) -> Event:
    told = DIAGNOSTICS[int(diagnostic)]
    return Event(EVENTS[int(kind)], int(stream), int(key), told, text_of(text), text_of(params))
