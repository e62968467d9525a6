"""C2, C4, C5, C6: sessions of the legacy era (2025-11-25 `basic/transports`, "Session Management",
"Protocol Version Header"), and batches, which 2025-03-26 alone has.
"""

from __future__ import annotations

import itertools
import json
import threading

import pytest
from checker import LEGACY, Json
from conftest import Serve
from http_peer import JSON, STREAM, Endpoint, Peer, encode, refused
from http_wire import Response
from process import PATIENCE
from wire import text_of

NO_VERSION = {"MCP-Protocol-Version": None}


def test_c2_session_ids(http_server: Endpoint) -> None:
    """Visible ASCII, one for each session, and nothing that can be guessed from the one before."""
    ids = [http_server.peer().session or "" for _ in range(20)]
    assert len(set(ids)) == 20
    for id in ids:
        assert len(id) >= 16
        assert all(0x21 <= ord(letter) <= 0x7E for letter in id)
    varied = {at for one, other in itertools.pairwise(ids) for at in range(16) if one[at] != other[at]}
    assert len(varied) >= 8


def attempt(endpoint: Endpoint, method: str, session: str | None) -> Response:
    peer = Peer(endpoint)
    peer.session = session
    if method == "POST":
        return peer.post(peer.message("tools/list"))
    return peer.get() if method == "GET" else peer.delete()


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_c2_no_session_id(http_server: Endpoint, method: str) -> None:
    assert attempt(http_server, method, None).status == 400


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_c4_a_refused_request_makes_no_session(http_server: Endpoint, method: str) -> None:
    assert attempt(http_server, method, None).header("mcp-session-id") is None


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("session", ["unknown", "0" * 32, "a" * 4000])
def test_c2_unknown_session_id(http_server: Endpoint, method: str, session: str) -> None:
    assert attempt(http_server, method, session).status == 404


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_c2_a_session_that_was_ended(http_server: Endpoint, method: str) -> None:
    peer = http_server.peer()
    response = peer.delete()
    assert response.status in (200, 202, 204)
    assert attempt(http_server, method, peer.session).status == 404
    # And the server is there for a new one.
    assert http_server.peer().session != peer.session


def test_c2_ids_are_case_sensitive_and_whole(http_server: Endpoint) -> None:
    session = http_server.peer().session or ""
    for other in (session.swapcase(), session[:-1], session + "x"):
        if other != session:
            assert attempt(http_server, "POST", other).status == 404, other


def test_c2_two_session_ids_at_once(http_server: Endpoint) -> None:
    """One client speaks for one session, and a list of two names none."""
    one, other = http_server.peer(), http_server.peer()
    response = one.post(one.message("tools/list"), {"Mcp-Session-Id": f"{one.session}, {other.session}"})
    assert response.status in (400, 404)


def test_c2_deleting_ends_the_streams_of_a_session(http_server: Endpoint) -> None:
    peer = http_server.peer()
    stream = peer.get()
    assert stream.status == 200
    peer.delete()
    list(stream.events())
    assert stream.done


def test_c2_deleting_ends_one_session(http_server: Endpoint) -> None:
    one, other = http_server.peer(), http_server.peer()
    one.delete()
    other.alive()


@pytest.mark.parametrize(
    "params",
    [{}, {"protocolVersion": 5, "capabilities": {}}, {"protocolVersion": LEGACY, "capabilities": []}, None],
)
def test_c4_a_refused_initialize_makes_no_session(http_server: Endpoint, params: Json) -> None:
    peer = Peer(http_server)
    message = peer.initialize_message()
    if params is None:
        del message["params"]
    else:
        message["params"] = params
    response = peer.post(message)
    assert b'"error"' in response.body()
    assert response.header("mcp-session-id") is None


def test_c4_sessions_leave_no_memory_behind(serve: Serve) -> None:
    """Ended ones, and requests that never got one."""
    endpoint = serve()

    def rounds(number: int) -> None:
        for _ in range(number):
            peer = endpoint.peer()
            peer.delete().body()
        for _ in range(number // 3):
            with endpoint.connect() as connection:
                peer = Peer(endpoint)
                rows = {**peer.headers(), "Accept": STREAM}
                assert endpoint.send("GET", rows, on=connection).status == 400

    rounds(300)
    # A heap grows until it has found its size, and a leak goes on.
    for _ in range(4):
        before = endpoint.process.resident_mb()
        rounds(1000)
        growth = endpoint.process.resident_mb() - before
        if growth < 2:
            break
    assert growth < 2


@pytest.mark.carriers("native", "asgi", "handler")
def test_c4_sessions_that_nobody_uses_end(serve: Serve) -> None:
    endpoint = serve(sessionIdleMs=300)
    peer = endpoint.peer()
    peer.alive()
    threading.Event().wait(0.8 * PATIENCE)
    assert peer.post(peer.message("ping")).status == 404


@pytest.mark.carriers("native", "asgi", "handler")
def test_c4_there_is_a_bound(serve: Serve) -> None:
    endpoint = serve(maxSessions=3)
    peers = [endpoint.peer() for _ in range(3)]
    fourth = Peer(endpoint)
    response = fourth.post(fourth.initialize_message())
    assert response.status in (429, 503)
    for peer in peers:
        peer.alive()
    peers[0].delete().body()
    endpoint.peer().alive()


def test_c5_two_sessions_with_the_same_ids(http_server: Endpoint) -> None:
    peers = [http_server.peer(), http_server.peer()]
    wrong: list[object] = []

    def run(number: int) -> None:
        try:
            with http_server.connect() as connection:
                for id in range(1000, 1200):
                    message = peers[number].message(
                        "tools/call", {"name": "echo", "arguments": {"text": f"{number}:{id}"}}, id=id
                    )
                    answer = peers[number].last(peers[number].post(message, on=connection))
                    assert text_of(answer["result"]) == f"{number}:{id}"
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_c6_a_session_of_another_process(serve: Serve) -> None:
    peer = serve().peer()
    assert attempt(serve(), "POST", peer.session).status == 404


def test_c6_modern_requests_need_no_process_of_their_own(serve: Serve) -> None:
    one = serve().peer("modern")
    one.endpoint = serve()
    assert text_of(one.call("echo", text="x")) == "x"


@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", "garbage", "2025-11-25 x", ""])
def test_version_header_that_is_invalid(http_server: Endpoint, version: str) -> None:
    """MUST be answered with 400, and the session goes on."""
    peer = http_server.peer()
    assert peer.post(peer.message("tools/list"), {"MCP-Protocol-Version": version}).status == 400
    peer.alive()


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_version_header_that_is_absent(http_server: Endpoint, revision: str) -> None:
    """The session says what was negotiated."""
    peer = http_server.peer(revision=revision)
    assert peer.opened["protocolVersion"] == revision
    response = peer.post(peer.message("ping"), NO_VERSION)
    assert response.status == 200
    assert peer.last(response)["result"] == {}


def test_version_header_of_the_other_era(http_server: Endpoint) -> None:
    """A request that says it is modern and has nothing of what makes it so."""
    peer = http_server.peer()
    assert peer.post(peer.message("tools/list"), {"MCP-Protocol-Version": "2026-07-28"}).status == 400
    peer.alive()


def test_initialize_of_an_unknown_version_is_answered_with_a_known_one(http_server: Endpoint) -> None:
    peer = Peer(http_server)
    response = peer.post(peer.initialize_message("2099-01-01"))
    assert response.status == 200
    assert peer.last(response)["result"]["protocolVersion"].startswith("202")


def test_a_session_is_not_opened_twice(http_server: Endpoint) -> None:
    """A second `initialize` without an id opens another one, and the first goes on."""
    peer = http_server.peer()
    other = http_server.peer()
    assert other.session != peer.session
    peer.alive()


@pytest.mark.carriers("native", "asgi", "handler")
def test_b17_without_sessions_nobody_can_be_asked(serve: Serve) -> None:
    """No back channel: an error at once, and not a wait."""
    endpoint = serve(sessions=False)
    peer = Peer(endpoint, capabilities={"elicitation": {}})
    opening = peer.post(peer.initialize_message())
    assert opening.status == 200
    assert opening.header("mcp-session-id") is None
    peer.last(opening)
    response = peer.post(peer.call_message("ask_name"), timeout=1)
    answer = peer.last(response, timeout=1)
    assert "error" in answer or answer["result"]["isError"]
    assert text_of(peer.call("echo", text="x")) == "x"


@pytest.mark.carriers("native", "asgi", "handler")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_c20_without_sessions_there_is_only_post(serve: Serve, method: str) -> None:
    endpoint = serve(sessions=False)
    response = endpoint.send(
        method, {"Accept": STREAM, "Mcp-Session-Id": "x", "MCP-Protocol-Version": LEGACY}
    )
    assert response.status == 405
    assert "post" in response.tokens("allow")


# Batches.


def batch(peer: Peer, messages: Json) -> Response:
    return peer.endpoint.send("POST", {**peer.headers({}), "Content-Type": JSON}, encode(messages))


def answers(peer: Peer, response: Response) -> list[Json]:
    """One answer for each request, batched or one by one."""
    texts = (
        [event.data for event in response.events() if event.data]
        if response.content_type == STREAM
        else [response.body().decode()]
    )
    found = []
    for text in texts:
        said = json.loads(text)
        for message in said if isinstance(said, list) else [said]:
            found.append(peer.checker.received(encode(message)))
    return found


def test_a16_batches_of_2025_03_26(http_server: Endpoint) -> None:
    peer = http_server.peer(revision="2025-03-26")
    messages = [
        peer.message("ping"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        peer.call_message("echo", text="x"),
    ]
    response = batch(peer, messages)
    assert response.status == 200
    found = {answer["id"]: answer["result"] for answer in answers(peer, response)}
    assert found[messages[0]["id"]] == {}
    assert text_of(found[messages[2]["id"]]) == "x"
    assert len(found) == 2


def test_a16_a_batch_of_notifications_has_no_answer(http_server: Endpoint) -> None:
    peer = http_server.peer(revision="2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
    response = batch(peer, [note, note])
    assert (response.status, response.body()) == (202, b"")


def test_a16_an_empty_batch_is_an_invalid_request(http_server: Endpoint) -> None:
    """JSON-RPC 2.0, 6: one error, not a list of them."""
    peer = http_server.peer(revision="2025-03-26")
    refused(batch(peer, []), 400, -32600)


def test_a16_initialize_is_no_part_of_a_batch(http_server: Endpoint) -> None:
    """2025-03-26 `basic/lifecycle`: MUST NOT: nobody could know yet whether the other side takes batches."""
    peer = Peer(http_server, revision="2025-03-26")
    response = batch(peer, [peer.initialize_message()])
    assert response.header("mcp-session-id") is None
    assert b'"result"' not in response.body()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a16_later_sessions_have_no_batches(http_server: Endpoint, revision: str) -> None:
    peer = http_server.peer(revision=revision)
    refused(batch(peer, [peer.message("ping"), peer.message("ping")]), 400, -32600)
    peer.alive()
