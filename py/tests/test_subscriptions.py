"""Functions that are told which resources are watched: `on_subscribed` and `on_unsubscribed`."""

from __future__ import annotations

import pytest

from conftest import Serve
from ferromcp import ConfigurationError, Server
from support import Message, Peer

NOTES = """
    @server.resource("mem://{name}")
    def note(name: str) -> str: return name
"""
SYNC = """
    @server.on_subscribed
    def begin(uri): print("began", uri)
    @server.on_unsubscribed
    def end(uri): print("ended", uri)
"""
ASYNC = """
    import asyncio
    @server.on_subscribed
    async def begin(uri):
        await asyncio.sleep(0)
        print("began", uri)
    @server.on_unsubscribed
    async def end(uri):
        await asyncio.sleep(0)
        print("ended", uri)
"""
# What the server prints goes to stderr.
KINDS = pytest.mark.parametrize("hooks", [SYNC, ASYNC], ids=["sync", "async"])


def listen(peer: Peer, *uris: str) -> int:
    key = peer.request("subscriptions/listen", notifications={"resourceSubscriptions": list(uris)})
    acknowledged: Message = peer.message()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    return key


def said(peer: Peer) -> list[str]:
    return [line for line in peer.stderr.decode().splitlines() if line.startswith(("began", "ended"))]


@KINDS
def test_the_first_watcher_and_the_last_one_are_told_of(serve: Serve, hooks: str) -> None:
    peer = serve(NOTES + hooks)
    first = listen(peer, "mem://a", "mem://b")
    peer.hears(b"began mem://b\n")
    second = listen(peer, "mem://a")
    peer.notify("notifications/cancelled", requestId=first)
    peer.hears(b"ended mem://b\n")
    peer.notify("notifications/cancelled", requestId=second)
    peer.hears(b"ended mem://a\n")
    assert sorted(said(peer)[:2]) == ["began mem://a", "began mem://b"]
    assert said(peer)[2:] == ["ended mem://b", "ended mem://a"]


@KINDS
def test_what_is_watched_at_the_end_of_the_input_is_not_watched_any_more(serve: Serve, hooks: str) -> None:
    peer = serve(NOTES + hooks)
    listen(peer, "mem://a")
    peer.hears(b"began mem://a\n")
    peer.close()
    assert peer.ended() == 0
    peer.hears(b"ended mem://a\n")


def test_legacy_subscriptions_are_told_of(serve: Serve) -> None:
    peer = serve(NOTES + SYNC)
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    for key, method, params in (
        (1, "initialize", opening),
        (2, "resources/subscribe", {"uri": "mem://a"}),
        (3, "resources/unsubscribe", {"uri": "mem://a"}),
    ):
        peer.send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
        assert "result" in peer.answer(key)
    peer.hears(b"ended mem://a\n")
    assert said(peer) == ["began mem://a", "ended mem://a"]


def test_a_function_can_begin_what_tells_of_changes(serve: Serve) -> None:
    peer = serve(
        NOTES
        + """
    import asyncio
    @server.on_subscribed
    async def begin(uri):
        server.resource_updated(uri)
    @server.tool
    def add(a: int, b: int) -> int: return a + b
    """
    )
    listen(peer, "mem://a")
    updated = peer.message()
    assert updated["method"] == "notifications/resources/updated"
    assert updated["params"]["uri"] == "mem://a"
    assert peer.text("add", a=1, b=2) == "3"


@pytest.mark.parametrize("prefix", ["", "async "], ids=["sync", "async"])
def test_an_error_is_logged_and_nothing_else(serve: Serve, prefix: str) -> None:
    peer = serve(
        NOTES
        + f"""
    @server.on_subscribed
    {prefix}def begin(uri): raise ValueError("no " + uri)
    @server.tool
    def add(a: int, b: int) -> int: return a + b
    """
    )
    listen(peer, "mem://a")
    peer.hears(b"ValueError: no mem://a")
    assert peer.text("add", a=1, b=2) == "3"


def test_there_is_one_function_of_a_kind() -> None:
    server = Server("one")
    told = server.on_subscribed(print)
    assert told is print
    with pytest.raises(ConfigurationError, match="on_subscribed has a function already"):
        server.on_subscribed(repr)
    server.on_unsubscribed(repr)
    with pytest.raises(ConfigurationError, match="on_unsubscribed has a function already"):
        server.on_unsubscribed(print)


def test_functions_that_wait_for_nothing_need_no_loop(serve: Serve) -> None:
    peer = serve(
        NOTES
        + SYNC
        + """
    import sys
    @server.tool
    def loops() -> bool: return "asyncio" in sys.modules
    """
    )
    first = listen(peer, "mem://a")
    peer.hears(b"began mem://a\n")
    peer.notify("notifications/cancelled", requestId=first)
    peer.hears(b"ended mem://a\n")
    assert peer.text("loops") == "false"
