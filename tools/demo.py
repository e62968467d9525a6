"""What `make demo` shows: an ordinary FastMCP file, served on the engine, called by the official client.

Serves `examples/python/calculator.py`, which knows nothing of FerroMCP, with `ferromcp run`: once for a
client of the legacy era, once for one of the modern era. Prints what came back, and ends with 1 when a
call fails.
"""

from __future__ import annotations

import asyncio
import runpy
import sys
from pathlib import Path

from ferromcp.run import explain
from mcp import Client, StdioServerParameters

SERVER = Path(__file__).resolve().parent.parent / "examples" / "python" / "calculator.py"
SQL = "SELECT * FROM orders JOIN customers ON orders.customer = customers.id"
# "auto" asks with server/discover, which only a modern server answers.
ERAS = {"legacy": "legacy", "modern": "auto"}


async def call(era: str, mode: str) -> None:
    """Connects one client, lists the tools and calls both."""
    command = StdioServerParameters(command=sys.executable, args=["-m", "ferromcp", "run", str(SERVER)])
    async with Client(command, mode=mode) as client:
        name = client.server_info.name if client.server_info else "unnamed"
        print(f"\n{era} era, revision {client.protocol_version}, server {name}")
        tools = (await client.list_tools()).tools
        print(f"  tools: {', '.join(tool.name for tool in tools)}")
        for name, arguments in (("add", {"a": 2, "b": 40}), ("list_tables", {"sql": SQL})):
            result = await client.call_tool(name, arguments)
            if result.is_error:
                raise SystemExit(f"{name} failed: {result.content}")
            print(f"  {name}({arguments}) = {result.structured_content}")


async def main() -> None:
    """Both eras, and which road the server took."""
    app = runpy.run_path(str(SERVER), run_name="calculator")["mcp"]
    print(f"$ ferromcp run {SERVER.name}")
    print(f"road: {explain(app)}")
    for era, mode in ERAS.items():
        await call(era, mode)


if __name__ == "__main__":
    asyncio.run(main())
