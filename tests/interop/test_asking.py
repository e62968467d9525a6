"""The example that asks, and the official Python client, second generation, that answers in both eras."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from plan import MODES, revision_of
from test_official_clients import ROOT

SERVER = ROOT / "examples" / "python" / "asking.py"


class User:
    """What a user says to each message, and what was asked."""

    def __init__(self, answers: dict[str, ElicitResult]) -> None:
        self.answers = answers
        self.forms: list[dict[str, Any]] = []

    async def elicit(self, _context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.forms.append(params.requested_schema)
        return self.answers[params.message]

    async def sample(self, _context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        assert params.max_tokens == 10
        (message,) = params.messages
        assert "style of writing" in message.content.text
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text="cheerful"), model="m"
        )

    async def roots(self, _context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///a", name="A"), Root(uri="file:///b")])

    def client(self, mode: str) -> Client:
        parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
        return Client(
            parameters,
            mode=mode,
            read_timeout_seconds=20,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots,
        )


def accept(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


def texts(user: User, mode: str, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What the tools say, over one connection."""

    async def visit() -> list[str]:
        async with user.client(mode) as client:
            assert client.protocol_version == revision_of(mode)
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            assert not any(result.is_error for result in results), results
            return [result.content[0].text for result in results]

    return asyncio.run(visit())


@pytest.mark.parametrize("mode", MODES)
def test_forms(mode: str) -> None:
    user = User(
        {
            "A table on Monday": accept(name="Ada", seats=4, place="outside"),
            "A table on Friday": ElicitResult(action="decline"),
            "A table on Sunday": ElicitResult(action="cancel"),
            "Delete 2 drafts?": accept(sure=True),
            "How large?": accept(size=7),
        }
    )
    days = [("book_table", {"day": day}) for day in ("Monday", "Friday", "Sunday")]
    said = texts(user, mode, *days, ("delete_drafts", {}), ("order", {"what": "shoes"}))
    assert said == [
        "A table for 4 outside on Monday, Ada.",
        "No table: the user chose to decline.",
        "No table: the user chose to cancel.",
        "Deleted 2 drafts.",
        "SHOES: {'size': 7}",
    ]
    booking = user.forms[0]
    assert booking["required"] == ["name"]
    assert booking["properties"]["place"] == {
        "type": "string",
        "enum": ["inside", "outside"],
        "default": "inside",
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_model_and_roots_in_one_round(mode: str) -> None:
    assert texts(User({}), mode, ("describe_folders", {})) == ["In a cheerful style: A, file:///b"]
