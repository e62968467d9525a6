"""Cases A6 to A12 and A14: what is done to the bytes of a message on their way."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from conftest import Start
from process import PATIENCE
from wire import CRASH, Wire, failed, text_of

TEXT = "em dash \u2014, cocktail \U0001f378, \u010de\u0161tina, \u0440\u0443\u0441\u0441\u043a\u0438\u0439"


# requirement: stdio-utf8
def test_a6_split_utf8_byte_by_byte(wire: Wire) -> None:
    wire.process.write_cut(wire.call_frame("echo", {"text": TEXT}, id="bytes"), itertools.repeat(1))
    assert text_of(wire.answer("bytes")["result"]) == TEXT


def test_a6_split_utf8_at_each_offset(wire: Wire) -> None:
    for offset in range(1, len(wire.call_frame("echo", {"text": TEXT}, id="cut-000"))):
        frame = wire.call_frame("echo", {"text": TEXT}, id=f"cut-{offset:03}")
        wire.process.write(frame[:offset])
        # Time for the reader to see the first part alone: what is tested is the cut, not the joining.
        time.sleep(0.001)
        wire.process.write(frame[offset:])
        assert text_of(wire.answer(f"cut-{offset:03}")["result"]) == TEXT


def test_a7_no_request_is_lost_while_the_writer_is_slow(wire: Wire) -> None:
    """500 requests in random pieces, 64 KiB of answer each, a reader that takes its time."""
    rng = random.Random(7)
    ids = [f"many-{number}" for number in range(500)]
    data = b"".join(wire.call_frame("huge", {"n": 65536}, id=id) for id in ids)
    at = 0
    end = time.monotonic() + 60 * PATIENCE
    while at < len(data):
        assert time.monotonic() < end, "the server takes nothing any more"
        at += wire.process.write_some(data[at : at + rng.randrange(1, 4000)], patience=0)
        wire.process.read_some(rng.randrange(1, 65536))
        time.sleep(0.0005)
    answered = {wire.receive(30)["id"] for _ in ids}
    assert answered == set(ids)


@pytest.mark.parametrize(
    ("small", "large"), [(2_000_000, 20_000_000), pytest.param(5_000_000, 50_000_000, marks=pytest.mark.slow)]
)
def test_a8_long_result_lines_take_linear_time(wire: Wire, small: int, large: int) -> None:
    spent = {}
    for size in (small, large):
        attempts = []
        for _ in range(3):
            began = wire.process.cpu_seconds()
            result = wire.result("tools/call", {"name": "huge", "arguments": {"n": size}}, timeout=60)
            attempts.append(wire.process.cpu_seconds() - began)
            assert len(text_of(result)) == size
        spent[size] = min(attempts)
    # Ten times the size; quadratic would be a hundred times.
    assert spent[large] < 20 * spent[small] + 0.2, spent


def test_a8_long_argument_lines_take_linear_time(wire: Wire) -> None:
    took = {}
    for size in (100_000, 1_000_000):
        began = time.monotonic()
        result = wire.result("tools/call", {"name": "echo", "arguments": {"text": "x" * size}}, timeout=30)
        took[size] = time.monotonic() - began
        assert len(text_of(result)) == size
    assert took[1_000_000] < 12 * took[100_000] + 0.3, took


def test_a8_bytes_without_a_newline(wire: Wire) -> None:
    """8 MiB that are no message: refused by name or skipped, and the next message is served."""
    wire.raw(b"x" * (8 << 20), timeout=30)
    wire.alive(timeout=15)
    for message in wire.quiet(0.05):
        assert message["error"]["code"] in (-32700, -32600)


SURROGATES = {
    "in a value": '{"text":"a\\ud83d"}',
    "in a key": '{"text":"a","k\\ud83d":1}',
    "low half first": '{"text":"\\udc00\\ud800"}',
    "at the end of the line's strings": '{"text":"\\ud83d\\n"}',
}


@pytest.mark.parametrize("arguments", SURROGATES.values(), ids=SURROGATES)
def test_a9_lone_surrogate_is_answered(wire: Wire, server: str, arguments: str) -> None:
    frame = wire.call_frame("echo", {"text": "PLACE"}, id=7)
    wire.tamper(frame, b'{"text":"PLACE"}', arguments.encode())
    response = wire.answer(7)
    # MCPServer takes its own models' refusal of such a text for a crash of the handler.
    refusals = (-32600, -32602, -32700, *(CRASH if "mcpserver" in server else ()))
    assert "result" in response or response["error"]["code"] in refusals
    wire.alive()


def test_a9_legal_pair_is_one_character(wire: Wire) -> None:
    frame = wire.call_frame("echo", {"text": "PLACE"}, id="pair")
    wire.tamper(frame, b"PLACE", b"\\ud83c\\udf78")
    assert text_of(wire.answer("pair")["result"]) == "\U0001f378"


def test_a9_tool_returns_a_lone_surrogate(wire: Wire) -> None:
    response = wire.ask("tools/call", {"name": "surrogate", "arguments": {}})
    assert "result" in response or response["error"]["code"] in CRASH
    wire.alive()


def test_a9_tool_returns_what_json_lacks(wire: Wire) -> None:
    """NaN: the answer is an error that says so, or a null; never a broken line, which the harness would
    refuse.
    """
    response = wire.ask("tools/call", {"name": "nan", "arguments": {}})
    assert "result" in response or response["error"]["code"] == -32603
    wire.alive()


@pytest.mark.servers("native")
def test_a9_tool_error_names_the_place_of_nan(wire: Wire) -> None:
    result = wire.call("nan")
    assert failed(result)
    assert "nan" in text_of(result).lower()


# requirement: stdio-utf8
def test_a10_bytes_that_are_no_utf8(wire: Wire) -> None:
    frame = wire.call_frame("echo", {"text": "PLACE"}, id="latin")
    wire.tamper(frame, b"PLACE", b"\xb0\xa1")
    wire.alive()
    for message in wire.quiet(0.05):
        assert message["error"]["code"] in (-32700, -32600), message


@pytest.mark.parametrize("cut", [b"\xe2\x80", b"\xf0\x9f\x8d", b"\xc0\x80", b"\xed\xa0\xbd"])
def test_a10_utf8_that_stops_or_lies(wire: Wire, cut: bytes) -> None:
    """Sequences that end early, are overlong, or spell a surrogate."""
    wire.raw(b'{"jsonrpc":"2.0","id":"bad","method":"' + cut + b'"}')
    wire.alive()
    for message in wire.quiet(0.05):
        assert message["error"]["code"] in (-32700, -32600), message


def test_a11_code_page_of_the_environment(server: str, start: Start) -> None:
    env = {
        "PYTHONIOENCODING": "cp1252",
        "PYTHONUTF8": "0",
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONCOERCECLOCALE": "0",
    }
    wire = start(server, env=env)
    assert text_of(wire.call("echo", text=TEXT)) == TEXT
    assert text_of(wire.call("aecho", text=TEXT)) == TEXT
    assert TEXT in text_of(wire.call("fail", msg=TEXT)) or server != "native"
    # A print of what the code page lacks is the tool's own trouble; the connection is not.
    wire.ask("tools/call", {"name": "noisy", "arguments": {"text": TEXT}})
    wire.alive()


@pytest.mark.engine
def test_a12_byte_order_mark_ahead_of_the_first_message(server: str, start: Start) -> None:
    """What a text-mode peer on Windows may put in front: ignored, or one parse error and then business as
    usual.
    """
    wire = start(server, open=False)
    wire.raw(b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":"bom","method":"ping"}')
    wire.request("ping", id="after")
    wire.answer("after")
    for message in wire.inbox:
        assert message.get("result") == {} or message["error"]["code"] == -32700


@pytest.mark.parametrize("newline", [b"\n", b""], ids=["newline", "no newline"])
def test_a14_content_length_framing(wire: Wire, newline: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":"lsp","method":"nothing/such"}'
    wire.checker.sent_raw(body)
    wire.process.write(b"Content-Length: %d\r\n\r\n" % len(body) + body + newline)
    # The header is complained about: as an answer, or on standard error.
    try:
        if not newline:
            wire.raw("")
        response = wire.answer("lsp", timeout=1)
        assert "error" in response
    finally:
        wire.alive()
    complaints = [message["error"]["code"] for message in wire.inbox if "error" in message]
    assert complaints == [-32700] or "Content-Length" in wire.process.stderr
