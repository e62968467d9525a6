"""What a function can ask of its client, and what comes back: forms, URLs, the client's model, its roots.

Decides how each question is written and what its answer becomes. How it gets to the client, whose revision
may have requests for it or not, is the engine's work. Imported only by servers that ask.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

from . import _results
from ._aio import refuse_loop
from ._forms import form_of
from ._native import Call, InputRequired, dumps, loads
from .errors import InvalidAnswer

__all__ = [
    "Elicit",
    "ElicitResult",
    "ElicitUrl",
    "InputRequired",
    "ListRoots",
    "Pending",
    "Request",
    "Root",
    "Sample",
    "SampleResult",
]

T = TypeVar("T")
JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ElicitResult(Generic[T]):
    """What a user said. `content` is what the form was filled with; None unless `action` is "accept"."""

    action: Literal["accept", "decline", "cancel"]
    content: T | None = None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """A message of the client's model. `content` is a block, or a list of blocks, as MCP writes them."""

    role: Literal["user", "assistant"]
    content: dict[str, Any] | list[dict[str, Any]]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text in it, without blocks of other kinds."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that the client works on: a `file://` URI and what the user calls it."""

    uri: str
    name: str | None = None


class Request(Generic[T]):
    """One question, for `Context.ask` and `Context.input_required`."""

    __slots__ = ()

    method: str

    def params(self) -> dict[str, Any]:
        """The parameters, in the newest revision's form."""
        raise NotImplementedError

    def read(self, answer: JsonObject) -> T:
        """The answer as a value, from what the client sent: a result as MCP writes it.

        Raises:
            InvalidAnswer: it is not what was asked for.
        """
        raise NotImplementedError


class Elicit(Request[ElicitResult[T]]):
    """A form for the user (`client/elicitation`).

    `schema` is a pydantic model, dataclass or TypedDict, whose instance is the result's content, or the JSON
    Schema of the form, whose content is a dict.

    Raises:
        ConfigurationError: the class has no schema.
    """

    __slots__ = ("_form", "_message")

    method = "elicitation/create"

    @overload
    def __init__(self: Elicit[dict[str, Any]], message: str, schema: JsonObject) -> None: ...

    @overload
    def __init__(self, message: str, schema: type[T]) -> None: ...

    def __init__(self, message: str, schema: Any) -> None:
        self._message = message
        self._form = form_of(schema)

    def params(self) -> dict[str, Any]:
        """The parameters, in the newest revision's form."""
        return {"mode": "form", "message": self._message, "requestedSchema": self._form.schema}

    def read(self, answer: JsonObject) -> ElicitResult[T]:
        """The user's answer; see `Request.read`."""
        action = _action(answer)
        if action != "accept":
            return ElicitResult(action)
        return ElicitResult(action, self._form.read(_members(answer.get("content") or {})))


class ElicitUrl(Request[ElicitResult[None]]):
    """A URL for the user to visit, for what must not go through the client (`client/elicitation`, "URL
    Mode").

    "accept" says that the user agreed to go there, not that anything was done there.
    """

    __slots__ = ("_message", "_url")

    method = "elicitation/create"

    def __init__(self, message: str, url: str) -> None:
        self._message = message
        self._url = url

    def params(self) -> dict[str, Any]:
        """The parameters, in the newest revision's form."""
        return {"mode": "url", "message": self._message, "url": self._url}

    def read(self, answer: JsonObject) -> ElicitResult[None]:
        """The user's answer; see `Request.read`."""
        return ElicitResult(_action(answer))


class Sample(Request[SampleResult]):
    """A message from the client's model (`client/sampling`).

    `messages` is one text of the user's, or a list of texts, `{"role", "content"}` and `PromptMessage`.
    `tools`, `tool_choice`, `model_preferences` and `metadata` are as MCP writes them.
    """

    __slots__ = ("_params",)

    method = "sampling/createMessage"

    def __init__(
        self,
        messages: str | Sequence[Any],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        temperature: float | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: JsonObject | None = None,
        model_preferences: JsonObject | None = None,
        stop_sequences: Sequence[str] | None = None,
        metadata: JsonObject | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
    ) -> None:
        members = {
            "messages": _results.sampling(messages),
            "maxTokens": max_tokens,
            "systemPrompt": system_prompt,
            "temperature": temperature,
            "tools": tools,
            "toolChoice": tool_choice,
            "modelPreferences": model_preferences,
            "stopSequences": stop_sequences,
            "metadata": metadata,
            "includeContext": include_context,
        }
        self._params = {name: value for name, value in members.items() if value is not None}

    def params(self) -> dict[str, Any]:
        """The parameters, in the newest revision's form."""
        return self._params

    def read(self, answer: JsonObject) -> SampleResult:
        """The model's message; see `Request.read`."""
        answer = _members(answer)
        try:
            return SampleResult(answer["role"], answer["content"], answer["model"], answer.get("stopReason"))
        except KeyError as error:
            raise InvalidAnswer(f"a sampled message needs {error}") from None


class ListRoots(Request[list[Root]]):
    """Which folders and files the client works on (`client/roots`)."""

    __slots__ = ()

    method = "roots/list"

    def params(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def read(self, answer: JsonObject) -> list[Root]:
        """The roots; see `Request.read`."""
        try:
            return [Root(root["uri"], root.get("name")) for root in _members(answer)["roots"]]
        except (KeyError, TypeError, AttributeError):
            raise InvalidAnswer("roots/list needs an array of objects with a uri") from None


class Pending(Generic[T]):
    """What was asked, for whoever needs the answer: `await` it in an async function, `wait()` for it in a
    sync one. Nothing is sent before. What an async function awaits together is one round for a modern client,
    which is asked as a whole or not at all.

    Both raise:
        CapabilityNotDeclared: the client has not declared what this needs. A function that does not catch it
            ends with the error that the specification has for that.
        NoBackChannel: the client can't be asked.
        InvalidAnswer: the client's answer is not what was asked for.
        MCPError: the client answered with an error.
        TimeoutError: the client did not answer in time.
        ConfigurationError: the specification does not allow the question; the text says why.
    """

    __slots__ = ("_call", "_questions", "_read", "_timeout")

    def __init__(
        self,
        call: Call,
        questions: Sequence[tuple[str, Request[Any]]],
        read: Callable[[list[Any]], T],
        timeout: float | None,
    ) -> None:
        self._call = call
        self._questions = questions
        self._read = read
        self._timeout = timeout

    def __await__(self) -> Generator[Any, None, T]:
        answers = yield from self._call.ask(self._written(), self._timeout).__await__()
        return self._answered(answers)

    def wait(self) -> T:
        """Blocks this thread until the client has answered. Other calls go on meanwhile.

        Raises:
            RuntimeError: this thread runs an event loop, which must not be blocked: await it.
        """
        refuse_loop()
        return self._answered(self._call.ask_and_wait(self._written(), self._timeout))

    def _written(self) -> list[tuple[str, str, bytes]]:
        return [(key, request.method, dumps(request.params(), "params")) for key, request in self._questions]

    def _answered(self, answers: list[bytes | Exception]) -> T:
        values = []
        for (_, request), answer in zip(self._questions, answers, strict=True):
            if isinstance(answer, Exception):
                raise answer
            values.append(request.read(loads(answer)))
        return self._read(values)


def one(call: Call, request: Request[T], key: str | None, timeout: float | None) -> Pending[T]:
    """One question."""

    def read(values: list[T]) -> T:
        (value,) = values
        return value

    return Pending(call, [(key or "", request)], read, timeout)


def several(
    call: Call, requests: Mapping[str, Request[Any]], timeout: float | None
) -> Pending[dict[str, Any]]:
    """Several questions in one round, and their answers by the same keys."""
    return Pending(
        call, list(requests.items()), lambda values: dict(zip(requests, values, strict=True)), timeout
    )


def by_hand(requests: Mapping[str, Request[Any]] | None, state: str | None) -> InputRequired:
    """A round that a function writes itself."""
    if not requests:
        return InputRequired(None, state)
    written = {
        key: {"method": request.method, "params": request.params()} for key, request in requests.items()
    }
    return InputRequired(dumps(written, "requests"), state)


def _action(answer: JsonObject) -> Any:
    action = _members(answer).get("action")
    if action not in ("accept", "decline", "cancel"):
        raise InvalidAnswer(f'"action" must be "accept", "decline" or "cancel", not {action!r}')
    return action


def _members(answer: object) -> JsonObject:
    """The answer, if it is an object: what a client sends for a round by hand can be anything."""
    if not isinstance(answer, Mapping):
        raise InvalidAnswer(f"an answer is an object, not {answer!r:.100}")
    return answer
