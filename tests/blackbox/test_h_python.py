"""Section H as far as Python and stdio can show it: start, growth, caches, context, dependencies, the
interpreter lock.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import subprocess
import sys
import time

import pytest
from conftest import FIXTURES, Start
from process import PATIENCE, Process
from wire import Wire, text_of

ONLY_NATIVE = pytest.mark.servers("native")
WRITTEN_FOR_US = pytest.mark.servers("native", "node")


@ONLY_NATIVE
def test_h1_import_brings_nothing_heavy(server: str) -> None:
    """pydantic and asyncio cost more than the interpreter itself: they are imported when an annotation needs
    them.
    """
    script = "import sys, ferromcp; print(*sorted(sys.modules))"
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        "pydantic",
        "pydantic_core",
        "asyncio",
        "uvloop",
        "mcp",
        "mcp_types",
        "fastmcp",
        "anyio",
        "jsonschema",
    }
    assert heavy & set(shown) == set()


@ONLY_NATIVE
def test_h1_start_up(server: str) -> None:
    """First answer of a server with plain annotations: the bare interpreter's start and a little. `make
    bench` has the
    figure; this bound is for a crowded machine."""
    bare, first = [], []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", ""], check=True)
        bare.append(time.monotonic() - began)
        began = time.monotonic()
        wire = Wire(Process([sys.executable, str(FIXTURES / "tiny_native.py")]), "2026-07-28")
        assert text_of(wire.call("add", a=1, b=1)) == "2"
        first.append(time.monotonic() - began)
        wire.process.close()
    assert min(first) < min(bare) + 0.2 * PATIENCE, (bare, first)


def test_h4_memory_does_not_grow_with_requests(server: str, era: str, start: Start) -> None:
    wire = start(server, era)
    number = 50_000 if server == "native" else 1_000
    arguments = {"text": "x" * 1000}

    def many(count: int) -> None:
        for at in range(0, count, 500):
            frames = [wire.call_frame("echo", arguments, id=f"many-{at + n}") for n in range(500)]
            wire.process.write(b"".join(frames), timeout=60)
            for _ in range(500):
                wire.process.line(60)

    many(number // 10)
    before = wire.process.resident_mb()
    many(number)
    assert wire.process.resident_mb() - before < 20
    wire.alive()


@WRITTEN_FOR_US
def test_h5_schemas_are_compiled_once(wire: Wire, server: str) -> None:
    """A call of the tool with a thousand-member schema costs about what any call costs."""

    def cost(tool: str, arguments: dict[str, object]) -> float:
        began = time.monotonic()
        for _ in range(300):
            assert not wire.call(tool, **arguments).get("isError")
        return (time.monotonic() - began) / 300

    cost("wide", {"values": {"field_1": 1}})
    small = cost("echo", {"text": "x"})
    wide = cost("wide", {"values": {"field_1": 1}})
    assert wide < small + 0.005, (small, wide)
    assert wire.call("wide", values={"field_1": "one"})["isError"] is True


@pytest.mark.servers("native", "fastmcp", "mcpserver")
def test_h8_a_context_variable_stays_in_its_request(wire: Wire) -> None:
    assert text_of(wire.call("remember", name="Ada")) == "Ada"
    assert text_of(wire.call("recall")) == "nobody"
    assert text_of(wire.call("arecall")) == "nobody"


@pytest.mark.servers("fastmcp")
def test_h8_middleware_is_seen_by_tools(server: str, era: str, start: Start) -> None:
    """The variable that middleware sets is seen in sync and async tools, and not in the next request."""
    wire = start("middleware_fastmcp.py", era)
    for _ in range(3):
        assert text_of(wire.call("who")) == "who"
        assert text_of(wire.call("awho")) == "awho"
        assert text_of(wire.call("who_unnamed")) == "nobody"


@ONLY_NATIVE
def test_h9_no_run_time_dependencies(server: str) -> None:
    """pydantic is used where an annotation asks for it; plain annotations need nothing at all."""
    needs = importlib.metadata.requires("ferromcp") or []
    assert [need for need in needs if "extra ==" not in need.replace("'", '"')] == []


@WRITTEN_FOR_US
@pytest.mark.eras("legacy")
def test_h12_a_busy_interpreter_does_not_delay_the_engine(wire: Wire) -> None:
    """1,000 pings while a tool computes without a pause: answered without ever asking for Python's lock, or
    JavaScript's thread."""
    busy = wire.start("busy", ms=1500)
    took = []
    for _ in range(1000):
        began = time.monotonic()
        wire.process.write(b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n')
        wire.process.line()
        took.append(time.monotonic() - began)
    assert statistics.median(took) < 0.02 * PATIENCE
    assert sorted(took)[990] < 0.1 * PATIENCE
    wire.answer(busy)


@WRITTEN_FOR_US
def test_h12_calls_of_many_threads_do_not_lock_up(wire: Wire) -> None:
    """Blocking, computing, reporting and logging at once, round after round."""
    for _ in range(3):
        ids = [wire.start("crowd", meta={"progressToken": n}, n=20) for n in range(4)]
        ids += [wire.start("block", ms=20) for _ in range(8)]
        ids += [wire.start("busy", ms=20) for _ in range(4)]
        ids += [wire.start("aecho", text="x") for _ in range(20)]
        for id in ids:
            assert "result" in wire.answer(id)
