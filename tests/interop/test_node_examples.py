"""The examples in JavaScript, called by the official clients of both languages in both eras."""

from __future__ import annotations

import asyncio
import json
import subprocess

import pytest
from mcp import Client, StdioServerParameters
from test_official_clients import HERE, NODE, ROOT

EXAMPLES = ROOT / "examples" / "node"
FERROMCP = EXAMPLES / "node_modules" / ".bin" / "ferromcp"
SERVERS: dict[str, tuple[list[str], set[str]]] = {
    "native": ([NODE, str(EXAMPLES / "calculator.mjs")], {"add", "count", "list_tables"}),
    "unchanged": ([str(FERROMCP), "run", str(EXAMPLES / "existing.mjs")], {"add"}),
}

both = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
served = pytest.mark.parametrize("server", SERVERS)


@both
@served
def test_python_client(server: str, mode: str) -> None:
    (command, *arguments), tools = SERVERS[server]

    async def visit() -> None:
        parameters = StdioServerParameters(command=command, args=arguments)
        async with Client(parameters, mode=mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else mode)
            assert {tool.name for tool in (await client.list_tools()).tools} == tools
            result = await client.call_tool("add", {"a": 2, "b": 40})
            assert result.structured_content == {"sum": 42}

    asyncio.run(visit())


@both
@served
def test_typescript_client(server: str, mode: str) -> None:
    command, tools = SERVERS[server]
    visit = [NODE, str(HERE / "visit_ts.mjs"), mode, *command]
    done = subprocess.run(visit, capture_output=True, text=True, timeout=60, check=False, cwd=HERE)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (set(seen["tools"]), seen["sum"]) == (tools, 42)
