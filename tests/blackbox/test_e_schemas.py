"""Cases E3 to E5 as far as a server decides them: schemas given by hand, their dialects and references."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from conftest import FIXTURES, Start
from process import PATIENCE
from wire import Wire, failed

pytestmark = pytest.mark.servers("native")
DIALECTS = ["default", "draft_2020_12", "draft_2019_09", "draft_07", "draft_07_https"]


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[str, list[str]]]:
    """An address that somebody listens on, and what has been asked for there."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = b'{"type":"integer"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing on the test run's standard error."""

    web = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_address[1]}/schema.json", asked
    web.shutdown()


@pytest.fixture
def wire(server: str, start: Start) -> Wire:
    return start("schemas_native.py", "modern")


def test_e4_every_dialect_is_read_as_itself(wire: Wire) -> None:
    """The same pair, spelled as each dialect spells it: the first element has to be an integer."""
    for name in DIALECTS:
        assert not failed(wire.result("tools/call", {"name": name, "arguments": {"pair": [1, "x"]}})), name
        assert failed(wire.result("tools/call", {"name": name, "arguments": {"pair": ["x", 1]}})), name
        assert failed(wire.result("tools/call", {"name": name, "arguments": {}})), name


def test_e5_schemas_are_listed_as_they_were_given(wire: Wire) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in wire.result("tools/list")["tools"]}
    assert set(tools) == set(DIALECTS)
    for name, schema in tools.items():
        assert schema["x-kept"] == {"as": "it is"}
        assert ("$schema" in schema) == (name != "default")


BAD = ["no_schema", "bad_pattern", "no_object", "unknown_dialect", "missing_definition", "network", "file"]


@pytest.mark.parametrize("kind", BAD)
def test_e3_a_bad_schema_is_refused_with_the_tools_name(
    server: str, kind: str, listener: tuple[str, list[str]]
) -> None:
    """Loudly, at the start, by name: not at the first call, and not by a list that clients choke on. And E5:
    a reference into the network or the file system is never followed.
    """
    address, asked = listener
    command = [sys.executable, str(FIXTURES / "schemas_native.py"), kind, address]
    done = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE
    )
    assert done.returncode != 0, f"served a tool with {kind}"
    assert done.stdout == ""
    assert "bad" in done.stderr.splitlines()[-1], done.stderr
    assert asked == []
