"""What the official Python client of the first generation (mcp 1.x) gets from a server over HTTP, as one JSON
object on stdout: see `test_http_clients.py`.

Usage: report_http_mcp1.py legacy URL
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult, ServerNotification, ToolListChangedNotification


async def report(url: str) -> dict[str, Any]:
    seen: dict[str, Any] = {"progress": [], "logs": [], "asked": []}
    changed = asyncio.Event()

    async def on_progress(value: float, _total: float | None, _message: str | None) -> None:
        seen["progress"].append(value)

    async def on_log(params: Any) -> None:
        seen["logs"].append([params.level, params.data])

    async def on_elicitation(_context: Any, params: Any) -> ElicitResult:
        seen["asked"].append(params.message)
        return ElicitResult(action="accept", content={"value": "Ada"})

    async def on_message(message: Any) -> None:
        if isinstance(message, ServerNotification) and isinstance(message.root, ToolListChangedNotification):
            changed.set()

    async with (
        streamable_http_client(url) as (read, write, session_id),
        ClientSession(
            read,
            write,
            read_timeout_seconds=timedelta(seconds=20),
            logging_callback=on_log,
            elicitation_callback=on_elicitation,
            message_handler=on_message,
        ) as session,
    ):
        seen["revision"] = (await session.initialize()).protocolVersion
        seen["session"] = session_id()
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        seen["add"] = (await session.call_tool("add", {"a": 2, "b": 40})).content[0].text
        arguments = {"n": 3, "ms": 20}
        await session.call_tool("progress", arguments, progress_callback=on_progress)
        await session.set_logging_level("warning")
        await session.call_tool("logs", {"n": 1})
        seen["said"] = (await session.call_tool("ask_name")).content[0].text
        seen["grown"] = (await session.call_tool("grow", {"name": "grown_for_mcp1"})).content[0].text
        await asyncio.wait_for(changed.wait(), 20)
        seen["then"] = [tool.name for tool in (await session.list_tools()).tools]
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report(sys.argv[2]))))
