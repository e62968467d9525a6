"""What is more than a request and its answer: subscriptions, cancellation, waiting calls, the end."""

from __future__ import annotations

import time

import pytest
from rawpeer import Message, RawPeer, ours, stock

ROADS = ["handler", "dispatcher", "streams"]
LISTEN: Message = {
    "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["mem://note"]},
}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def listening(command: list[str]) -> list[Message]:
    """The frames of a subscription while the server's tools change."""
    with RawPeer(command, "modern") as peer:
        peer.request("server/discover", None, 0)
        envelope = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        peer.send({"id": "s", "method": "subscriptions/listen", "params": {**LISTEN, "_meta": envelope}})
        frames = [peer.receive(time.monotonic() + 20)]
        frames += peer.request("tools/call", {"name": "grow", "arguments": {"name": "grown"}}, 1)
        while sum("method" in frame for frame in frames) < 3:
            frames.append(peer.receive(time.monotonic() + 20))
        peer.send({"method": "notifications/cancelled", "params": {"requestId": "s"}})
        frames += peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 2)
        return [frame for frame in frames if "method" in frame]


@pytest.mark.parametrize("road", ROADS)
def test_a_subscription_is_acknowledged_first_and_tagged(road: str) -> None:
    found = listening(ours("compared_mcpserver.py", "--road", road))
    assert found == listening(stock("compared_mcpserver.py"))
    assert found[0]["method"] == "notifications/subscriptions/acknowledged"
    assert {frame["params"]["_meta"][SUBSCRIPTION] for frame in found} == {"s"}


@pytest.mark.parametrize("road", ROADS)
def test_an_open_subscription_does_not_hold_the_end(road: str) -> None:
    peer = RawPeer(ours("compared_mcpserver.py", "--road", road), "modern")
    peer.request("server/discover", None, 0)
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    peer.send({"id": "s", "method": "subscriptions/listen", "params": {**LISTEN, "_meta": envelope}})
    peer.receive(time.monotonic() + 20)
    began = time.monotonic()
    assert peer.close() == 0
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("server", "road"),
    [
        ("compared_fastmcp.py", "direct"),
        ("compared_middleware.py", "middleware"),
        ("compared_fastmcp.py", "handler"),
        ("compared_mcpserver.py", "handler"),
        ("compared_mcpserver.py", "dispatcher"),
        ("compared_mcpserver.py", "streams"),
    ],
)
def test_a_cancelled_call_ends_and_is_not_answered(server: str, road: str) -> None:
    with RawPeer(ours(server, "--road", road), "legacy") as peer:
        peer.handshake()
        peer.send({"id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"ms": 60_000}}})
        peer.request("tools/list", None, 2)
        peer.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        after = peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 3)
        assert [message["id"] for message in after] == [3]
        began = time.monotonic()
        # A call that still ran would be waited for.
        assert peer.close() == 0
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("server", ["compared_fastmcp.py", "compared_middleware.py", "compared_mcpserver.py"])
def test_calls_do_not_wait_for_each_other(server: str) -> None:
    """A sync tool that blocks, an async one that waits, and quick ones of both kinds behind them."""
    with RawPeer(ours(server), "legacy") as peer:
        peer.handshake()
        peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, "warm")
        waits = [("block", 1), ("block", 2), ("slow", 3)]
        for name, number in waits:
            params = {"name": name, "arguments": {"ms": 700}}
            peer.send({"id": number, "method": "tools/call", "params": params})
        began = time.monotonic()
        peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 4)
        peer.request("tools/call", {"name": "aadd", "arguments": {"a": 1, "b": 2}}, 5)
        quick = time.monotonic() - began
        answered = {peer.receive(time.monotonic() + 20)["id"] for _ in waits}
        assert answered == {1, 2, 3}
        assert quick < 0.6
        assert time.monotonic() - began < 1.4


def test_the_drain_lets_calls_in_flight_end() -> None:
    peer = RawPeer(ours("compared_fastmcp.py"), "legacy")
    peer.handshake()
    peer.send({"id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"ms": 300}}})
    assert peer.process.stdin is not None
    peer.process.stdin.close()
    assert peer.receive(time.monotonic() + 20)["id"] == 1
    assert peer.process.wait(20) == 0


def test_both_eras_are_served_by_one_process() -> None:
    with RawPeer(ours("compared_fastmcp.py"), "legacy") as peer:
        peer.handshake()
        legacy = peer.request("tools/call", {"name": "context", "arguments": {}}, 1)[-1]
        peer.era = "modern"
        modern = peer.request("tools/call", {"name": "context", "arguments": {}}, 2)[-1]
        versions = [found["result"]["structuredContent"]["version"] for found in (legacy, modern)]
        assert versions == ["2025-11-25", "2026-07-28"]
        assert "resultType" not in legacy["result"]
        assert modern["result"]["structuredContent"]["entered"] == ["compared"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
@pytest.mark.parametrize("server", ["compared_fastmcp.py", "compared_mcpserver.py"])
def test_older_revisions_are_served(server: str, version: str) -> None:
    with RawPeer(ours(server), "legacy") as peer:
        opening = peer.handshake(version)[-1]["result"]
        assert opening["protocolVersion"] == version
        found = peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 1)[-1]["result"]
        assert found["content"] == [{"type": "text", "text": "3"}]
        assert ("structuredContent" in found) == (version >= "2025-06-18")
        about = peer.request("tools/call", {"name": "context", "arguments": {}}, 2)[-1]["result"]
        assert f'"{version}"' in about["content"][0]["text"].replace(" ", "")
