"""The examples in C, C++ and Rust, called by the official clients of both languages in both eras."""

from __future__ import annotations

import pytest
from plan import MODES, VISITORS, Plan, revision_of, rises_to
from test_official_clients import ROOT

BUILT = ROOT / "target" / "c-tests" / "fixture" / "examples"
# The ready-made loop. All of them have these tools, and each some of its own.
SERVERS = {
    "c": BUILT / "c_server",
    "cpp": BUILT / "cpp_server",
    "rust": ROOT / "target" / "debug" / "ferromcp-example",
}
TOOLS = {"add", "echo", "fail", "progress", "slow"}
# A loop of the program's own, around the engine.
LOOPS = {"c": BUILT / "c_own_loop", "cpp": BUILT / "cpp_own_loop"}

TEXT = 'h\u00e9llo \U0001f378 "\n'
ABOUT = "An example server of FerroMCP."

every_client = pytest.mark.parametrize("client", VISITORS)
both_eras = pytest.mark.parametrize("mode", MODES)


def unknown(client: str, mode: str) -> int:
    """The code of an unknown resource: one of its own up to 2025-11-25 (`server/resources`, "Error
    Handling"), which the TypeScript client shows as the later one.
    """
    return -32002 if mode == "legacy" and client == "python" else -32602


@both_eras
@every_client
@pytest.mark.parametrize("server", SERVERS)
def test_a_ready_made_loop(server: str, client: str, mode: str) -> None:
    calls = [
        ("echo", {"text": TEXT}),
        ("add", {"a": 2, "b": 40}),
        ("fail", {"msg": "why"}),
        ("slow", {"ms": 1}),
        ("progress", {"n": 3}),
    ]
    reads = ["example://about", "example://square/12", "example://square/twelve"]
    plan = Plan(calls, reads, [("greet", {"name": "Ada"})])
    seen = VISITORS[client](plan, mode, [str(SERVERS[server])])
    assert seen.revision == revision_of(mode)
    assert set(seen.tools) >= TOOLS
    assert seen.calls == [(False, TEXT), (False, "42"), (True, "why"), (False, "done"), (False, "3")]
    assert rises_to(3, client, seen.progress), seen.progress
    assert seen.reads == [ABOUT, "144", unknown(client, mode)]
    assert seen.prompts == ["Greet Ada in one sentence."]


@both_eras
@every_client
@pytest.mark.parametrize("server", LOOPS)
def test_a_loop_of_its_own(server: str, client: str, mode: str) -> None:
    calls = [("echo", {"text": TEXT}), ("count", {"n": 3})]
    plan = Plan(calls, ["example://about", "example://nothing"], [("greet", {"name": "Ada"})])
    seen = VISITORS[client](plan, mode, [str(LOOPS[server])])
    assert seen.revision == revision_of(mode)
    assert seen.tools == ["count", "echo"]
    assert seen.calls == [(False, TEXT), (False, "3")]
    assert rises_to(3, client, seen.progress), seen.progress
    assert seen.reads == [ABOUT, unknown(client, mode)]
    assert seen.prompts == ["Ada"]
