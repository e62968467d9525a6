"""The example in Python, called by the official clients of both languages in both eras."""

from __future__ import annotations

import json

import pytest
from plan import MODES, VISITORS, Plan, revision_of
from test_official_clients import ROOT, SERVED

SERVER = [*SERVED, str(ROOT / "examples" / "python" / "calculator.py")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("client", VISITORS)
def test_a_fastmcp_file(client: str, mode: str) -> None:
    calls = [
        ("add", {"a": 2, "b": 40}),
        ("add", {"a": "two", "b": 40}),
        ("list_tables", {"sql": "SELECT * FROM orders JOIN customers"}),
    ]
    seen = VISITORS[client](Plan(calls, [], []), mode, SERVER)
    assert seen.revision == revision_of(mode)
    assert seen.tools == ["add", "list_tables"]
    (_, total), (refused, _), (_, tables) = seen.calls
    assert total == "42"
    assert refused
    assert json.loads(tables) == ["orders", "customers"]
