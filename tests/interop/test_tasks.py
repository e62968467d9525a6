"""The examples with tasks, and the official Python client, second generation, with an extension for tasks.

That client knows no tasks by itself, but takes result types of extensions: what is tried here is that ours is
one that it can take, and that what follows is found by its own requests.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from plan import MODES
from test_official_clients import ROOT

BUILT = ROOT / "target" / "c-tests" / "fixture" / "examples"
# Each takes the file of its tasks.
SERVERS = {
    "python": [sys.executable, str(ROOT / "examples" / "python" / "tasks.py")],
    "c": [str(BUILT / "c_tasks")],
    "cpp": [str(BUILT / "cpp_tasks")],
}


class Task(mcp_types.Result):
    """A task, as an answer and as `tasks/get` gives it."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    poll_interval_ms: int


class Looked(mcp_types.Result):
    """What `tasks/get` gives."""

    status: str
    result: dict[str, Any] | None = None


class Look(mcp_types.Request[dict[str, Any], str]):
    """`tasks/get`."""

    method: str = "tasks/get"
    params: dict[str, Any]


class Tasks(ClientExtension):
    """Takes tasks for answers, and looks until they have ended."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.taken: list[Task] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Task, resolve=self._resolve)]

    async def _resolve(self, task: Task, context: ClaimContext) -> mcp_types.CallToolResult:
        self.taken.append(task)
        while True:
            found = await context.session.send_request(Look(params={"taskId": task.task_id}), Looked)
            if found.status != "working":
                assert found.status == "completed"
                return mcp_types.CallToolResult.model_validate(found.result)
            await asyncio.sleep(task.poll_interval_ms / 1000)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("language", SERVERS)
def test_a_task_is_taken_for_an_answer(language: str, mode: str, tmp_path: Path) -> None:
    command, *arguments = [*SERVERS[language], str(tmp_path / "tasks.db")]

    async def visit() -> tuple[list[str], list[Task]]:
        tasks = Tasks()
        server = StdioServerParameters(command=command, args=arguments)
        async with Client(server, mode=mode, read_timeout_seconds=20, extensions=[tasks]) as client:
            results = [await client.call_tool("count", {"to": to}) for to in (100, 101)]
        return [result.content[0].text for result in results], tasks.taken

    texts, taken = asyncio.run(visit())
    assert texts == ["counted to 100", "counted to 101"]
    # Only the one that begins a task, and only where its client can say that it takes tasks.
    assert len(taken) == (0 if mode == "legacy" else 1)
    assert all((task.status, task.poll_interval_ms) == ("working", 200) for task in taken)
