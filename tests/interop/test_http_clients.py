"""The official clients of both generations and both languages over HTTP, against a server of each language
and each way to carry it: list, call, progress, log, a question, a list that changes, the end of the session.

All clients of a server call the same process, each as a program of its own that reports what it got; the
names and meanings of the members are the same in all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_official_clients import HERE, LEGACY, MCP1, MODERN, NODE, ROOT

sys.path.insert(0, str(HERE.parent / "blackbox"))

from http_peer import Endpoint, Peer

FIXTURES = HERE.parent / "fixtures"
NODE_FIXTURES = ROOT / "node" / "test" / "fixtures"
BUILT = ROOT / "target"
HTTP_PYTHON = str(FIXTURES / "http_native.py")
SERVERS: dict[str, tuple[str, ...]] = {
    "python": (sys.executable, HTTP_PYTHON),
    "python-asgi": (sys.executable, HTTP_PYTHON, "--asgi"),
    "node": (NODE, str(NODE_FIXTURES / "http_native.mjs")),
    "node-handler": (NODE, str(NODE_FIXTURES / "http_handler.mjs")),
    "rust": (str(BUILT / "debug" / "ferromcp-http-fixture"),),
    "c": (str(BUILT / "c-tests" / "fixture" / "http-native-c"),),
}
REPORT2 = [sys.executable, str(HERE / "report_http_mcp2.py")]
REPORT_TS = [NODE, str(HERE / "report_http_ts.mjs")]
# How the client is started, and which revision has to come of it.
CLIENTS: dict[str, tuple[list[str], str]] = {
    "mcp2-legacy": ([*REPORT2, "legacy"], LEGACY),
    "mcp2-auto": ([*REPORT2, "auto"], MODERN),
    "mcp2-modern": ([*REPORT2, MODERN], MODERN),
    "mcp1": ([str(MCP1), str(HERE / "report_http_mcp1.py"), "legacy"], LEGACY),
    "ts-sdk": ([*REPORT_TS, "sdk", "legacy"], LEGACY),
    "ts-client-legacy": ([*REPORT_TS, "client", "legacy"], LEGACY),
    "ts-client-auto": ([*REPORT_TS, "client", "auto"], MODERN),
    "ts-client-modern": ([*REPORT_TS, "client", MODERN], MODERN),
}
# What `npx @modelcontextprotocol/inspector --cli` runs. By itself it finds its own name only from here.
INSPECTOR = HERE / "node_modules" / "@modelcontextprotocol" / "inspector-cli" / "build"


@pytest.fixture(scope="module", params=SERVERS)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    endpoint = Endpoint(request.param, SERVERS[request.param], {})
    yield endpoint
    endpoint.close()


def url_of(endpoint: Endpoint) -> str:
    return f"http://{endpoint.host}{endpoint.path}"


def said_by(command: list[str], cwd: Path = HERE) -> Any:
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, cwd=cwd)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("client", CLIENTS)
def test_client_and_server_understand_each_other(client: str, endpoint: Endpoint) -> None:
    command, revision = CLIENTS[client]
    seen = said_by([*command, url_of(endpoint)])
    assert seen["revision"] == revision
    assert {"add", "progress", "logs", "ask_name", "grow"} <= set(seen["tools"])
    assert seen["add"] == "42"
    assert seen["progress"] == [1, 2, 3]
    assert seen["logs"] == [["warning", "warning 0"], ["error", "error 0"]]
    assert seen["asked"] == ["What is your name?"]
    assert seen["said"].startswith("accept ")
    assert "Ada" in seen["said"]
    assert seen["grown"] not in seen["tools"]
    assert seen["grown"] in seen["then"]
    # Only legacy clients have a session, and theirs is over when they have ended it.
    assert bool(seen["session"]) == (revision == LEGACY)
    if seen["session"]:
        peer = Peer(endpoint, revision=revision)
        peer.session = seen["session"]
        assert peer.post(peer.message("ping")).status == 404


def test_inspector(endpoint: Endpoint) -> None:
    """The command line of the official inspector."""
    inspect = [NODE, "cli.js", "--cli", url_of(endpoint), "--transport", "http", "--method"]
    tools = said_by([*inspect, "tools/list"], INSPECTOR)["tools"]
    assert {"add", "echo"} <= {tool["name"] for tool in tools}
    arguments = ["--tool-name", "add", "--tool-arg", "a=2", "b=40"]
    (content,) = said_by([*inspect, "tools/call", *arguments], INSPECTOR)["content"]
    assert content["text"] == "42"
