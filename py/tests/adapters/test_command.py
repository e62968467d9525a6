"""`ferromcp run` and `explain`: how a file is loaded, which object is meant, what is said when none is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from rawpeer import SERVERS, RawPeer, ours
from warm import WarmProcess

Command = Callable[..., "subprocess.CompletedProcess[str]"]
FASTMCP = "from fastmcp import FastMCP\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(source: str, name: str = "server.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return written


Write = Callable[..., Path]


def ferromcp(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = ["-m", "ferromcp", *map(str, arguments)]
    with tempfile.TemporaryFile() as log:
        process = WarmProcess(command, stderr=log.fileno(), environment=os.environ)
        process.stdin.close()
        with process.stdout:
            written = process.stdout.read().decode()
        code = process.wait(60)
        log.seek(0)
        return subprocess.CompletedProcess(command, code, written, log.read().decode())


def new_ferromcp(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in a process that has imported nothing before."""
    return subprocess.run(
        [sys.executable, "-m", "ferromcp", *map(str, arguments)],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


def fails(*arguments: object) -> str:
    """The one line that a command fails with."""
    ended = ferromcp(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith("ferromcp: ")
    return lines[0].removeprefix("ferromcp: ")


def answers(path: object, *options: str, tool: str = "hello", new: bool = False) -> str:
    command = [sys.executable, "-m", "ferromcp", "run", str(path), *options]
    with RawPeer(command, "legacy", new=new) as peer:
        peer.handshake()
        result = peer.request("tools/call", {"name": tool, "arguments": {}}, 1)[-1]["result"]
        text: str = result["content"][0]["text"]
        return text


HELLO = """
@mcp.tool
def hello() -> str:
    return {value}
"""


def server(value: str = "'hi'", name: str = "mcp") -> str:
    body = HELLO.replace("{value}", value).replace("@mcp", f"@{name}")
    return FASTMCP + f"{name} = FastMCP('test')\n{body}"


def test_the_only_server_of_a_file_is_served_and_its_main_block_does_not_run(write: Write) -> None:
    source = server("__name__", "quaint") + "\nif __name__ == '__main__':\n    raise SystemExit('ran')\n"
    assert answers(write(source, "my_server.py"), new=True) == "my_server"


def test_the_usual_name_wins_over_others(write: Write) -> None:
    source = FASTMCP + "other = FastMCP('other')\n" + server()
    assert answers(write(source)) == "hi"


def test_an_object_can_be_named_also_inside_of_another(write: Write) -> None:
    path = write(
        server() + "\nclass Held:\n    server = mcp\nother = FastMCP('other')\nthird = FastMCP('third')\n"
    )
    assert answers(f"{path}:Held.server") == "hi"


def test_a_function_that_makes_the_server_can_be_named(write: Write) -> None:
    made = textwrap.indent(server().replace(FASTMCP, ""), "    ")
    path = write(f"{FASTMCP}def make():\n{made}\n    return mcp\nasync def amake():\n    return make()\n")
    assert answers(f"{path}:make") == "hi"
    assert answers(f"{path}:amake") == "hi"


def test_neighbours_can_be_imported_and_arguments_are_passed_on(write: Write) -> None:
    write("value = 'from beside'\n", "beside.py")
    path = write("import sys\nimport beside\n" + server("beside.value + ' ' + ' '.join(sys.argv[1:])"))
    assert answers(path, "--", "--flag", "x") == "from beside --flag x"


def test_a_file_of_a_package_is_loaded_as_a_part_of_it(write: Write) -> None:
    write("", "pack/__init__.py")
    write("value = 'relative'\n", "pack/other.py")
    path = write("from .other import value\n" + server("value + ' ' + __name__"), "pack/server.py")
    assert answers(path) == "relative pack.server"


def test_a_file_may_have_the_name_of_a_module_that_is_loaded(write: Write) -> None:
    assert answers(write(server(), "argparse.py"), new=True) == "hi"


def test_what_a_file_prints_while_it_loads_stays_off_the_wire(write: Write) -> None:
    source = "import os\nprint('loud')\nos.write(1, b'louder\\n')\n" + server()
    assert answers(write(source)) == "hi"


def test_a_server_of_our_own_is_served(write: Write) -> None:
    source = "from ferromcp import Server\nserver = Server('own')\n" + HELLO.replace("{value}", "'own'")
    assert answers(write(source.replace("@mcp", "@server"))) == "own"


def test_no_file() -> None:
    assert fails("run", "nosuch.py") == "there is no file nosuch.py"


def test_no_such_object(write: Write) -> None:
    path = write(server())
    assert fails("run", f"{path}:nosuch") == f"{path} has no nosuch"


def test_several_servers(write: Write) -> None:
    path = write(FASTMCP + "one = FastMCP('one')\ntwo = FastMCP('two')\n")
    assert fails("run", path) == f"{path} has 2 servers; name one: {path}:one, {path}:two"


@pytest.mark.parametrize(
    "source",
    [
        FASTMCP + "if __name__ == '__main__':\n    mcp = FastMCP('late')\n    mcp.run()\n",
        FASTMCP + "def make():\n    return FastMCP('made')\n",
    ],
)
def test_a_server_that_is_only_made_later(write: Write, source: str) -> None:
    line = fails("run", write(source))
    assert "makes no server when it is imported" in line
    assert "server.py:make)" in line
    assert '__main__"' in line


def test_a_foreign_object(write: Write) -> None:
    path = write(
        "class Strange:\n    def run(self): ...\nmcp = Strange()\nnumber = 5\ndef make():\n    return 5\n"
    )
    supported = "supported are ferromcp.Server, fastmcp.FastMCP (4.x), mcp.server.mcpserver.MCPServer and "
    assert fails("run", path).startswith(
        f"{path}:mcp is a server.Strange, which can't be served: {supported}"
    )
    assert fails("run", f"{path}:number").startswith(
        f"{path}:number is a builtins.int, which can't be served: "
    )
    assert fails("run", f"{path}:make").startswith(f"{path}:make() returned a builtins.int: supported are ")


def test_a_file_that_fails_to_load(write: Write) -> None:
    assert fails("run", write("x = 1\nimport nosuchmodule\n")) == (
        "can't load server.py:2: ModuleNotFoundError: No module named 'nosuchmodule'"
    )
    assert fails("run", write("x = 1\nif x\n")).startswith("can't load server.py:2: SyntaxError: ")


def test_a_factory_that_fails(write: Write) -> None:
    path = write("def make():\n    raise ValueError('no\\nway')\n")
    assert fails("run", f"{path}:make") == f"{path}:make() failed: ValueError: no"


def test_a_road_that_is_none_or_does_not_fit(write: Write) -> None:
    path = write(server())
    assert fails("run", path, "--road", "high").startswith(
        "there is no road 'high': choose among native, direct"
    )
    watched = (
        "from fastmcp.server.middleware import Middleware\n"
        "class Watch(Middleware):\n"
        "    async def on_call_tool(self, context, call_next):\n"
        "        return await call_next(context)\n"
        "mcp.add_middleware(Watch())\n"
    )
    line = fails("run", write(server() + watched), "--road", "direct")
    assert line == "a fastmcp.FastMCP can't take the road direct here: it has middleware (Watch)"
    mounted = "mcp.mount(FastMCP('child'))\n"
    line = fails("run", write(server() + mounted), "--road", "middleware")
    hindrance = "it has providers besides its own tools"
    assert line == f"a fastmcp.FastMCP can't take the road middleware here: {hindrance}"


def test_explain_says_the_road_and_why() -> None:
    plain = new_ferromcp("explain", SERVERS / "compared_fastmcp.py")
    assert plain.stdout == "fastmcp.FastMCP (fastmcp 4.2.3, mcp 2.3.0): direct\n"
    watched = ferromcp("explain", SERVERS / "compared_middleware.py")
    assert watched.stdout.endswith(": middleware; it has middleware (Watch)\n")
    forced = ferromcp("explain", SERVERS / "compared_mcpserver.py", "--road", "streams")
    assert forced.stdout == "mcp.server.mcpserver.MCPServer (mcp 2.3.0): streams; asked for\n"


def pretended(tmp_path: Path, **versions: str) -> dict[str, str]:
    """An environment in which packages seem to have other versions."""
    for name, version in versions.items():
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return {"PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("file", "versions", "line"),
    [
        (
            "compared_fastmcp.py",
            {"fastmcp": "4.9.0"},
            "ferromcp: fastmcp.FastMCP (fastmcp 4.9.0, mcp 2.3.0): handler; "
            "fastmcp 4.9.0 is not a version compared with the stock server (4.2.3)",
        ),
        (
            "compared_mcpserver.py",
            {"mcp": "2.99.0"},
            "ferromcp: mcp.server.mcpserver.MCPServer (mcp 2.99.0): dispatcher; "
            "mcp 2.99.0 is not a version compared with the stock server (2.3.0)",
        ),
    ],
)
def test_an_unknown_version_takes_a_slower_road_and_says_so_once(
    tmp_path: Path, file: str, versions: dict[str, str], line: str
) -> None:
    with RawPeer(ours(file), "legacy", **pretended(tmp_path, **versions)) as peer:
        peer.handshake()
        found = peer.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, 1)[-1]
        assert found["result"]["content"][0]["text"] == "3"
        peer.close()
        assert [said for said in peer.errors.splitlines() if said.startswith("ferromcp: ")] == [line]


def test_an_unknown_generation_is_refused(tmp_path: Path) -> None:
    ended = new_ferromcp("run", SERVERS / "compared_mcpserver.py", **pretended(tmp_path, mcp="3.0.0"))
    assert ended.returncode == 2
    assert ended.stderr == "ferromcp: mcp 3.0.0 can't be served: supported is mcp 2.x (2.3.0)\n"


def test_run_and_serve_with_one_changed_line(write: Write) -> None:
    for last in ("ferromcp.run(mcp)", "import asyncio\nasyncio.run(ferromcp.serve(mcp))"):
        path = write("import ferromcp\n" + server() + f"\n{last}\n")
        with RawPeer([sys.executable, str(path)], "modern", new=True) as peer:
            found = peer.request("tools/call", {"name": "hello", "arguments": {}}, 1)[-1]
            assert found["result"]["content"][0]["text"] == "hi"
            assert peer.close() == 0


OURS = """
from ferromcp import Server
server = Server('own')
@server.tool
def hello() -> str: return 'hi'
"""


@pytest.mark.parametrize("source", [OURS, server()], ids=["ours", "other"])
def test_a_policy_out_of_a_file(write: Write, tmp_path: Path, source: str) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"rateLimits": {"slow": {"calls": 1, "periodMs": 3600000}}}')
    command = [sys.executable, "-m", "ferromcp", "run", "--policy", str(policy), str(write(source))]
    with RawPeer(command, "legacy") as peer:
        peer.handshake()
        first, second = (
            peer.request("tools/call", {"name": "hello", "arguments": {}}, key)[-1]["result"]
            for key in (1, 2)
        )
    assert first["content"][0]["text"] == "hi"
    assert second["isError"] is True
    assert "slow" in second["content"][0]["text"]


def test_a_policy_that_is_none(write: Write, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    path = write(OURS)
    assert "policy" in fails("run", "--policy", policy, path)
    for text, reason in (("{", "policy.json"), ("[]", "must be a JSON object"), ('{"rates": []}', "rates")):
        policy.write_text(text)
        assert reason in fails("run", "--policy", policy, path)
    policy.write_text("{}")
    own = write(OURS.replace("'own')", "'own', policy={})"), "own.py")
    assert "policy of its own" in fails("run", "--policy", policy, own)


def test_a_store_that_can_not_be_opened(write: Write) -> None:
    assert "store of tasks" in fails("run", "--task-store", "nowhere:", write(OURS))
