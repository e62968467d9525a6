"""What the official clients of both languages do with an example server, as a plan, and what came of it.

A plan says which tools are called, which resources read and which prompts got, each once and in order.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any, NamedTuple

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from test_official_clients import HERE, LEGACY, NODE

Arguments = dict[str, Any]


class Plan(NamedTuple):
    """`calls` are tools and `prompts` prompts, with their arguments; `reads` are URIs."""

    calls: list[tuple[str, Arguments]]
    reads: list[str]
    prompts: list[tuple[str, Arguments]]


class Seen(NamedTuple):
    """What a client saw. `calls`: whether it was an error, and the text; `reads`: a text or an error's code.

    The TypeScript client forgets the progress of a call that arrives in the same read as the answer.
    """

    revision: str
    tools: list[str]
    calls: list[tuple[bool, str]]
    progress: list[float]
    reads: list[str | int]
    prompts: list[str]


def revision_of(mode: str) -> str:
    """What has to come of the mode that a client is told."""
    return LEGACY if mode == "legacy" else mode


def by_python(plan: Plan, mode: str, command: list[str]) -> Seen:
    """The official Python client, second generation."""
    return asyncio.run(_visit(plan, mode, command))


async def _visit(plan: Plan, mode: str, command: list[str]) -> Seen:
    progress: list[float] = []
    calls: list[tuple[bool, str]] = []
    reads: list[str | int] = []
    prompts: list[str] = []

    async def on_progress(value: float, _total: float | None, _message: str | None) -> None:
        progress.append(value)

    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(parameters, mode=mode, read_timeout_seconds=20) as client:
        tools = sorted(tool.name for tool in (await client.list_tools()).tools)
        for name, arguments in plan.calls:
            result = await client.call_tool(name, arguments, progress_callback=on_progress)
            calls.append((bool(result.is_error), result.content[0].text))
        for uri in plan.reads:
            try:
                reads.append((await client.read_resource(uri)).contents[0].text)
            except MCPError as error:
                reads.append(error.error.code)
        for name, arguments in plan.prompts:
            prompts.append((await client.get_prompt(name, arguments)).messages[0].content.text)
        return Seen(client.protocol_version, tools, calls, progress, reads, prompts)


def by_typescript(plan: Plan, mode: str, command: list[str]) -> Seen:
    """The official TypeScript client, second generation."""
    visit = [NODE, str(HERE / "plan_ts.mjs"), mode, json.dumps(plan._asdict()), *command]
    done = subprocess.run(visit, capture_output=True, text=True, timeout=60, check=False, cwd=HERE)
    assert done.returncode == 0, done.stderr
    seen = Seen(**json.loads(done.stdout))
    return seen._replace(calls=[(is_error, text) for is_error, text in seen.calls])


def rises_to(last: int, client: str, progress: list[float]) -> bool:
    """Whether a client saw each step up to `last`, as far as it tells."""
    steps = list(range(1, last + 1))
    return progress == (steps if client == "python" else steps[: len(progress)])


VISITORS = {"python": by_python, "typescript": by_typescript}
MODES = ["legacy", "2026-07-28"]
