"""`subscriptions/listen` over HTTP: acknowledged first, kept alive, ended with a result (2026-07-28
`basic/patterns/subscriptions`). What is told to whom: `test_subscriptions.py`.
"""

from __future__ import annotations

import signal
import time

import pytest
from checker import Json, Message
from conftest import Serve
from http_peer import STREAM, Endpoint, Peer, refused
from http_wire import Response
from test_subscriptions import ACKNOWLEDGED, SUBSCRIPTION, TOOLS_CHANGED

UPDATED = "notifications/resources/updated"


class Listener:
    """A subscription of a peer, with the checker of its request."""

    def __init__(self, peer: Peer, id: Json = None, **wanted: Json) -> None:
        self.peer = peer
        message = peer.message("subscriptions/listen", {"notifications": wanted}, id=id)
        self.id = message["id"]
        self.checker = peer.checker
        self.response: Response = peer.post(message)
        assert self.response.status == 200, self.response.body()
        assert self.response.content_type == STREAM
        first = self.next()
        assert first["method"] == ACKNOWLEDGED, "the acknowledgment has to come first"
        self.agreed: Message = first["params"]["notifications"]

    def checked(self, data: str) -> Message:
        message = self.checker.received(data.encode())
        part = message["result"] if "result" in message else message["params"]
        assert part["_meta"][SUBSCRIPTION] == self.id
        assert type(part["_meta"][SUBSCRIPTION]) is type(self.id)
        return message

    def next(self) -> Message:
        while not (event := self.response.event()).data:
            pass
        return self.checked(event.data)

    def quiet(self, seconds: float) -> list[Message]:
        return [self.checked(event.data) for event in self.response.quiet(seconds) if event.data]


@pytest.fixture
def peer(http_server: Endpoint) -> Peer:
    peer = http_server.peer("modern")
    if not peer.opened["capabilities"]["tools"].get("listChanged"):
        pytest.skip("this server tells nobody of changes")
    return peer


@pytest.mark.parametrize("id", [0, 7, "sub", ""])
def test_e14_listen(peer: Peer, id: Json) -> None:
    listener = Listener(peer, id, toolsListChanged=True)
    assert listener.response.header("x-accel-buffering") == "no"
    assert listener.agreed == {"toolsListChanged": True}
    peer.call("grow", name=f"grown_for_{id}")
    assert listener.next()["method"] == TOOLS_CHANGED


def test_e14_nothing_but_what_was_asked_for(peer: Peer) -> None:
    tools = Listener(peer, toolsListChanged=True)
    prompts = Listener(peer, promptsListChanged=True)
    nothing = Listener(peer)
    assert nothing.agreed == {}
    peer.call("grow", name="grown_for_one")
    assert tools.next()["method"] == TOOLS_CHANGED
    assert prompts.quiet(0.2) == []
    assert nothing.quiet(0.1) == []


def test_e14_all_who_listen_are_told(peer: Peer) -> None:
    """With the same id, as two clients that know nothing of each other have."""
    listeners = [Listener(peer, 1, toolsListChanged=True) for _ in range(10)]
    peer.call("grow", name="grown_for_all")
    assert [listener.next()["method"] for listener in listeners] == [TOOLS_CHANGED] * 10


@pytest.mark.carriers("native", "asgi", "handler", "stock-http-mcpserver")
def test_e14_resources(peer: Peer) -> None:
    listener = Listener(peer, resourceSubscriptions=["mem://greeting"])
    assert listener.agreed == {"resourceSubscriptions": ["mem://greeting"]}
    peer.call("touch", uri="mem://item/1")
    peer.call("touch", uri="mem://greeting")
    message = listener.next()
    assert (message["method"], message["params"]["uri"]) == (UPDATED, "mem://greeting")
    assert listener.quiet(0.1) == []


def test_e14_progress_and_logs_are_not_for_listeners(peer: Peer) -> None:
    listener = Listener(peer, toolsListChanged=True)
    meta = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
    peer.result("tools/call", {"name": "progress", "arguments": {"n": 2}}, meta=meta)
    peer.result("tools/call", {"name": "logs", "arguments": {"n": 2}}, meta=meta)
    assert listener.quiet(0.2) == []


def test_e14_sessions_are_told_on_their_own_stream(http_server: Endpoint, peer: Peer) -> None:
    """One change, a client of each era, and each hears of it in its own words."""
    legacy = http_server.peer("legacy")
    stream = legacy.get()
    listener = Listener(peer, toolsListChanged=True)
    legacy.call("grow", name="grown_for_both")
    assert listener.next()["method"] == TOOLS_CHANGED
    message = legacy.next(stream)
    assert message["method"] == TOOLS_CHANGED
    assert SUBSCRIPTION not in message.get("params", {}).get("_meta", {})


@pytest.mark.carriers("native", "asgi", "handler")
def test_c13_a_subscription_is_kept_alive(serve: Serve) -> None:
    peer = serve(keepAliveMs=100).peer("modern")
    listener = Listener(peer, toolsListChanged=True)
    assert listener.quiet(1) == []
    assert 3 <= listener.response.comments <= 12


def test_b2_a_subscription_ends_with_its_connection(peer: Peer) -> None:
    """Hundreds of them leave nothing behind."""
    process = peer.endpoint.process
    for _ in range(4):
        before = process.resident_mb()
        for _ in range(500):
            Listener(peer, toolsListChanged=True).response.connection.close()
        growth = process.resident_mb() - before
        if growth < 2:
            break
    assert growth < 2
    peer.call("grow", name="grown_for_nobody")
    peer.alive()


@pytest.mark.carriers("native", "handler", "stock")
def test_c24_a_subscription_ends_with_a_result(serve: Serve) -> None:
    """The server goes down on its own terms, so it says that the subscription is over."""
    endpoint = serve()
    peer = endpoint.peer("modern")
    if not peer.opened["capabilities"]["tools"].get("listChanged"):
        pytest.skip("this server tells nobody of changes")
    listener = Listener(peer, "sub", toolsListChanged=True)
    began = time.monotonic()
    endpoint.process.signal(signal.SIGTERM)
    message = listener.next()
    assert message["id"] == "sub"
    assert message["result"]["resultType"] == "complete"
    assert [event for event in listener.response.events() if event.data] == []
    assert listener.response.done
    endpoint.process.wait(5)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "params",
    [{}, {"notifications": None}, {"notifications": []}, {"notifications": {"toolsListChanged": "yes"}}],
    ids=str,
)
@pytest.mark.carriers("native", "asgi", "handler")
def test_malformed_subscription_over_http(peer: Peer, params: Message) -> None:
    message = peer.message("subscriptions/listen", params, valid=False)
    refused(peer.post(message), (200, 400), -32602, id=message["id"])
