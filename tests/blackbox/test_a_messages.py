"""Cases A15 to A18: what a line says, once it is a line."""

from __future__ import annotations

import json

import pytest
from conftest import Start
from wire import Wire, text_of


def test_a15_parse_error_then_bad_request_then_ping(wire: Wire) -> None:
    wire.raw('{"jsonrpc":"2.0","id":1,')
    wire.raw('{"jsonrpc":"2.0","id":"bad","method":42}')
    response = wire.answer("bad")
    assert response["error"]["code"] == -32600
    wire.alive()
    assert parse_errors(wire) == 1


@pytest.mark.parametrize(
    "line", ["{", "}", "{]", '{"a":}', "tru", "'x'", '{"jsonrpc":"2.0",}', '{"id":01}', "\x00", "NaN"]
)
def test_a15_no_json(wire: Wire, line: str) -> None:
    wire.raw(line)
    wire.alive()
    assert parse_errors(wire) == 1


def parse_errors(wire: Wire) -> int:
    """How many parse errors the inbox holds, and nothing else. No id could be read, so none is given."""
    messages = wire.quiet(0)
    assert all(message["error"]["code"] == -32700 and "id" not in message for message in messages), messages
    return len(messages)


BATCH = '[{"jsonrpc":"2.0","id":"in-batch","method":"ping"}]'


@pytest.mark.parametrize("line", [BATCH, "[]", "5", '"x"', "null", "true", "{}", "1.5", "[[]]"])
def test_a16_json_that_is_no_message(wire: Wire, line: str) -> None:
    wire.raw(line)
    wire.alive()
    codes = [message["error"]["code"] for message in wire.quiet(0)]
    assert codes == [-32600]


@pytest.mark.parametrize(
    "members",
    [
        '"id":"v","method":"ping"',
        '"jsonrpc":"1.0","id":"v","method":"ping"',
        '"jsonrpc":2.0,"id":"v","method":"ping"',
        '"jsonrpc":null,"id":"v","method":"ping"',
        '"jsonrpc":"2.0","id":"v","method":null',
        '"jsonrpc":"2.0","id":"v","method":["ping"]',
        '"jsonrpc":"2.0","id":"v","method":"ping","params":[1]',
        '"jsonrpc":"2.0","id":"v","method":"ping","params":"x"',
    ],
)
def test_a16_wrong_envelope(wire: Wire, members: str) -> None:
    wire.raw("{" + members + "}")
    response = wire.answer("v")
    assert response["error"]["code"] in ((-32600, -32602) if "params" in members else (-32600,))
    wire.alive()


@pytest.mark.parametrize(
    "key", ['"id":"twin","id":"twin"', '"id":"twin","method":"ping"', '"id":"twin","params":{},"params":{}']
)
def test_a16_repeated_envelope_keys_are_refused(wire: Wire, key: str) -> None:
    """Two parsers would read such a message as two different ones."""
    wire.raw('{"jsonrpc":"2.0","method":"ping",' + key + "}")
    wire.alive()
    codes = [message["error"]["code"] for message in wire.quiet(0)]
    assert codes in ([-32600], [-32700])


@pytest.mark.engine
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
def test_a16_batches_exist_in_one_revision_only(server: str, start: Start, revision: str) -> None:
    wire = start(server, revision=revision)
    wire.raw(BATCH)
    assert wire.next()["error"]["code"] == -32600
    wire.alive()


def test_a16_batch_where_it_was_negotiated(server: str, start: Start) -> None:
    wire = start(server, revision="2025-03-26")
    echo = {"name": "echo", "arguments": {"text": "in a batch"}}
    batch = [
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": echo},
        {"jsonrpc": "2.0", "id": "c", "method": "nothing/such"},
        5,
    ]
    wire.process.write(json.dumps(batch).encode() + b"\n")
    # JSON-RPC 2.0, section 6: one array of responses, in any order, none for the notification.
    responses = json.loads(wire.process.line())
    assert isinstance(responses, list)
    by_id = {response.get("id"): response for response in responses}
    assert set(by_id) == {"a", "b", "c", None}
    assert by_id["a"]["result"] == {}
    assert text_of(by_id["b"]["result"]) == "in a batch"
    assert by_id["c"]["error"]["code"] == -32601
    assert by_id[None]["error"]["code"] == -32600
    # A batch of notifications is answered by nothing, an empty one is an invalid request.
    wire.process.write(json.dumps([batch[1]]).encode() + b"\n[]\n")
    empty = json.loads(wire.process.line())
    assert empty["error"]["code"] == -32600
    wire.alive()


def test_a17_null_params(wire: Wire) -> None:
    """Not legal, but common: answered one way or the other."""
    wire.raw('{"jsonrpc":"2.0","id":"null","method":"tools/list","params":null}')
    response = wire.answer("null")
    if wire.modern:
        assert response["error"]["code"] == -32602
    else:
        assert "result" in response or response["error"]["code"] in (-32600, -32602)


@pytest.mark.engine
@pytest.mark.eras("legacy")
def test_a17_meta_on_ping_and_initialized_without_params(server: str, era: str, start: Start) -> None:
    wire = start(server, era, open=False)
    wire.initialize()
    wire.raw('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert wire.result("ping", {"_meta": {"example.org/trace": "1"}}) == {}
    assert wire.result("ping", {}) == {}
    assert wire.quiet(0.05) == []


@pytest.mark.engine
def test_a18_ping_before_and_after_initialize(server: str, start: Start) -> None:
    wire = start(server, "legacy", open=False)
    assert wire.result("ping") == {}
    wire.open()
    assert wire.result("ping") == {}


@pytest.mark.engine
def test_a18_ping_left_the_modern_revision(server: str, start: Start) -> None:
    wire = start(server, "modern")
    assert wire.error("ping", valid=False)["code"] == -32601


def test_a18_answers_of_the_client_are_taken_as_they_come(wire: Wire) -> None:
    """Answers to nothing, with any shape of result: not a reason to say a word or to fall over."""
    for result in ("{}", "[]", '""', '"pong"', "null"):
        wire.raw('{"jsonrpc":"2.0","id":"nobody","result":' + result + "}")
    wire.raw('{"jsonrpc":"2.0","id":"nobody","error":{"code":1,"message":"x"}}')
    wire.raw('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}')
    wire.alive()
    assert all("error" in message for message in wire.quiet(0))
