"""C19 over HTTP/2 with prior knowledge: no `Host`, but an authority; many requests on one connection."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from http_peer import Endpoint, Peer, encode
from process import DEADLINE, PATIENCE
from test_c_streams import wait_for_mark
from wire import text_of

connection = pytest.importorskip("h2.connection")
events = pytest.importorskip("h2.events")
pytestmark = pytest.mark.carriers("native")


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    over: bool = False


class Client:
    """One connection, and the answers that have come on it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.socket = socket.create_connection(endpoint.address, timeout=DEADLINE * PATIENCE)
        self.h2: Any = connection.H2Connection()
        self.h2.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def post(self, peer: Peer, message: Any, authority: str | None = None) -> int:
        stream: int = self.h2.get_next_available_stream_id()
        rows = [(":method", "POST"), (":scheme", "http"), (":path", self.endpoint.path)]
        rows.append((":authority", authority or self.endpoint.host))
        rows += [
            (key.lower(), str(value)) for key, value in peer.headers(message).items() if value is not None
        ]
        self.h2.send_headers(stream, rows)
        self.h2.send_data(stream, encode(message), end_stream=True)
        self.answers[stream] = Answer()
        self.flush()
        return stream

    def answer(self, stream: int) -> Answer:
        end = time.monotonic() + DEADLINE * PATIENCE
        while not self.answers[stream].over:
            assert time.monotonic() < end
            data = self.socket.recv(1 << 16)
            assert data, "the connection ended"
            for event in self.h2.receive_data(data):
                self.take(event)
            self.flush()
        return self.answers[stream]

    def take(self, event: Any) -> None:
        answer = self.answers.get(getattr(event, "stream_id", 0) or 0, Answer())
        if isinstance(event, events.ResponseReceived):
            rows = [(_text(name), _text(value)) for name, value in event.headers]
            answer.headers = dict(rows)
            answer.status = int(answer.headers[":status"])
        elif isinstance(event, events.DataReceived):
            answer.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, (events.StreamEnded, events.StreamReset)):
            answer.over = True


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


@pytest.fixture
def client(http_server: Endpoint) -> Iterator[Client]:
    client = Client(http_server)
    yield client
    client.socket.close()


def test_c19_authority_instead_of_host(http_server: Endpoint, client: Client, era: str) -> None:
    peer = http_server.peer(era)
    answer = client.answer(client.post(peer, peer.message("tools/list")))
    assert answer.status == 200
    # RFC 9113, 8.2.2: nothing in it is about the connection.
    assert not {"connection", "transfer-encoding", "keep-alive"} & set(answer.headers)


def test_c19_strange_authority(http_server: Endpoint, client: Client, era: str) -> None:
    peer = http_server.peer(era)
    answer = client.answer(client.post(peer, peer.message("tools/list"), "evil.example"))
    assert answer.status in (403, 421)


def test_http2_carries_many_requests_at_once(http_server: Endpoint, client: Client, era: str) -> None:
    peer = http_server.peer(era)
    slow = client.post(peer, peer.call_message("slow", ms=500))
    quick = [client.post(peer, peer.call_message("echo", text=str(n))) for n in range(50)]
    for number, stream in enumerate(quick):
        assert text_of(result_of(client.answer(stream))) == str(number)
    assert not client.answers[slow].over
    assert text_of(result_of(client.answer(slow))) == "done"


def test_http2_carries_what_is_larger_than_a_window(http_server: Endpoint, client: Client) -> None:
    peer = http_server.peer("modern")
    answer = client.answer(client.post(peer, peer.call_message("huge", n=3 << 20)))
    assert len(text_of(result_of(answer))) == 3 << 20


def test_b2_a_reset_stream_cancels(http_server: Endpoint, client: Client, tmp_path: Path) -> None:
    peer = http_server.peer("modern")
    path = tmp_path / "marks"
    stream = client.post(peer, peer.call_message("count", path=str(path), ms=30_000))
    wait_for_mark(path, ".")
    client.h2.reset_stream(stream, 8)
    client.flush()
    wait_for_mark(path, "C")
    assert text_of(result_of(client.answer(client.post(peer, peer.call_message("echo", text="x"))))) == "x"


def result_of(answer: Answer) -> Any:
    assert answer.status == 200
    text = answer.body.decode()
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = text.rpartition("data:")[2]
    return json.loads(text)["result"]
