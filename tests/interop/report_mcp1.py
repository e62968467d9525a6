"""What the official Python client of the first generation (mcp 1.x) sees of a server, as one JSON object on
stdout.

Run by an interpreter of its own, because both generations are called `mcp`.

Usage: report_mcp1.py legacy COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import PromptReference
from pydantic import AnyUrl


async def report(command: list[str]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    progress: list[float] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write, read_timeout_seconds=timedelta(seconds=20)) as session,
    ):
        opened = await session.initialize()
        seen["revision"] = opened.protocolVersion
        seen["server"] = opened.serverInfo.name
        seen["instructions"] = opened.instructions
        await session.send_ping()
        seen["tools"] = sorted(tool.name for tool in (await session.list_tools()).tools)
        seen["resources"] = sorted(str(found.uri) for found in (await session.list_resources()).resources)
        templates = (await session.list_resource_templates()).resourceTemplates
        seen["templates"] = [found.uriTemplate for found in templates]
        seen["prompts"] = sorted(found.name for found in (await session.list_prompts()).prompts)
        seen["add"] = (await session.call_tool("add", {"a": 2, "b": 40})).content[0].text
        seen["echo"] = (await session.call_tool("echo", {"text": "h\u00e9llo \U0001f378"})).content[0].text
        both = await asyncio.gather(
            session.call_tool("slow", {"ms": 100}), session.call_tool("aecho", {"text": "meanwhile"})
        )
        seen["together"] = [result.content[0].text for result in both]
        seen["wrong"] = (await session.call_tool("add", {"a": "x"})).isError
        await session.call_tool("progress", {"n": 3, "ms": 20}, progress_callback=on_progress)
        seen["progress"] = progress
        seen["greeting"] = (await session.read_resource(AnyUrl("mem://greeting"))).contents[0].text
        seen["item"] = (await session.read_resource(AnyUrl("mem://item/7"))).contents[0].text
        prompt = await session.get_prompt("ask", {"topic": "MCP"})
        seen["prompt"] = prompt.messages[0].content.text
        reference = PromptReference(type="ref/prompt", name="ask")
        completion = await session.complete(reference, {"name": "topic", "value": "py"})
        seen["completion"] = completion.completion.values
        try:
            await session.read_resource(AnyUrl("mem://no/such/thing"))
        except McpError as error:
            seen["unknown"] = error.error.code
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report(sys.argv[2:]))))
