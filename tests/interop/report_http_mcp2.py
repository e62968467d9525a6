"""What the official Python client of the second generation (mcp 2.x) gets from a server over HTTP, as one
JSON object on stdout: see `test_http_clients.py`.

Usage: report_http_mcp2.py legacy|auto|REVISION URL
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, ToolListChangedNotification


async def report(mode: str, url: str) -> dict[str, Any]:
    seen: dict[str, Any] = {"progress": [], "logs": [], "asked": [], "session": None}
    changed = asyncio.Event()

    async def on_progress(value: float, _total: float | None, _message: str | None) -> None:
        seen["progress"].append(value)

    async def on_log(params: Any) -> None:
        seen["logs"].append([params.level, params.data])

    async def on_elicitation(_context: Any, params: Any) -> ElicitResult:
        seen["asked"].append(params.message)
        return ElicitResult(action="accept", content={"value": "Ada"})

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    async def on_response(response: httpx2.Response) -> None:
        seen["session"] = response.headers.get("mcp-session-id") or seen["session"]

    # The client keeps its session's name to itself.
    http = httpx2.AsyncClient(timeout=20, event_hooks={"response": [on_response]})
    client = Client(
        streamable_http_client(url, http_client=http),
        mode=mode,
        read_timeout_seconds=20,
        logging_callback=on_log,
        log_level="warning",
        elicitation_callback=on_elicitation,
        message_handler=on_message,
    )
    async with http, client:
        seen["revision"] = client.protocol_version
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        seen["add"] = (await client.call_tool("add", {"a": 2, "b": 40})).content[0].text
        await client.call_tool("progress", {"n": 3, "ms": 20}, progress_callback=on_progress)
        if mode == "legacy":
            await client.set_logging_level("warning")
        await client.call_tool("logs", {"n": 1})
        seen["said"] = (await client.call_tool("ask_name")).content[0].text
        name = f"grown_for_mcp2_{mode}"
        if mode == "legacy":
            seen["grown"] = (await client.call_tool("grow", {"name": name})).content[0].text
            await asyncio.wait_for(changed.wait(), 20)
        else:
            async with client.listen(tools_list_changed=True) as subscription:
                seen["grown"] = (await client.call_tool("grow", {"name": name})).content[0].text
                await asyncio.wait_for(anext(aiter(subscription)), 20)
        seen["then"] = [tool.name for tool in (await client.list_tools()).tools]
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report(sys.argv[1], sys.argv[2]))))
