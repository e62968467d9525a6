"""What the official Python client of the second generation (mcp 2.x) sees of a server, as one JSON object on
stdout.

Usage: report_mcp2.py legacy|auto|REVISION COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference


async def report(mode: str, command: list[str]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    progress: list[float] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append(value)

    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(parameters, mode=mode, read_timeout_seconds=20) as client:
        seen["revision"] = client.protocol_version
        seen["server"] = client.server_info.name if client.server_info else None
        seen["instructions"] = client.instructions
        seen["tools"] = sorted(tool.name for tool in (await client.list_tools()).tools)
        seen["resources"] = sorted(str(found.uri) for found in (await client.list_resources()).resources)
        templates = (await client.list_resource_templates()).resource_templates
        seen["templates"] = [found.uri_template for found in templates]
        seen["prompts"] = sorted(found.name for found in (await client.list_prompts()).prompts)
        seen["add"] = (await client.call_tool("add", {"a": 2, "b": 40})).content[0].text
        seen["echo"] = (await client.call_tool("echo", {"text": "h\u00e9llo \U0001f378"})).content[0].text
        both = await asyncio.gather(
            client.call_tool("slow", {"ms": 100}), client.call_tool("aecho", {"text": "meanwhile"})
        )
        seen["together"] = [result.content[0].text for result in both]
        seen["wrong"] = (await client.call_tool("add", {"a": "x"})).is_error
        await client.call_tool("progress", {"n": 3, "ms": 20}, progress_callback=on_progress)
        seen["progress"] = progress
        seen["greeting"] = (await client.read_resource("mem://greeting")).contents[0].text
        seen["item"] = (await client.read_resource("mem://item/7")).contents[0].text
        prompt = await client.get_prompt("ask", {"topic": "MCP"})
        seen["prompt"] = prompt.messages[0].content.text
        completion = await client.complete(
            PromptReference(type="ref/prompt", name="ask"), {"name": "topic", "value": "py"}
        )
        seen["completion"] = completion.completion.values
        try:
            await client.read_resource("mem://no/such/thing")
        except MCPError as error:
            seen["unknown"] = error.error.code
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report(sys.argv[1], sys.argv[2:]))))
