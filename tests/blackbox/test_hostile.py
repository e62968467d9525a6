"""Input that means harm, or that a broken peer sends: the server answers, sheds or refuses by name, and lives
on.

Memory is held against bounds that leave room for a Python interpreter and one copy or two of the largest
message, and none for keeping everything.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest
from conftest import Start
from wire import Wire, text_of

REFUSALS = (-32700, -32600, -32602)


def settle(wire: Wire, timeout: float = 30) -> list[Any]:
    """The messages up to a proof of life that is asked for now."""
    wire.alive(timeout=timeout)
    return wire.quiet(0)


def test_deep_nesting(wire: Wire) -> None:
    """100,000 levels, in arguments, in params, at the top: no stack is that deep, so each is refused."""
    deep = b"[" * 100_000 + b"]" * 100_000
    call = wire.call_frame("same", {"value": "PLACE"}, id="deep")
    wire.tamper(call, b'"PLACE"', deep)
    listing = wire.frame("tools/list", {"deep": "PLACE"}, id="deep-2")
    wire.tamper(listing, b'"PLACE"', deep)
    wire.raw(deep)
    wire.tamper(listing, b'"PLACE"', b'{"a":' * 100_000)
    codes = [message["error"]["code"] for message in settle(wire)]
    assert len(codes) == 4
    assert set(codes) <= set(REFUSALS)


def test_nesting_within_reason_is_served(wire: Wire) -> None:
    value: Any = "bottom"
    for _ in range(50):
        value = [value]
    assert wire.call("same", value=value)["structuredContent"] == {"value": value}


def test_duplicate_ids_in_flight(wire: Wire) -> None:
    """A client must not do this. Either both are answered, or the second is refused; nobody waits on."""
    wire.start("slow", id="twin", ms=200)
    wire.start("slow", id="twin", ms=100)
    first = wire.answer("twin")
    answers = [first] + [message for message in wire.quiet(0.6) if message.get("id") == "twin"]
    results = [message for message in answers if "result" in message]
    refusals = [message["error"]["code"] for message in answers if "error" in message]
    assert (len(results), refusals) in ((2, []), (1, [-32600])), answers
    assert text_of(wire.answer(wire.start("echo", id="twin", text="free again"))["result"]) == "free again"


def test_cancel_storm(wire: Wire) -> None:
    """2,000 calls, each cancelled at once, with as many cancellations that mean nothing in between."""
    before = wire.process.resident_mb()
    ids = [wire.new_id() for _ in range(2000)]
    frames = []
    for id in ids:
        frames.append(wire.call_frame("slow", {"ms": 20_000}, id=id))
        frames.append(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n' % id
        )
        frames.append(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x%d"}}\n' % id
        )
    wire.process.write(b"".join(frames), timeout=60)
    assert [message for message in settle(wire) if message.get("id") in set(ids)] == []
    assert wire.process.resident_mb() - before < 100
    assert text_of(wire.call("aecho", text="calm")) == "calm"


def test_notification_flood(wire: Wire) -> None:
    """10,000 notifications of no interest do not hold up a request behind them for long."""
    flood = b'{"jsonrpc":"2.0","method":"notifications/nothing/such","params":{"a":[1,2,3]}}\n' * 10_000
    wire.process.write(flood, timeout=30)
    began = time.monotonic()
    wire.alive(timeout=5)
    assert time.monotonic() - began < 5


@pytest.mark.engine
def test_requests_in_flight(server: str, era: str, start: Start) -> None:
    """All at once, none done before the last has arrived: each gets its result, or is refused by name."""
    # The other libraries need a second for a thousand.
    number = 10_000 if server == "native" else 1_000
    wire = start(server, era)
    ids = {wire.new_id() for _ in range(number)}
    frames = [wire.call_frame("slow", {"ms": 1500}, id=id) for id in ids]
    wire.process.write(b"".join(frames), timeout=60)
    outcomes: Counter[str] = Counter()
    while ids:
        message = wire.receive(60)
        ids.remove(message["id"])
        outcomes["result" if "result" in message else f"error {message['error']['code']}"] += 1
    assert outcomes["result"] >= 1000
    assert wire.process.peak_mb() < 400
    wire.alive()


def test_slow_reader_bounds_memory_and_loses_nothing(server: str, start: Start) -> None:
    """Nobody reads while 64 KiB answers pile up: input stops being taken, and what was taken is answered."""
    wire = start(server)
    wire.call("huge", n=65536)
    before = wire.process.resident_mb()
    frames = [wire.call_frame("huge", {"n": 65536}, id=f"slow-{n}") for n in range(20_000)]
    data = b"".join(frames)
    taken = wire.process.write_some(data, patience=1.0)
    grown = wire.process.peak_mb() - before
    assert grown < 300, f"{grown:.0f} MB for {taken} bytes of input"
    complete = data[:taken].count(b"\n")
    answered: set[str] = set()
    while len(answered) < complete:
        answered.add(wire.receive(60)["id"])
    # What was begun is finished as well: the rest of the line that was cut off by the full pipe.
    rest = data[taken:].split(b"\n", 1)[0] + b"\n"
    wire.process.write(rest if taken < len(data) else b"")
    wire.alive(timeout=30)
    assert wire.process.peak_mb() - before < 300


@pytest.mark.engine
def test_reader_that_vanishes_amid_a_flood(server: str, start: Start) -> None:
    wire = start(server)
    frames = b"".join(wire.call_frame("huge", {"n": 65536}, id=f"gone-{n}") for n in range(500))
    wire.process.write_some(frames, patience=0.3)
    wire.process.stop_reading()
    wire.process.wait(5)


SLOW_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("keys", "array", "spaces")]


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["text", "garbage", *SLOW_KINDS])
def test_lines_of_64_mib(server: str, start: Start, kind: str) -> None:
    """Served, or refused by name; in linear time, in bounded memory, and the next message is business as
    usual.
    """
    if server != "native" and kind in ("keys", "array"):
        pytest.skip("what it takes there is the other library's time")
    wire = start(server)
    size = 64 << 20
    body = {
        "text": b'{"text":"' + b"x" * size + b'"}',
        "spaces": b'{"text":' + b" " * size + b'"x"}',
        "keys": b"{" + b",".join(b'"%d":1' % n for n in range(size // 12)) + b"}",
        "array": b'{"text":[' + b"1," * (size // 2) + b"1]}",
        "garbage": b"",
    }[kind]
    if kind == "garbage":
        line = random.Random(64).randbytes(size).replace(b"\n", b" ") + b"\n"
    else:
        line = wire.call_frame("echo", {"text": "PLACE"}, id="long").replace(b'{"text":"PLACE"}', body)
    wire.checker.raw_lines += 1
    began = time.monotonic()
    wire.process.write(line, timeout=120)
    if kind == "garbage":
        assert [message["error"]["code"] for message in settle(wire, 60)] in ([-32700], [-32600])
    else:
        message = wire.receive(120)
        refused = "error" in message and message["error"]["code"] in REFUSALS
        # A line that is over the limit may be refused before its id was seen.
        assert refused or message["id"] == "long", message
    assert time.monotonic() - began < 30
    wire.alive(timeout=30)
    assert wire.process.peak_mb() < 900


def test_random_bytes(wire: Wire) -> None:
    """Noise of every kind, line by line. Nothing is answered but complaints, and the connection survives them
    all.
    """
    rng = random.Random(2026)
    seeds = [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    ]
    for _ in range(300):
        line = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(line))
            action = rng.randrange(3)
            if action == 0:
                line[at] = rng.randrange(256)
            elif action == 1:
                del line[at]
            else:
                line.insert(at, rng.randrange(256))
        wire.raw(bytes(line).replace(b"\n", b" "))
    wire.checker.raw_lines += 1
    settle(wire)


def test_long_ids_methods_and_names(wire: Wire, server: str) -> None:
    """Each is a key in some table: a megabyte of it is an error or is served, and is not kept."""
    # The other libraries write it into tracebacks on standard error, which takes them seconds for a megabyte.
    long = "x" * (1_000_000 if server == "native" else 20_000)
    before = wire.process.resident_mb()
    for _ in range(5):
        wire.answer(wire.request("tools/list", id=long))
        assert wire.error(long, {}, valid=False)["code"] in (-32601, -32600)
        wire.ask("tools/call", {"name": long, "arguments": {}})
        wire.ask("resources/read", {"uri": "mem://" + long})
        wire.ask("tools/list", {"cursor": long})
        wire.notify("notifications/cancelled", {"requestId": long})
    wire.alive()
    assert wire.process.resident_mb() - before < 150
