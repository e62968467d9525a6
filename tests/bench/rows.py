"""What is measured, beside what, and what has to come of it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RELEASE = ROOT / "target" / "release"
SUFFIX = ".exe" if sys.platform == "win32" else ""
# Stands in a command for the interpreter that runs the measurement.
PYTHON = "{python}"
NODE = shutil.which("node") or "node"


@dataclass(frozen=True)
class Subject:
    """One way to serve one tool, and the load that it gets."""

    name: str
    command: tuple[str, ...]
    tool: str = "echo"
    size: int = 16
    window: int = 64

    def started_by(self, python: str) -> list[str]:
        return [python if part == PYTHON else part for part in self.command]


@dataclass(frozen=True)
class Row:
    """Ours against a peer: at least `target` times less CPU for each call, at most `bound_us` of it, and at
    least `rate` times as many calls a second.
    """

    name: str
    ours: Subject
    peer: Subject
    target: float
    bound_us: float | None = None
    rate: float | None = None


def script(name: str, tool: str = "echo", size: int = 16, window: int = 64) -> Subject:
    """One of the servers beside this file, as its own library runs it."""
    label = f"{name} {tool}" if size == 16 else f"{name} {tool}, {size // 1_000_000} MB"
    return Subject(label, (PYTHON, str(HERE / "servers" / f"{name}.py")), tool, size, window)


def served(name: str, *options: str) -> Subject:
    """The same file, served by us."""
    command = (PYTHON, "-m", "ferromcp", "run", *options, str(HERE / "servers" / f"{name}.py"))
    return Subject(" ".join(("ferromcp run", *options, name)), command)


def node(label: str, name: str, *options: str, tool: str = "echo") -> Subject:
    """One of the servers in JavaScript."""
    return Subject(label, (NODE, str(HERE / "node" / f"{name}.mjs"), *options), tool)


RUST = Subject("ferromcp-example (Rust)", (str(RELEASE / f"ferromcp-example{SUFFIX}"),))
C = Subject("c-server", (str(ROOT / "target" / "bench" / "c" / "server"),))
RMCP = Subject("rmcp", (str(RELEASE / f"ferromcp-bench-rmcp{SUFFIX}"),))
NATIVE, NATIVE_ASYNC = script("native"), script("native", "aecho")
FASTMCP, FASTMCP_ASYNC = script("fastmcp_app"), script("fastmcp_app", "aecho")
FASTMCP_MIDDLEWARE = script("fastmcp_middleware_app")
MCPSERVER, MCPSERVER_ASYNC = script("mcpserver_app"), script("mcpserver_app", "aecho")
SERVER2 = node("@modelcontextprotocol/server", "stock")
SERVER2_ASYNC = node("@modelcontextprotocol/server aecho", "stock", tool="aecho")
LONG = 1_000_000

ROWS = (
    Row("Rust server / rmcp 3.x", RUST, RMCP, 60),
    Row("C server / rmcp 3.x", C, RMCP, 60),
    Row("native Python, sync / fastmcp 4.x", NATIVE, FASTMCP, 400, 6.0),
    Row("native Python, sync / mcp 2.x", NATIVE, MCPSERVER, 300, 6.0),
    Row("native Python, async / fastmcp 4.x", NATIVE_ASYNC, FASTMCP_ASYNC, 120),
    Row("native Python, async / mcp 2.x", NATIVE_ASYNC, MCPSERVER_ASYNC, 100),
    Row("MCPServer on us / itself", served("mcpserver_app"), MCPSERVER, 15),
    Row("FastMCP with middleware on us / itself", served("fastmcp_middleware_app"), FASTMCP_MIDDLEWARE, 5),
    Row("FastMCP on us, direct lane / itself", served("fastmcp_app"), FASTMCP, 30),
    Row(
        "native Python, 1 MB / mcp 2.x",
        script("native", size=LONG, window=8),
        script("mcpserver_app", size=LONG, window=8),
        5,
    ),
    Row("native Node, sync / server 2.x", node("native (Node)", "native"), SERVER2, 20, rate=20),
    Row(
        "native Node, async / server 2.x",
        node("native (Node) aecho", "native", tool="aecho"),
        SERVER2_ASYNC,
        20,
        rate=20,
    ),
    Row("McpServer 2.x on us / itself", node("serve(McpServer)", "served"), SERVER2, 2),
    Row(
        "McpServer 2.x on us, accelerated / itself",
        node("serve(accelerate(McpServer))", "served", "accelerated"),
        SERVER2,
        3,
    ),
)
# Spawn to first answer of a server with plain annotations, above the bare interpreter's spawn to first byte.
START = script("sync_only")
START_BOUND_MS = 60.0
