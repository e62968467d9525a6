"""Case E14 and what both eras say of change notifications: who is told, what it is told with, and how it
ends.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from checker import Message
from conftest import Start
from process import PATIENCE
from wire import Wire

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS_CHANGED = "notifications/tools/list_changed"

# fastmcp declares no change notifications in the modern era, and has no handler for subscriptions.
HOLDS_SUBSCRIPTIONS = pytest.mark.servers("native", "node", "c", "cpp", "mcpserver")


def listen(wire: Wire, id: Any, **wanted: Any) -> Message:
    """Opens a subscription; gives the filter that the server agreed to."""
    wire.request("subscriptions/listen", {"notifications": wanted}, id=id)
    while True:
        message = wire.receive()
        if message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION) == id:
            assert message["method"] == ACKNOWLEDGED, "the acknowledgment has to come first"
            agreed: Message = message["params"]["notifications"]
            return agreed
        wire.inbox.append(message)


def wait_for(wire: Wire, method: str, number: int = 1) -> list[Message]:
    taken: list[Message] = []
    end = time.monotonic() + 5 * PATIENCE
    while len(taken) < number:
        taken += wire.notifications(method)
        if len(taken) < number:
            assert time.monotonic() < end
            wire.inbox.append(wire.receive(5))
    return taken


@pytest.mark.eras("legacy")
def test_e14_legacy_peers_are_told_unasked(server: str, start: Start) -> None:
    wire = start(server)
    assert wire.opened["capabilities"]["tools"].get("listChanged") or server != "native"
    before = {tool["name"] for tool in wire.result("tools/list")["tools"]}
    wire.call("grow", name="grown_legacy")
    wait_for(wire, TOOLS_CHANGED)
    after = {tool["name"] for tool in wire.result("tools/list")["tools"]}
    assert after - before == {"grown_legacy"}
    assert wire.call("grown_legacy")


@pytest.mark.servers("native", "node", "c", "cpp")
def test_e14_two_changes_within_ten_milliseconds(server: str, start: Start) -> None:
    """At least one notification after the last change; not necessarily one for each."""
    wire = start(server)
    for name in ("grown_1", "grown_2", "grown_3"):
        wire.call("grow", name=name)
    time.sleep(0.2)
    wire.alive()
    assert 1 <= len(wire.notifications(TOOLS_CHANGED)) <= 3
    names = {tool["name"] for tool in wire.result("tools/list")["tools"]}
    assert {"grown_1", "grown_2", "grown_3"} <= names


@HOLDS_SUBSCRIPTIONS
def test_e14_modern_peers_are_told_what_they_asked_for(server: str, start: Start) -> None:
    wire = start(server, "modern")
    agreed = listen(wire, "tools", toolsListChanged=True)
    other = listen(wire, 0, promptsListChanged=True)
    assert set(agreed) <= {"toolsListChanged"}
    assert set(other) <= {"promptsListChanged"}
    assert agreed == {"toolsListChanged": True}
    wire.call("grow", name="grown_modern")
    (message,) = wait_for(wire, TOOLS_CHANGED)
    assert message["params"]["_meta"][SUBSCRIPTION] == "tools"
    # The other subscription hears nothing of tools.
    told = [m for m in wire.quiet(0.2) if m.get("method") == TOOLS_CHANGED]
    assert all(m["params"]["_meta"][SUBSCRIPTION] == "tools" for m in told)
    assert "grown_modern" in {tool["name"] for tool in wire.result("tools/list")["tools"]}


@pytest.mark.eras("modern")
def test_e14_nothing_is_told_without_a_subscription(server: str, start: Start) -> None:
    wire = start(server, "modern")
    wire.call("grow", name="grown_unheard")
    assert wire.quiet(0.2) == []


@HOLDS_SUBSCRIPTIONS
@pytest.mark.eras("modern")
def test_subscription_cancelled_by_the_client(server: str, start: Start) -> None:
    """No answer, no further word, and the id is free again."""
    wire = start(server, "modern")
    listen(wire, "sub", toolsListChanged=True)
    wire.cancel("sub")
    wire.alive()
    wire.call("grow", name="grown_after")
    assert wire.quiet(0.2) == []
    listen(wire, "sub", toolsListChanged=True)


@HOLDS_SUBSCRIPTIONS
@pytest.mark.eras("modern")
def test_subscription_ends_gracefully_at_the_end_of_input(server: str, start: Start) -> None:
    """The server goes down on its own terms, so it says that the subscription is over."""
    wire = start(server, "modern")
    listen(wire, "sub", toolsListChanged=True)
    assert wire.finish() == 0
    result = wire.answer("sub")["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][SUBSCRIPTION] == "sub"


@HOLDS_SUBSCRIPTIONS
@pytest.mark.eras("modern")
def test_subscription_holds_up_nothing(wire: Wire) -> None:
    id = wire.new_id()
    listen(wire, id, toolsListChanged=True, resourceSubscriptions=["mem://greeting"])
    assert wire.call("echo", text="x")
    wire.cancel(id)


@pytest.mark.eras("modern")
@pytest.mark.parametrize(
    "params",
    [{}, {"notifications": None}, {"notifications": []}, {"notifications": {"toolsListChanged": "yes"}}],
)
@pytest.mark.servers("native", "node", "c", "cpp")
def test_malformed_subscription(wire: Wire, params: dict[str, Any]) -> None:
    assert wire.error("subscriptions/listen", params, valid=False)["code"] == -32602


@pytest.mark.servers("native", "node", "c", "cpp")
def test_legacy_resource_subscription(server: str, start: Start) -> None:
    """Subscribed peers hear of an update, and no longer once they unsubscribe."""
    wire = start(server)
    assert wire.result("resources/subscribe", {"uri": "mem://greeting"}) == {}
    wire.call("touch", uri="mem://greeting")
    (message,) = wait_for(wire, "notifications/resources/updated")
    assert message["params"]["uri"] == "mem://greeting"
    wire.call("touch", uri="mem://item/1")
    assert wire.result("resources/unsubscribe", {"uri": "mem://greeting"}) == {}
    wire.call("touch", uri="mem://greeting")
    assert wire.quiet(0.1) == []


@pytest.mark.servers("native", "node", "c", "cpp")
def test_modern_resource_subscription(server: str, start: Start) -> None:
    wire = start(server, "modern")
    agreed = listen(wire, 0, resourceSubscriptions=["mem://greeting"])
    assert agreed == {"resourceSubscriptions": ["mem://greeting"]}
    wire.call("touch", uri="mem://item/1")
    wire.call("touch", uri="mem://greeting")
    (message,) = wait_for(wire, "notifications/resources/updated")
    assert message["params"]["uri"] == "mem://greeting"
    assert message["params"]["_meta"][SUBSCRIPTION] == 0
    wire.cancel(0)
    wire.alive()
    wire.call("touch", uri="mem://greeting")
    assert wire.quiet(0.1) == []


@pytest.mark.servers("fastmcp")
@pytest.mark.eras("modern")
def test_a_server_without_subscriptions_says_so(wire: Wire) -> None:
    """In its capabilities, and to whoever asks all the same."""
    for kind in ("tools", "prompts", "resources"):
        assert not wire.opened["capabilities"][kind].get("listChanged")
    error = wire.error("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert error["code"] == -32601
