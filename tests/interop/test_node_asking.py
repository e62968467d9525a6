"""The example in JavaScript that asks, and existing servers that ask as their SDKs do: the official clients
of both languages answer in both eras.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import (
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from plan import MODES, revision_of
from test_official_clients import HERE, NODE, ROOT

EXAMPLES = ROOT / "examples" / "node"
OURS = [NODE, str(EXAMPLES / "asking.mjs")]
EXISTING = [str(EXAMPLES / "node_modules" / ".bin" / "ferromcp"), "run", "--ask", "held"]
FIXTURES = {"sdk 1.x": "sdk1.mjs", "server 2.x": "sdk2.mjs"}

ANSWERS: dict[str, dict[str, Any]] = {
    "A table on Monday": {"action": "accept", "content": {"name": "Ada", "seats": 4, "place": "outside"}},
    "A table on Friday": {"action": "decline"},
    "A table on Sunday": {"action": "cancel"},
    "Delete 2 drafts?": {"action": "accept", "content": {"sure": True}},
    "How large?": {"action": "accept", "content": {"size": 7}},
    "Well?": {"action": "decline"},
}
CALLS = [
    *(("book_table", {"day": day}) for day in ("Monday", "Friday", "Sunday")),
    ("delete_drafts", {}),
    ("order", {"what": "shoes"}),
    ("describe_folders", {}),
]
SAID = [
    "A table for 4 outside on Monday, Ada.",
    "No table: the user chose to decline.",
    "No table: the user chose to cancel.",
    "Deleted 2 drafts.",
    'SHOES: {"size":7}',
    "In a cheerful style: A, file:///b",
]

Calls = list[tuple[str, dict[str, Any]]]
Said = tuple[list[str], list[dict[str, Any]]]


def by_python(calls: Calls, mode: str, command: list[str]) -> Said:
    """What the tools say to the Python client, and the forms that it was asked."""
    forms: list[dict[str, Any]] = []

    async def elicit(_context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        forms.append(params.requested_schema)
        return ElicitResult(**ANSWERS[params.message])

    async def sample(_context: Any, _params: Any) -> CreateMessageResult:
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text="cheerful"), model="m"
        )

    async def roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///a", name="A"), Root(uri="file:///b")])

    async def visit() -> list[str]:
        client = Client(
            StdioServerParameters(command=command[0], args=command[1:]),
            mode=mode,
            read_timeout_seconds=20,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=roots,
        )
        async with client:
            assert client.protocol_version == revision_of(mode)
            return [(await client.call_tool(name, given)).content[0].text for name, given in calls]

    return asyncio.run(visit()), forms


def by_typescript(calls: Calls, mode: str, command: list[str]) -> Said:
    """The same for the TypeScript client."""
    visit = [NODE, str(HERE / "ask_ts.mjs"), mode, json.dumps(calls), json.dumps(ANSWERS), *command]
    done = subprocess.run(visit, capture_output=True, text=True, timeout=60, check=False, cwd=HERE)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["revision"] == revision_of(mode)
    return seen["said"], seen["forms"]


both = pytest.mark.parametrize("mode", MODES)
clients = pytest.mark.parametrize("client", [by_python, by_typescript])


@both
@clients
def test_our_own(client: Any, mode: str) -> None:
    said, forms = client(CALLS, mode, OURS)
    assert said == SAID
    assert (forms[0]["required"], len(forms)) == (["name"], 5)
    assert forms[0]["properties"]["place"] == {
        "type": "string",
        "default": "inside",
        "enum": ["inside", "outside"],
    }


@both
@clients
@pytest.mark.parametrize("fixture", FIXTURES)
def test_existing(client: Any, mode: str, fixture: str) -> None:
    command = [*EXISTING, str(ROOT / "node" / "test" / "fixtures" / FIXTURES[fixture])]
    said, _ = client([("ask", {}), ("ask", {})], mode, command)
    assert said == ["decline", "decline"]
