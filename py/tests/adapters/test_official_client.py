"""The official client sees the same server, whether its own SDK serves it or we do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from rawpeer import ours, stock

SERVERS = ["compared_fastmcp.py", "compared_mcpserver.py"]
MODES = {"legacy": "legacy", "modern": "2026-07-28"}
Log = list[Any]


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def visit(command: list[str], mode: str) -> Log:
    """Everything that a client can see of the fixture servers, in order."""
    log: Log = []

    async def elicited(context: Any, params: Any) -> mcp_types.ElicitResult:
        log.append(("elicitation", dumped(params)))
        return mcp_types.ElicitResult(
            action="accept", content={"color": "red", "value": "red", "name": "Ann"}
        )

    async def sampled(context: Any, params: Any) -> mcp_types.CreateMessageResult:
        log.append(("sampling", dumped(params)))
        content = mcp_types.TextContent(type="text", text="said")
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="m")

    async def rooted(context: Any) -> mcp_types.ListRootsResult:
        log.append("roots")
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri="file:///tmp")])  # type: ignore[arg-type]

    async def logged(params: mcp_types.LoggingMessageNotificationParams) -> None:
        log.append(("log", dumped(params)))

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        log.append(("progress", progress, total, message))

    async def call(name: str, /, **arguments: Any) -> None:
        try:
            log.append((name, dumped(await client.call_tool(name, arguments, progress_callback=progressed))))
        except MCPError as error:
            log.append((name, error.error.code, error.error.message))

    server = StdioServerParameters(command=command[0], args=command[1:])
    with anyio.fail_after(60):
        async with Client(
            server,
            mode=mode,
            elicitation_callback=elicited,
            sampling_callback=sampled,
            list_roots_callback=rooted,
            logging_callback=logged,
            log_level="info" if mode != "legacy" else None,
        ) as client:
            log.append((client.protocol_version, dumped(client.server_capabilities)))
            log.append(dumped(await client.list_tools()))
            log.append(dumped(await client.list_resources()))
            log.append(dumped(await client.list_resource_templates()))
            log.append(dumped(await client.list_prompts()))
            log.append(dumped(await client.read_resource("mem://users/ann")))
            log.append(dumped(await client.get_prompt("ask", {"topic": "rust"})))
            await call("add", a=1, b=2)
            await call("move", point={"x": 1, "y": 2}, by=[3, 4])
            await call("search", query="q", limit=1)
            await call("fail", kind="other")
            await call("report", n=2)
            await call("elicit")
            await call("sample")
            await call("roots")
            await call("ask_later")
            await call("context")
    return log


@functools.cache
def visited(serve: Callable[[str], list[str]], server: str, era: str) -> Log:
    return anyio.run(visit, serve(server), MODES[era])


@pytest.mark.parametrize("era", MODES)
@pytest.mark.parametrize("server", SERVERS)
def test_the_client_sees_no_difference(server: str, era: str) -> None:
    found, wanted = visited(ours, server, era), visited(stock, server, era)
    different = [(mine, theirs) for mine, theirs in zip(found, wanted, strict=False) if mine != theirs]
    assert different == []
    assert len(found) == len(wanted)


@pytest.mark.parametrize("era", MODES)
def test_the_callbacks_were_really_called(era: str) -> None:
    log = visited(ours, "compared_fastmcp.py", era)
    kinds = {entry[0] if isinstance(entry, tuple) else entry for entry in log if not isinstance(entry, dict)}
    wanted = {"progress", "log", "elicitation"}
    if era == "legacy":
        wanted |= {"sampling", "roots"}
    assert wanted <= kinds
