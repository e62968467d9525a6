"""Over HTTP every road gives the answers of the stock server, in both eras, however the bytes are carried."""

from __future__ import annotations

import contextlib
import threading
from functools import cache
from http.client import HTTPException
from typing import Any

import pytest
from rawpeer import ANSWERS, CAPABILITIES, SERVERS, Message
from table import FASTMCP, LOWLEVEL, MCPSERVER, Row
from test_same_answers import comparable

from httppeer import HttpPeer, Response, reached
from support import Peer

TABLES: dict[str, list[Row]] = {
    "compared_fastmcp.py": FASTMCP,
    "compared_mcpserver.py": MCPSERVER,
    "compared_lowlevel.py": LOWLEVEL,
}
# What is wrong with both its header and its body: the stock servers look at the header first, and we say what
# the body lacks.
AMBIGUOUS = "call with a number for a name"
CASES = [
    (server, carrier, road, era)
    for server, ways in {
        "compared_fastmcp.py": [
            ("native", "direct"),
            ("native", "middleware"),
            ("native", "handler"),
            ("native", "dispatcher"),
            ("asgi", "direct"),
            ("asgi", "dispatcher"),
        ],
        "compared_mcpserver.py": [("native", "handler"), ("native", "dispatcher"), ("asgi", "handler")],
        "compared_lowlevel.py": [("native", "handler"), ("asgi", "handler")],
    }.items()
    for carrier, road in ways
    for era in ("legacy", "modern")
]


def command(server: str, carrier: str, road: str | None) -> list[str]:
    """What runs a server."""
    if carrier == "native":
        assert road is not None
        return ["-m", "ferromcp", "run", str(SERVERS / server), "--http", "--port", "0", "--road", road]
    return [str(SERVERS / "over_http.py"), server, carrier, *([] if road is None else [road])]


class Client:
    """Of one era. In a session it has a GET stream, on which it is asked what belongs to no request."""

    def __init__(self, peer: HttpPeer, era: str) -> None:
        self.peer = peer
        self.session = peer.session("rawpeer", CAPABILITIES) if era == "legacy" else None
        self.aside: list[Message] = []
        if self.session is not None:
            self.stream = self.session.listen()
            threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError, HTTPException, AttributeError):
            for message in self.stream.messages():
                if "id" in message and "method" in message:
                    self._answer(message, self.aside, "asked aside")

    def _answer(self, question: Message, found: list[Message], how: str) -> None:
        assert self.session is not None
        found.append({how: question["method"], "params": question.get("params")})
        result = ANSWERS.get(question["method"], {})
        self.session.post({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def ask(self, method: str, params: Message | None) -> list[Message]:
        """What one request is answered with, questions answered on the way."""
        params = dict(params or {})
        if self.session is not None:
            response: Response = self.session.request(method, params)
        else:
            meta = {"io.modelcontextprotocol/clientCapabilities": CAPABILITIES, **params.pop("_meta", {})}
            response = self.peer.modern(method, params, **meta)
        found: list[Message] = []
        if response.kind == "application/json":
            # One object or a stream of one: that is the server's to choose.
            refused = {} if response.status == 200 else {"status": response.status}
            found.append({**refused, **response.json()})
        else:
            for message in response.messages():
                if "method" in message and "id" in message:
                    self._answer(message, found, "asked")
                else:
                    found.append(message)
        aside, self.aside = self.aside, []
        return aside + found

    def close(self) -> None:
        """Ends the session."""
        if self.session is not None:
            self.session.delete()
            self.stream.leave()


def transcript(server: str, carrier: str, road: str | None, era: str) -> dict[str, list[Message]]:
    """What a server answers to each row."""
    with Peer(*command(server, carrier, road), cwd=SERVERS) as process:
        client = Client(reached(process), era)
        found = {}
        for number, (label, method, params) in enumerate(TABLES[server], 1):
            found[f"{number} {label}"] = client.ask(method, params)
        client.close()
        return found


@cache
def expected(server: str, era: str) -> dict[str, list[Message]]:
    return transcript(server, "stock", None, era)


@pytest.mark.parametrize(("server", "carrier", "road", "era"), CASES)
def test_answers_are_those_of_the_stock_server(server: str, carrier: str, road: str, era: str) -> None:
    found = transcript(server, carrier, road, era)
    wanted = expected(server, era)
    assert list(found) == list(wanted)
    if era == "modern":
        wanted = {label: answer for label, answer in wanted.items() if not label.endswith(AMBIGUOUS)}
    different: dict[str, Any] = {
        label: (comparable(wanted[label], era), comparable(found[label], era))
        for label in wanted
        if comparable(wanted[label], era) != comparable(found[label], era)
    }
    assert different == {}
