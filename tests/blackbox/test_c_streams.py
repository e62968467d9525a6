"""C13, C24, B17, B20: streams of the legacy era (2025-11-25 `basic/transports`, "Listening for Messages
from the Server", "Resumability and Redelivery"), and what holds for the streams of both eras.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path

import pytest
from checker import Json, Message
from conftest import Serve
from http_peer import STREAM, Endpoint, Peer
from http_wire import Response
from process import PATIENCE
from wire import text_of

TOOLS_CHANGED = "notifications/tools/list_changed"
ELICITATION: dict[str, Json] = {"elicitation": {}}

# A FastMCP tells no session that a tool is new.
TELLS = pytest.mark.carriers(
    "native", "asgi", "handler", "http-mcpserver", "http-mcpserver-asgi", "stock-http-mcpserver"
)


def streaming(peer: Peer, tool: str = "progress", **arguments: Json) -> Response:
    """A call that makes the server open a stream, because it tells something before its answer."""
    params = {"name": tool, "arguments": arguments}
    response = peer.post(peer.message("tools/call", params, meta={"progressToken": "p"}))
    assert response.status == 200
    assert response.content_type == STREAM
    return response


def primed(response: Response) -> str:
    """The id that a stream begins with."""
    event = response.event()
    assert event.id, f"no event to come back for: {event}"
    assert event.data == ""
    return event.id


def test_c13_streams_are_not_to_be_buffered(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    response = streaming(peer, n=2)
    assert response.header("x-accel-buffering") == "no"
    messages = peer.messages(response)
    assert [m["params"]["progress"] for m in messages[:-1]] == [1, 2]
    assert text_of(messages[-1]["result"]) == "ok"


def test_c13_messages_are_sent_when_they_are_there(http_server: Endpoint, era: str) -> None:
    peer = http_server.peer(era)
    began = time.monotonic()
    response = streaming(peer, n=1, ms=500)
    peer.next(response)
    assert time.monotonic() - began < 0.45 * PATIENCE
    peer.messages(response)


@pytest.mark.carriers("native", "asgi", "handler")
def test_c13_a_silent_call_is_kept_alive(serve: Serve, era: str) -> None:
    """By comments, which end with the answer."""
    peer = serve(keepAliveMs=100).peer(era)
    response = peer.post(peer.call_message("slow", ms=1000))
    assert response.content_type == STREAM
    assert text_of(peer.last(response)["result"]) == "done"
    assert 3 <= response.comments <= 12
    assert response.done


@pytest.mark.carriers("native", "asgi", "handler")
def test_c13_a_silent_stream_is_kept_alive(serve: Serve) -> None:
    peer = serve(keepAliveMs=100).peer()
    response = peer.get()
    assert [event for event in response.quiet(1) if event.data] == []
    assert 3 <= response.comments <= 12


def test_get_stream(http_server: Endpoint) -> None:
    peer = http_server.peer()
    response = peer.get()
    assert response.status == 200
    assert response.content_type == STREAM
    assert response.header("x-accel-buffering") == "no"


@TELLS
def test_get_stream_carries_what_belongs_to_no_request(http_server: Endpoint) -> None:
    """And on one stream only, however many there are."""
    peer = http_server.peer()
    stream = peer.get()
    call = peer.post(peer.call_message("grow", name="grown_by_get"))
    answer = peer.messages(call)
    heard = [message for message in answer if message.get("method") == TOOLS_CHANGED]
    heard += [message for event in stream.quiet(0.5) if (message := peer.check(event))]
    assert [message["method"] for message in heard] == [TOOLS_CHANGED]
    assert len(answer) == 1, "it belongs to no request, and came on the stream of one"


@TELLS
def test_two_get_streams_get_each_message_once(http_server: Endpoint) -> None:
    """ "The client MAY remain connected to multiple SSE streams simultaneously"."""
    peer = http_server.peer()
    streams = [peer.get(), peer.get()]
    assert [stream.status for stream in streams] == [200, 200]
    peer.call("grow", name="grown_by_two")
    # What has come to one in that time has come to the other.
    events = [*streams[0].quiet(0.4), *streams[1].quiet(0.05)]
    heard = [message for event in events if (message := peer.check(event))]
    assert [message["method"] for message in heard] == [TOOLS_CHANGED]


def test_get_stream_never_carries_answers(http_server: Endpoint) -> None:
    peer = http_server.peer()
    stream = peer.get()
    for _ in range(3):
        peer.call("echo", text="x")
    assert all(not event.data for event in stream.quiet(0.3))


def test_get_stream_that_is_closed_can_be_opened_again(http_server: Endpoint) -> None:
    peer = http_server.peer()
    for _ in range(5):
        stream = peer.get()
        assert stream.status == 200
        stream.connection.close()
        time.sleep(0.05)
    peer.alive()


def test_stream_of_a_call_begins_with_an_id(http_server: Endpoint) -> None:
    """ "An event ID and an empty data field", at once and before anything else."""
    peer = http_server.peer()
    assert primed(streaming(peer, n=1)) != primed(streaming(peer, n=1))


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_stream_of_older_clients_holds_no_empty_event(http_server: Endpoint, revision: str) -> None:
    """They read every event as a message: the rule is new in 2025-11-25, and older clients failed over it."""
    peer = http_server.peer(revision=revision)
    assert all(event.data != "" for event in streaming(peer, n=1).events())


def test_event_ids_are_unique_in_a_session(http_server: Endpoint) -> None:
    peer = http_server.peer()
    streams = [streaming(peer, n=20, ms=5) for _ in range(4)]
    ids = [event.id for stream in streams for event in stream.events()]
    assert len(ids) == 4 * 22
    assert None not in ids
    assert len(set(ids)) == len(ids)


def resumed(peer: Peer, event: str) -> list[Message]:
    """What comes after an event of a call's stream, to its answer."""
    response = peer.resume(event)
    assert response.status == 200
    messages = [peer.next(response)]
    while "method" in messages[-1]:
        messages.append(peer.next(response))
    return messages


def steps(messages: list[Message]) -> list[int]:
    return [message["params"]["progress"] for message in messages if "method" in message]


def test_resume_a_call(http_server: Endpoint) -> None:
    """What came after the last event, once each, and the answer."""
    peer = http_server.peer()
    response = streaming(peer, n=10, ms=50)
    last = primed(response)
    for _ in range(3):
        last = response.event().id or last
    response.connection.abort()
    messages = resumed(peer, last)
    assert steps(messages) == list(range(4, 11))
    assert text_of(messages[-1]["result"]) == "ok"


def test_resume_a_call_again_and_again(http_server: Endpoint) -> None:
    """The connection breaks each time after one event."""
    peer = http_server.peer()
    response = streaming(peer, n=5, ms=40)
    last = primed(response)
    found: list[Message] = []
    while len(found) < 6:
        event = response.event()
        if event.data:
            assert event.id
            last = event.id
            found.append(peer.checker.received(event.data.encode()))
            response.connection.abort()
            if len(found) < 6:
                response = peer.resume(last)
    assert steps(found) == [1, 2, 3, 4, 5]


def test_resume_a_call_that_has_ended_meanwhile(http_server: Endpoint) -> None:
    peer = http_server.peer()
    response = streaming(peer, n=2, ms=50)
    last = primed(response)
    response.connection.abort()
    time.sleep(0.4)
    messages = resumed(peer, last)
    assert steps(messages) == [1, 2]
    assert text_of(messages[-1]["result"]) == "ok"


def test_resumed_streams_end_with_the_answer(http_server: Endpoint) -> None:
    peer = http_server.peer()
    response = streaming(peer, n=2, ms=50)
    last = primed(response)
    response.connection.abort()
    again = peer.resume(last)
    list(again.events(3))
    assert again.done


def test_resume_at_every_event(http_server: Endpoint) -> None:
    peer = http_server.peer()
    events = list(streaming(peer, n=3).events())
    for at, event in enumerate(events[:-1]):
        assert event.id
        peer.checker.answered.clear()
        later = [json.loads(later.data or "null") for later in events[at + 1 :]]
        assert resumed(peer, event.id) == later, at


def told(peer: Peer, stream: Response, name: str) -> str:
    """Has something told on a GET stream; gives the event's id."""
    peer.call("grow", name=name)
    while not (event := stream.event()).data:
        pass
    assert peer.check(event)
    assert event.id, "no id to come back for"
    return event.id


@TELLS
def test_resume_a_get_stream(http_server: Endpoint) -> None:
    peer = http_server.peer()
    stream = peer.get()
    last = told(peer, stream, "grown_before")
    stream.connection.abort()
    time.sleep(0.1)
    peer.call("grow", name="grown_while_away")
    again = peer.resume(last)
    assert again.status == 200
    assert peer.next(again)["method"] == TOOLS_CHANGED
    assert [event for event in again.quiet(0.2) if event.data] == []


@TELLS
def test_resume_brings_nothing_of_another_stream(http_server: Endpoint) -> None:
    peer = http_server.peer()
    get = peer.get()
    of_get = told(peer, get, "grown_on_get")
    get.connection.abort()
    first = streaming(peer, n=5, ms=60)
    of_first = primed(first)
    first.connection.abort()
    peer.messages(streaming(peer, n=2))
    assert [event for event in peer.resume(of_get).quiet(0.3) if event.data] == []
    assert steps(resumed(peer, of_first)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("event", ["unknown", "999999", "0", "\u00e4", "x" * 2000])
def test_resume_at_an_unknown_event_is_refused(http_server: Endpoint, event: str) -> None:
    """And not with 404, which would say that the session is over."""
    peer = http_server.peer()
    response = peer.resume(event)
    assert 400 <= response.status < 500
    assert response.status != 404
    peer.alive()


def test_resume_at_an_event_of_another_session(http_server: Endpoint) -> None:
    one, other = http_server.peer(), http_server.peer()
    stream = streaming(one, n=3)
    last = primed(stream)
    secret = [event.data for event in stream.events()]
    response = other.resume(last)
    said = response.quiet(0.3) if response.content_type == STREAM else []
    assert not {event.data for event in said} & set(secret)


@pytest.mark.carriers("native", "asgi", "handler", "stock")
def test_polling(http_server: Endpoint) -> None:
    """The server ends the connection and not the stream: it says how long to wait, and the answer waits."""
    peer = http_server.peer()
    response = peer.post(peer.call_message("poll", ms=300))
    assert response.content_type == STREAM
    events = list(response.events())
    assert all(not event.data for event in events)
    assert any(event.retry is not None for event in events), "no retry before the connection ended"
    last = [event.id for event in events if event.id][-1]
    (answer,) = resumed(peer, last)
    assert text_of(answer["result"]) == "polled"


def marks(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def wait_for_mark(path: Path, mark: str) -> None:
    end = time.monotonic() + 5 * PATIENCE
    while mark not in marks(path):
        assert time.monotonic() < end, f"no {mark!r} came"
        time.sleep(0.01)


def test_b2_disconnection_cancels_no_legacy_request(http_server: Endpoint, tmp_path: Path) -> None:
    peer = http_server.peer()
    path = tmp_path / "marks"
    with http_server.connect() as connection:
        connection.send(peer.frame(peer.call_message("count", path=str(path), ms=600)))
        wait_for_mark(path, ".")
    before = len(marks(path))
    time.sleep(0.3)
    assert "C" not in marks(path)
    assert len(marks(path)) > before + 5


def test_b2_a_legacy_request_is_cancelled_by_a_notification(http_server: Endpoint, tmp_path: Path) -> None:
    peer = http_server.peer()
    path = tmp_path / "marks"
    message = peer.call_message("count", path=str(path), ms=20_000)
    with http_server.connect() as connection:
        connection.send(peer.frame(message))
        wait_for_mark(path, ".")
        peer.notify("notifications/cancelled", {"requestId": message["id"]})
        wait_for_mark(path, "C")
        # Its stream doesn't hang for ever, and what it says is no result.
        response = connection.response()
        assert b'"result"' not in response.body()
    peer.alive()


def test_b17_a_question_comes_on_the_stream_of_its_call(http_server: Endpoint) -> None:
    peer = http_server.peer(capabilities=ELICITATION)
    get = peer.get()
    calls = [peer.post(peer.call_message("ask_name")) for _ in range(2)]
    questions = [peer.next(call) for call in calls]
    assert [question["method"] for question in questions] == ["elicitation/create"] * 2
    assert questions[0]["id"] != questions[1]["id"]
    assert all(not event.data for event in get.quiet(0.2))
    # Answered in the other order, and the server stays awake meanwhile.
    peer.alive()
    for question, name in zip(reversed(questions), ("Ada", "Bob"), strict=True):
        peer.answer(question["id"], {"action": "accept", "content": {"value": name}})
    texts = [text_of(peer.last(call)["result"]) for call in calls]
    assert ["Bob" in texts[0], "Ada" in texts[1]] == [True, True], texts


def test_b17_an_answer_counts_in_its_own_session_only(http_server: Endpoint) -> None:
    peer, stranger = http_server.peer(capabilities=ELICITATION), http_server.peer(capabilities=ELICITATION)
    call = peer.post(peer.call_message("ask_name"))
    question = peer.next(call)
    answer = {"action": "accept", "content": {"value": "Eve"}}
    stranger.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}).body()
    assert call.quiet(0.2) == []
    peer.answer(question["id"], {"action": "accept", "content": {"value": "Ada"}})
    assert "Ada" in text_of(peer.last(call)["result"])


def test_b20_a_reader_that_is_stuck_blocks_nobody(http_server: Endpoint, era: str) -> None:
    peer, other = http_server.peer(era), http_server.peer(era)
    stuck = http_server.connect(receive_buffer=4096)
    text = 8 << 20
    message = peer.call_message("huge", n=text)
    checker = peer.checker
    stuck.send(peer.frame(message))
    time.sleep(0.3)
    for user in (peer, other):
        began = time.monotonic()
        assert text_of(user.call("echo", text="x")) == "x"
        assert time.monotonic() - began < 1 * PATIENCE
    peer.checker = checker
    assert len(text_of(peer.last(stuck.response())["result"])) == text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_c24_open_streams_hold_up_no_end(serve: Serve, number: signal.Signals) -> None:
    endpoint = serve()
    peer = endpoint.peer()
    stream = peer.get()
    with endpoint.connect() as idle:
        began = time.monotonic()
        endpoint.process.signal(number)
        endpoint.process.wait(5)
        assert time.monotonic() - began < 3 * PATIENCE
        assert idle.hung_up(1)
    assert stream.connection.hung_up(1)


@pytest.mark.carriers("native", "stock")
def test_c24_a_call_that_runs_is_answered_before_the_end(serve: Serve, era: str) -> None:
    endpoint = serve()
    peer = endpoint.peer(era)
    with endpoint.connect() as connection:
        connection.send(peer.frame(peer.call_message("slow", ms=400)))
        threading.Event().wait(0.15)
        endpoint.process.signal(signal.SIGTERM)
        assert text_of(peer.last(connection.response())["result"]) == "done"
    endpoint.process.wait(5)
