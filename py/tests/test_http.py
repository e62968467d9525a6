"""Servers over HTTP: by the listener of our own, under uvicorn, and mounted in a Starlette application."""

from __future__ import annotations

import json

import pytest

from conftest import Serve
from httppeer import HttpPeer, reached
from httpservers import CARRIERS, carried
from support import Message, Peer

Carrier = tuple[Peer, HttpPeer]


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest, run_file: Serve) -> Carrier:
    """A process, and a client of its endpoint."""
    process = run_file(carried(request.param))
    return process, reached(process)


def answered(question: Message, name: str) -> Message:
    """A client's answer to a question by form."""
    return {
        "jsonrpc": "2.0",
        "id": question["id"],
        "result": {"action": "accept", "content": {"name": name}},
    }


@pytest.mark.parametrize("tool", ["add", "aadd"])
def test_modern_calls(carrier: Carrier, tool: str) -> None:
    """2026-07-28 `basic/transports/streamable-http`, "Sending Messages"."""
    _, peer = carrier
    answer = peer.call(tool, {"a": 1, "b": 2})
    assert (answer.status, answer.kind, answer.header("Mcp-Session-Id")) == (200, "application/json", None)
    assert answer.text() == "3"


@pytest.mark.parametrize("tool", ["add", "aadd"])
def test_legacy_sessions(carrier: Carrier, tool: str) -> None:
    """2025-11-25 `basic/transports`, "Session Management"."""
    _, peer = carrier
    session = peer.session()
    assert session.call(tool, {"a": 1, "b": 2}).text() == "3"
    assert session.delete().status == 204
    assert session.call(tool, {"a": 1, "b": 2}).status == 404


def test_every_client_is_itself(carrier: Carrier) -> None:
    """Sessions and modern requests in one process know their own client."""
    _, peer = carrier
    one, two = peer.session("one"), peer.session("two")
    assert one.call("who").text() == "2025-11-25 one None"
    assert two.call("who").text() == "2025-11-25 two None"
    assert peer.call("who").text() == "2026-07-28 tests None"
    assert one.call("who").text() == "2025-11-25 one None"


@pytest.mark.parametrize("tool", ["steps", "asteps"])
def test_progress_comes_before_the_answer(carrier: Carrier, tool: str) -> None:
    _, peer = carrier
    for answer in (peer.call(tool, progressToken="p"), peer.session().call(tool, progressToken="p")):
        assert (answer.status, answer.kind) == (200, "text/event-stream")
        progress, result = answer.messages()
        assert progress["params"]["progressToken"] == "p"
        assert result["result"]["content"][0]["text"] == "done"


def test_a_call_may_cut_its_client_off(carrier: Carrier) -> None:
    """2025-11-25 `basic/transports`, "Sending Messages to the Server": the client comes back for the rest."""
    _, peer = carrier
    assert peer.call("cut").text() == "closed False"
    session = peer.session()
    begun = session.call("cut").body()
    assert b"result" not in begun
    (last,) = [line.removeprefix(b"id: ") for line in begun.splitlines() if line.startswith(b"id: ")]
    headers = {**session.headers, "Accept": "text/event-stream", "Last-Event-ID": last.decode()}
    assert peer.send("GET", headers=headers).text() == "closed True"


@pytest.mark.parametrize("tool", ["ask", "aask"])
def test_a_legacy_client_is_asked_on_the_stream_of_its_call(carrier: Carrier, tool: str) -> None:
    """2025-11-25 `basic/transports`, "Sending Messages to the Server", 6: requests that relate to it."""
    _, peer = carrier
    sessions = [peer.session(capabilities={"elicitation": {}}) for _ in range(2)]
    streams = [session.call(tool).messages() for session in sessions]
    questions = [next(stream) for stream in streams]
    assert [question["method"] for question in questions] == ["elicitation/create"] * 2
    for session, question, name in zip(sessions, questions, ("Ada", "Bob"), strict=True):
        assert session.post(answered(question, name)).status == 202
    texts = [next(stream)["result"]["content"][0]["text"] for stream in streams]
    assert texts == ["Ada", "Bob"]


@pytest.mark.parametrize("tool", ["ask", "aask"])
def test_a_modern_client_is_asked_in_rounds(carrier: Carrier, tool: str) -> None:
    _, peer = carrier
    able = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    round_ = peer.call(tool, **able).result()
    assert round_["resultType"] == "input_required"
    ((key, question),) = round_["inputRequests"].items()
    assert question["method"] == "elicitation/create"
    params = {
        "name": tool,
        "arguments": {},
        "inputResponses": {key: {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": round_["requestState"],
    }
    assert peer.modern("tools/call", params, **able).text() == "Ada"


def test_changes_come_to_those_who_listen(carrier: Carrier) -> None:
    """Modern clients by `subscriptions/listen`, legacy ones on the GET stream of their session."""
    _, peer = carrier
    wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["note://one"]}}
    modern = peer.modern("subscriptions/listen", wanted)
    modern_messages = modern.messages()
    assert next(modern_messages)["method"] == "notifications/subscriptions/acknowledged"
    session = peer.session()
    legacy = session.listen()
    legacy_messages = legacy.messages()
    assert peer.call("learn").text() == "learnt"
    assert next(modern_messages)["method"] == "notifications/tools/list_changed"
    assert next(legacy_messages)["method"] == "notifications/tools/list_changed"
    assert session.request("resources/subscribe", {"uri": "note://one"}).status == 200
    assert peer.call("change").text() == "changed"
    assert next(modern_messages)["params"]["uri"] == "note://one"
    assert next(legacy_messages)["params"]["uri"] == "note://one"
    modern.leave()
    legacy.leave()


def test_a_modern_client_that_leaves_cancels(carrier: Carrier) -> None:
    """2026-07-28 `basic/transports/streamable-http`, "Cancellation": the stream is closed."""
    process, peer = carrier
    connection = peer.begin("wait", {"seconds": 600})
    process.hears(b"begun")
    connection.close()
    process.hears(b"cancelled")


def test_a_legacy_client_that_leaves_does_not_cancel(carrier: Carrier) -> None:
    """2025-11-25 `basic/transports`, "Sending Messages to the Server": disconnection is no cancellation."""
    process, peer = carrier
    session = peer.session()
    connection = peer.begin("wait", {"seconds": 0.5}, session)
    process.hears(b"begun")
    connection.close()
    process.hears(b"waited")
    assert b"cancelled" not in process.stderr


def test_large_answers_and_bodies(carrier: Carrier) -> None:
    _, peer = carrier
    size = 3 << 20
    assert len(peer.call("large", {"size": size}).text()) == size
    assert peer.call("add", {"a": 1, "b": 2, "padding": "x" * size}).status == 200


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("carried_by", CARRIERS)
def test_a_body_that_is_too_large_is_refused(run_file: Serve, carried_by: str, chunked: bool) -> None:
    """413, be its length announced or not."""
    peer = reached(run_file(carried(carried_by, options="max_body_bytes=1000")))
    # Few enough bytes for the connection to take them all, whether they are read or not.
    body = iter([b" " * 600] * 2) if chunked else b" " * 1001
    answer = peer.send("POST", body, {"Content-Type": "application/json"})
    assert answer.status == 413


def test_other_hosts_and_origins_are_refused(carrier: Carrier) -> None:
    """`basic/transports`, "Security Warning": MUST validate Origin."""
    _, peer = carrier
    assert peer.modern("ping", headers={"Host": "evil.example"}).status == 403
    assert peer.modern("tools/list", headers={"Origin": "http://evil.example"}).status == 403
    assert peer.modern("tools/list", headers={"Origin": "http://localhost:3000"}).status == 200
    assert peer.modern("tools/list", headers={"Host": "localhost"}).status == 200


def test_slashes_lead_to_no_redirect(carrier: Carrier) -> None:
    _, peer = carrier
    message = peer.request(
        "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    )
    for path in (peer.path, peer.path + "/"):
        assert peer.post(message, path=path).status == 200


def test_calls_at_once(carrier: Carrier) -> None:
    """A hundred requests are in flight, and none waits for another."""
    _, peer = carrier
    slow = [peer.begin("wait", {"seconds": 1}) for _ in range(50)]
    quick = [peer.begin("add" if at % 2 else "aadd", {"a": at, "b": 1}) for at in range(50)]
    for at, connection in enumerate(quick):
        text = json.loads(connection.getresponse().read())["result"]["content"][0]["text"]
        assert text == str(at + 1)
    for connection in slow:
        assert json.loads(connection.getresponse().read())["result"]["content"][0]["text"] == "waited"
