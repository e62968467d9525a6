"""Runs the programs in the documents: what a reader copies has to work.

Every fenced block marked `python`, `js`, `c` or `cpp` is a whole program, except those marked `fragment`,
which only have to compile. A program is served and asked for its tools.
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
    text = textwrap.indent(snippet.text, "  ") if snippet.fragment else snippet.text
    command = ["node", "--input-type=module", "--eval", text]
    if snippet.fragment:
        # Only to be read, and not run: imports may stand in it.
        imports = "".join(re.findall(r"^ *import .*\n", text, re.M))
        rest = re.sub(r"^ *import .*\n", "", text, flags=re.M)
        command[-1] = f"{imports}async () => {{\n{rest}}};"
    ended = subprocess.run(
        command, cwd=ROOT / "node", input=json.dumps(LIST) + "\n", capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    if not snippet.fragment:
        answer = json.loads(ended.stdout)
        assert "add" in [tool["name"] for tool in answer["result"]["tools"]]


@parametrized("c")
def test_c(snippet: Snippet, tmp_path: Path) -> None:
    compile_and_ask(["cc", "-std=c99"], snippet, tmp_path / "program.c")


@parametrized("cpp")
def test_cpp(snippet: Snippet, tmp_path: Path) -> None:
    compile_and_ask(["c++", "-std=c++17"], snippet, tmp_path / "program.cpp")


def compile_and_ask(compiler: list[str], snippet: Snippet, source: Path) -> None:
    library = ROOT / "target" / "debug" / "libferromcp.a"
    if shutil.which(compiler[0]) is None or not library.exists():
        pytest.skip(f"no {compiler[0]}, or the C library is not built: make clib")
    source.write_text(snippet.text)
    program = os.fspath(source.with_suffix(""))
    command = [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'ffi-c' / 'include'}"]
    if snippet.fragment:
        subprocess.run([*command, "-fsyntax-only", os.fspath(source)], check=True, timeout=60)
        return
    command += [os.fspath(source), "-o", program, str(library), "-lpthread", "-ldl", "-lm"]
    subprocess.run(command, check=True, timeout=60)
    ended = subprocess.run(
        [program], input=json.dumps(LIST) + "\n", capture_output=True, text=True, timeout=60, check=True
    )
    answer = json.loads(ended.stdout)
    assert "add" in [tool["name"] for tool in answer["result"]["tools"]]
