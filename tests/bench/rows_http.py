"""What is measured over HTTP, beside what, and what has to come of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rows import HERE, NODE, PYTHON, RELEASE, ROOT, SUFFIX

# Stands in a command for the port that the server is to listen on.
PORT = "{port}"
# One request after another on one connection, with a server of ours.
ALONE_BOUND_US = 1000.0
# What the memory of a server of ours may grow by over so many requests, after so many others.
MANY, BEFORE, GROWTH_BOUND_MB = 200_000, 20_000, 4.0
# With so many streams open beside the load, a server of ours serves at least this part of what it else does.
STREAMS, STREAMS_BOUND = 1000, 0.8


@dataclass(frozen=True)
class Subject:
    """One server, and the era in which it is called."""

    name: str
    command: tuple[str, ...]
    legacy: bool = False

    def started_by(self, python: str, port: int) -> list[str]:
        put = {PYTHON: python, PORT: str(port)}
        return [put.get(part, part) for part in self.command]

    def in_legacy(self) -> Subject:
        return replace(self, name=f"{self.name}, sessions", legacy=True)


@dataclass(frozen=True)
class Row:
    """Ours against a peer: at least `rate` times as many requests a second, at least `cpu` times less CPU for
    each. Without either, a row is only shown.
    """

    name: str
    ours: Subject
    peer: Subject
    rate: float | None = None
    cpu: float | None = None

    def in_legacy(self) -> Row:
        ours, peer = self.ours.in_legacy(), self.peer.in_legacy()
        return Row(f"{self.name}, sessions", ours, peer)


def uvicorn(label: str, name: str, *ours: str) -> Subject:
    """A file in Python as an ASGI app under uvicorn, of its own SDK or of us."""
    return Subject(label, (PYTHON, str(HERE / "servers" / "under_uvicorn.py"), name, PORT, *ours))


def served(name: str) -> Subject:
    """The same file, served by our listener."""
    run = (PYTHON, "-m", "ferromcp", "run", str(HERE / "servers" / f"{name}.py"), "--http", "--port", PORT)
    return Subject(f"ferromcp run {name} --http", run)


def node(label: str, name: str, *options: str) -> Subject:
    return Subject(label, (NODE, str(HERE / "node" / f"{name}.mjs"), PORT, *options))


RUST = Subject("Rust", (str(RELEASE / f"ferromcp-bench-http{SUFFIX}"), PORT))
C = Subject("C", (str(ROOT / "target" / "bench" / "c" / "http"), PORT))
PYTHON_NATIVE = Subject("native Python", (PYTHON, str(HERE / "servers" / "native.py"), PORT))
NODE_NATIVE = node("native Node", "native_http")

RMCP = Subject("rmcp", (str(RELEASE / f"ferromcp-bench-rmcp{SUFFIX}"), PORT))
RMCP_NODELAY = Subject("rmcp, TCP_NODELAY", (*RMCP.command, "nodelay"))
MCPSERVER = uvicorn("mcp under uvicorn", "mcpserver_app")
FASTMCP = uvicorn("fastmcp under uvicorn", "fastmcp_app")
SERVER2 = node("@modelcontextprotocol/server", "stock_http")
SERVER2_SESSIONS = node("@modelcontextprotocol/server", "stock_http", "sessions")

MODERN_ROWS = (
    Row("Rust / rmcp 3.x", RUST, RMCP, rate=12, cpu=2),
    # The peer as it would be without the delay that its carrier brings.
    Row("Rust / rmcp 3.x, TCP_NODELAY", RUST, RMCP_NODELAY, cpu=2),
    Row("C / rmcp 3.x", C, RMCP, rate=12, cpu=2),
    Row("native Python / mcp 2.x", PYTHON_NATIVE, MCPSERVER, rate=15),
    Row("native Python / fastmcp 4.x", PYTHON_NATIVE, FASTMCP, rate=25),
    Row("MCPServer on our listener / itself", served("mcpserver_app"), MCPSERVER, rate=6),
    Row("FastMCP on our listener / itself", served("fastmcp_app"), FASTMCP, rate=4),
    Row(
        "native Python under uvicorn / mcp 2.x",
        uvicorn("native under uvicorn", "native", "ours"),
        MCPSERVER,
        rate=1,
    ),
    Row(
        "MCPServer, our ASGI app / its own",
        uvicorn("mcp, our ASGI app", "mcpserver_app", "ours"),
        MCPSERVER,
        rate=1,
    ),
    Row(
        "FastMCP, our ASGI app / its own",
        uvicorn("fastmcp, our ASGI app", "fastmcp_app", "ours"),
        FASTMCP,
        rate=1,
    ),
    Row("native Node / server 2.x", NODE_NATIVE, SERVER2, rate=10),
    Row(
        "our toNodeHandler / server 2.x", node("our toNodeHandler", "native_http", "handler"), SERVER2, rate=1
    ),
)
LEGACY_ROWS = (
    Row("Rust / rmcp 3.x", RUST, RMCP).in_legacy(),
    Row("native Python / mcp 2.x", PYTHON_NATIVE, MCPSERVER).in_legacy(),
    Row("native Python / fastmcp 4.x", PYTHON_NATIVE, FASTMCP).in_legacy(),
    Row("MCPServer on our listener / itself", served("mcpserver_app"), MCPSERVER).in_legacy(),
    Row("FastMCP on our listener / itself", served("fastmcp_app"), FASTMCP).in_legacy(),
    Row("native Node / server 2.x", NODE_NATIVE, SERVER2_SESSIONS).in_legacy(),
)
ROWS = (*MODERN_ROWS, *LEGACY_ROWS)
# Those whose memory is watched, and that are loaded beside open streams.
STEADY = (RUST, PYTHON_NATIVE, NODE_NATIVE)
