"""An ordinary FastMCP file on the engine, called by the official Python client in both eras.

Runs `ferromcp run calculator.py` for each era, lists its tools, calls both and prints what came back. Ends
with 1, and says what was expected, when anything is not as it should be.

    python examples/python/demo.py
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

SERVER = Path(__file__).with_name("calculator.py")
FERROMCP = [sys.executable, "-m", "ferromcp"]
SQL = "SELECT * FROM orders o JOIN customers c ON c.id = o.customer JOIN orders x ON x.id = o.id"
CALLS: list[tuple[str, dict[str, Any], Any]] = [
    ("add", {"a": 2, "b": 40}, {"result": 42}),
    ("list_tables", {"sql": SQL}, {"result": ["orders", "customers"]}),
]
# The client's mode and the revision that it ends up with.
ERAS = {"legacy": ("legacy", "2025-11-25"), "modern": ("2026-07-28", "2026-07-28")}


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise SystemExit(f"{what}: expected {wanted!r}, got {found!r}")


def road() -> str:
    """How the server is going to be served, in the command's own words."""
    explained = subprocess.run(
        [*FERROMCP, "explain", str(SERVER)], capture_output=True, text=True, check=True
    )
    return explained.stdout.strip()


async def visit(era: str) -> None:
    mode, revision = ERAS[era]
    server = StdioServerParameters(command=FERROMCP[0], args=[*FERROMCP[1:], "run", str(SERVER)])
    async with Client(server, mode=mode) as client:
        print(f"\n{era} era, revision {client.protocol_version}")
        expect("revision", client.protocol_version, revision)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print(f"  tools: {', '.join(tools)}")
        expect("tools", tools, [name for name, _, _ in CALLS])
        for name, arguments, wanted in CALLS:
            result = await client.call_tool(name, arguments)
            print(f"  {name}({arguments}) -> {result.structured_content}")
            expect(f"{name} failed", result.is_error, False)
            expect(name, result.structured_content, wanted)


async def main() -> None:
    found = road()
    print(f"ferromcp run {SERVER.name}\n  {found}")
    expect("road", found.rpartition(": ")[2], "direct")
    for era in ERAS:
        await visit(era)


if __name__ == "__main__":
    asyncio.run(main())
