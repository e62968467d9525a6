"""Conversations with apps whose middleware looks at calls: cancellation, waiting, notifications."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from rawpeer import DEADLINE, RawPeer, ours, stock

SERVER = "compared_watching.py"
ERAS = ["legacy", "modern"]
ROADS = ["middleware", "handler"]


class Watched:
    """A peer of the watching server, and what its middleware has seen so far."""

    def __init__(self, peer: RawPeer) -> None:
        self.peer = peer
        self.lines: list[str] = []
        self._number = 100

    def call(self, name: str, **arguments: object) -> dict[str, object]:
        self._number += 1
        params = {"name": name, "arguments": arguments}
        result: dict[str, object] = self.peer.request("tools/call", params, self._number)[-1]["result"]
        return result

    def until(self, is_seen: Callable[[list[str]], bool]) -> list[str]:
        """Asks until the middleware has seen something; all that it saw."""
        deadline = time.monotonic() + DEADLINE
        while not is_seen(self.lines):
            assert time.monotonic() < deadline, self.lines
            found = self.call("what_was_seen")["structuredContent"]
            assert isinstance(found, dict)
            self.lines += found["result"]
        return self.lines


def cancelled(command: list[str], era: str, tool: str, do: str) -> list[str]:
    """What became of a call that was cancelled while its tool ran."""
    with RawPeer(command, era) as peer:
        peer.handshake()
        watched = Watched(peer)
        envelope = {}
        if era == "modern":
            envelope["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        params = {"name": tool, "arguments": {"do": do, "value": "slowly"}, **envelope}
        peer.send({"id": 1, "method": "tools/call", "params": params})
        watched.until(lambda lines: "began" in lines)
        peer.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        lines = watched.until(lambda lines: "outer ended" in lines)
        return sorted(line for line in lines if "raised" in line or "slowly" in line)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("do", ["let_fail", "late"])
@pytest.mark.parametrize("tool", ["act", "aact"])
def test_middleware_sees_a_cancellation_as_it_does_stock(tool: str, do: str, era: str) -> None:
    """A sync tool runs to its end, and what waits after it is cancelled; an async one is cut short."""
    found = cancelled(ours(SERVER), era, tool, do)
    assert found == cancelled(stock(SERVER), era, tool, do)
    assert ("let_fail slowly" in found or "late slowly" in found) == (tool == "act")


def hidden_by_a_notification(command: list[str]) -> list[object]:
    with RawPeer(command, "legacy") as peer:
        peer.handshake()
        watched = Watched(peer)
        before = watched.call("add", a=1, b=2)
        peer.send({"method": "notifications/roots/list_changed"})
        watched.until(lambda lines: any("roots/list_changed" in line for line in lines))
        return [before, watched.call("add", a=1, b=2)]


@pytest.mark.parametrize("road", ROADS)
def test_a_session_can_be_given_rules_outside_of_a_request(road: str) -> None:
    found = hidden_by_a_notification(ours(SERVER, "--road", road))
    assert found == hidden_by_a_notification(stock(SERVER))
    assert found[0] != found[1]


@pytest.mark.parametrize("era", ERAS)
def test_blocking_tools_run_side_by_side(era: str) -> None:
    with RawPeer(ours("compared_middleware.py"), era) as peer:
        peer.handshake()
        peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, "warm")
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        began = time.monotonic()
        for number in range(10):
            params = {
                "name": "block",
                "arguments": {"ms": 500},
                **({"_meta": meta} if era == "modern" else {}),
            }
            peer.send({"id": number, "method": "tools/call", "params": params})
        answered = {peer.receive(began + DEADLINE)["id"] for _ in range(10)}
        assert answered == set(range(10))
        assert time.monotonic() - began < 2.5
