"""Runs the programs in the documents: what a reader copies has to work.

Every fenced block marked `python`, `js` or `c` is a whole program, except those marked `fragment`, which
only have to compile. A Python program is served and asked for its tools; a Node program and a C program are
run to their end.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "py" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)( fragment)?\n(.*?)^```$", re.M | re.S)
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


class Snippet(NamedTuple):
    """One fenced block, and where it stands."""

    place: str
    language: str
    fragment: bool
    text: str


def snippets(language: str) -> list[Snippet]:
    """The blocks of one language in all documents."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text()
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            place = f"{document.relative_to(ROOT)}:{line}"
            found.append(Snippet(place, match[1], bool(match[2]), match[3]))
    chosen = [snippet for snippet in found if snippet.language == language]
    assert chosen, f"no document has a {language} block: did the fences change?"
    return chosen


def parametrized(language: str) -> pytest.MarkDecorator:
    """One test for each block."""
    return pytest.mark.parametrize("snippet", snippets(language), ids=lambda snippet: snippet.place)


@parametrized("python")
def test_python(snippet: Snippet, tmp_path: Path) -> None:
    if snippet.fragment:
        body = textwrap.indent(snippet.text, "    ")
        compile(f"async def fragment():\n{body}", snippet.place, "exec")
        return
    program = tmp_path / "program.py"
    program.write_text(snippet.text)
    command = [sys.executable, str(program)]
    if "from ferromcp" not in snippet.text:
        command[1:] = ["-m", "ferromcp", "run", str(program)]
    ended = subprocess.run(command, input=json.dumps(LIST) + "\n", capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert "add" in [tool["name"] for tool in answer["result"]["tools"]]


@parametrized("js")
def test_node(snippet: Snippet) -> None:
    if not (ROOT / "node" / "dist" / "index.mjs").exists():
        pytest.skip("the Node package is not built: make addon")
    # Inside the package its own name leads to itself.
    command = ["node", "--input-type=module", "--eval", snippet.text]
    ended = subprocess.run(command, cwd=ROOT / "node", capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert "9007199254740993" in ended.stdout
    assert "true -32600 7" in ended.stdout


@parametrized("c")
def test_c(snippet: Snippet, tmp_path: Path) -> None:
    library = ROOT / "target" / "debug" / "libferromcp.a"
    compiler = shutil.which("cc")
    if compiler is None or not library.exists():
        pytest.skip("no cc, or the C library is not built: make clib")
    (tmp_path / "program.c").write_text(snippet.text)
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command += [f"-I{ROOT / 'ffi-c' / 'include'}", "-o", "program", "program.c", str(library)]
    command += ["-lpthread", "-ldl", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    program = os.fspath(tmp_path / "program")
    ended = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
    assert re.fullmatch(r"ferromcp \d+\.\d+\.\d+: ping\n", ended.stdout)
