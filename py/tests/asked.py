"""A client of both eras that answers what a server asks in the middle of a call, and writes it down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from support import Message, Peer

ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
ERAS = ("modern", "legacy")

# What a client says to a request: a result, or an error under "error".
Answer = Callable[[Message], Message]


class Told(NamedTuple):
    """How a call went: the final answer, and the requests of each round by key (legacy: all in one)."""

    answer: Message
    rounds: list[dict[str, Message]]

    @property
    def text(self) -> str:
        """The text of a tool's result, which has not failed."""
        result = self.answer["result"]
        assert not result.get("isError"), result
        (block,) = result["content"]
        return str(block["text"])

    @property
    def failure(self) -> str:
        """The text of a tool's result that says what went wrong."""
        result = self.answer["result"]
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])

    @property
    def asked(self) -> list[Message]:
        """All requests, in order."""
        return [request for requests in self.rounds for request in requests.values()]


class Client:
    """One connection of an era."""

    def __init__(self, peer: Peer, era: str, capabilities: dict[str, Any] = ALL) -> None:
        self.peer = peer
        self.era = era
        self._meta = {"io.modelcontextprotocol/clientCapabilities": capabilities}
        self._next_id = 1000
        if era == "legacy":
            self._initialize(capabilities)

    def _initialize(self, capabilities: dict[str, Any]) -> None:
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.peer.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})
        assert "result" in self.peer.answer(0)
        self.peer.notify("notifications/initialized")

    def begin(self, method: str, **params: Any) -> int:
        """Sends a request of this era; its id."""
        if self.era == "modern":
            return self.peer.request(method, self._meta, **params)
        self._next_id += 1
        self.peer.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def begin_call(self, name: str, /, **arguments: Any) -> int:
        """Calls a tool; the request's id."""
        return self.begin("tools/call", name=name, arguments=arguments)

    def call(self, name: str, answer: Answer, /, **arguments: Any) -> Told:
        """Calls a tool, and answers what it asks."""
        return self.told("tools/call", answer, name=name, arguments=arguments)

    def told(self, method: str, answer: Answer, **params: Any) -> Told:
        """Any request, until its final answer."""
        key = self.begin(method, **params)
        if self.era == "legacy":
            return self._told_legacy(key, answer)
        rounds: list[dict[str, Message]] = []
        while True:
            final = self.peer.answer(key)
            result = final.get("result", {})
            if result.get("resultType") != "input_required":
                return Told(final, rounds)
            key = self.retry(method, result, answer, **params)
            rounds.append(result.get("inputRequests", {}))

    def retry(self, method: str, round_: Message, answer: Answer, **params: Any) -> int:
        """A modern request once more, with answers to what a round asked."""
        responses = {key: answer(request) for key, request in round_.get("inputRequests", {}).items()}
        return self.begin(method, **params, inputResponses=responses, requestState=round_["requestState"])

    def _told_legacy(self, key: int, answer: Answer) -> Told:
        asked: dict[str, Message] = {}
        while True:
            message = self.peer.message()
            if message.get("id") == key and "method" not in message:
                return Told(message, [asked] if asked else [])
            if "id" in message and "method" in message:
                asked[str(message["id"])] = message
                given = answer(message)
                outcome = given if "error" in given else {"result": given}
                self.peer.send({"jsonrpc": "2.0", "id": message["id"], **outcome})


def accept(**content: Any) -> Answer:
    """A user who fills in every form like this."""
    return lambda _request: {"action": "accept", "content": content}


def say(action: str) -> Answer:
    """A user who says this to everything."""
    return lambda _request: {"action": action}


def everything(request: Message) -> Message:
    """A client that answers each kind of request."""
    answers: dict[str, Message] = {
        "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
        "sampling/createMessage": {
            "role": "assistant",
            "content": {"type": "text", "text": "a poem"},
            "model": "m-1",
            "stopReason": "endTurn",
        },
        "roots/list": {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]},
    }
    answer = answers[request["method"]]
    return {"action": "accept"} if request.get("params", {}).get("mode") == "url" else answer
