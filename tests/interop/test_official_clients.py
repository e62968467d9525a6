"""The official clients of both generations and both languages against our servers: each lists, calls, reads,
completes.

Each client runs as a program of its own and reports what it saw; here stands what it has to have seen. The
environments (.venv-mcp1, node_modules) are made by the Makefile.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = HERE.parent / "fixtures"
SERVED = (sys.executable, "-m", "ferromcp", "run")
NODE = shutil.which("node") or "node"
SERVERS = {
    "native": (sys.executable, str(FIXTURES / "native.py")),
    "node": (NODE, str(ROOT / "node" / "test" / "fixtures" / "native.mjs")),
    "fastmcp": (*SERVED, str(FIXTURES / "plain_fastmcp.py")),
    "mcpserver": (*SERVED, str(FIXTURES / "plain_mcpserver.py")),
}
MCP1 = ROOT / ".venv-mcp1" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
LEGACY, MODERN = "2025-11-25", "2026-07-28"

# Client, how it is started, which mode it is told, which revision has to come of it.
CLIENTS = {
    "mcp2-legacy": ([sys.executable, str(HERE / "report_mcp2.py"), "legacy"], LEGACY),
    "mcp2-auto": ([sys.executable, str(HERE / "report_mcp2.py"), "auto"], MODERN),
    "mcp2-modern": ([sys.executable, str(HERE / "report_mcp2.py"), MODERN], MODERN),
    "mcp1": ([str(MCP1), str(HERE / "report_mcp1.py"), "legacy"], LEGACY),
    "ts-sdk": ([NODE, str(HERE / "report_ts.mjs"), "sdk", "legacy"], LEGACY),
    "ts-client-legacy": ([NODE, str(HERE / "report_ts.mjs"), "client", "legacy"], LEGACY),
    "ts-client-auto": ([NODE, str(HERE / "report_ts.mjs"), "client", "auto"], MODERN),
    "ts-client-modern": ([NODE, str(HERE / "report_ts.mjs"), "client", MODERN], MODERN),
}


def seen_by(client: list[str], server: tuple[str, ...]) -> dict[str, Any]:
    done = subprocess.run(
        [*client, *server], capture_output=True, text=True, timeout=90, check=False, cwd=HERE
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_client_and_server_understand_each_other(client: str, server: str) -> None:
    command, revision = CLIENTS[client]
    seen = seen_by(command, SERVERS[server])
    assert seen["revision"] in (revision, None)
    # A client that is told its revision beforehand asks for nothing else first.
    assert seen["server"] == "fixture" or client.endswith("-modern")
    assert seen["instructions"] == "A small server for tests." or client.endswith("-modern")
    assert {"add", "echo", "aecho", "slow", "progress"} <= set(seen["tools"])
    assert seen["resources"] == ["mem://broken", "mem://greeting"]
    assert seen["templates"] == ["mem://item/{id}"]
    assert seen["prompts"] == ["ask", "broken_prompt"]
    assert seen["add"] == "42"
    assert seen["echo"] == "h\u00e9llo \U0001f378"
    assert seen["together"] == ["done", "meanwhile"]
    assert seen["wrong"] is True
    assert seen["progress"] == [1, 2, 3]
    assert seen["greeting"] == "hello"
    assert seen["item"] == "item 7"
    assert seen["prompt"] == "Tell me about MCP"
    assert seen["completion"] == ["pytest", "python"]
    assert seen["unknown"] in ((-32602,) if revision == MODERN else (-32002, -32602))
