"""An ordinary FastMCP server. Nothing in it knows which engine it will run on."""

import re

from fastmcp import FastMCP

mcp = FastMCP("calculator")

TABLE = re.compile(r"\b(?:FROM|JOIN)\s+([\w.\"`]+)", re.IGNORECASE)


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@mcp.tool
def list_tables(sql: str) -> list[str]:
    """List the tables that an SQL statement reads, in the order in which it names them."""
    return list(dict.fromkeys(name.strip('"`') for name in TABLE.findall(sql)))


if __name__ == "__main__":
    mcp.run()
