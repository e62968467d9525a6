"""The Node door: what its entries export at run time, and the types that they declare.

`Server.tool` is a method or a getter of a class and `ToolOptions.title` a member of an interface. Classes are
read twice, and both readings have to agree.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DIST = ROOT / "node" / "dist"
SCRIPT = Path(__file__).with_name("node_exports.cjs")
ENTRIES = {"": "index", "ferromcp/sdk.": "sdk", "ferromcp/server.": "sdk2"}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
FROM = re.compile(r"export (type )?(\*|\{.*?\}) from '\./(\w+)\.cjs'", re.S)
DECLARED = re.compile(
    r"^(?:export )?(?:declare )?(interface|class|type|function|const|let) (\w+)([^\n;{]*)"
    r"(?:;|\{\n(.*?)^\}|[^\n]*\n)",
    re.M | re.S,
)
EXPORTED = re.compile(r"^export (?:declare )?\w+ (\w+)", re.M)
EXTENDED = re.compile(r"extends (\w+) *$")
MEMBER = re.compile(r"^ {4}(?:declare )?(?:readonly )?(?:get |static )?(\w+)\??[(:<]", re.M)


def surface() -> dict[str, object]:
    """Everything that the package's entries export."""
    names: dict[str, object] = {}
    for prefix, entry in ENTRIES.items():
        running = _running(entry)
        declared = _declared(entry)
        assert set(running) <= set(declared), f"{entry}: no types for {sorted(set(running) - set(declared))}"
        for name, members in declared.items():
            names[prefix + name] = None
            if not prefix:
                missing = set(running.get(name, ())) - set(members)
                assert not missing, f"{name}: no types for {sorted(missing)}"
                names.update((f"{name}.{member}", None) for member in members)
    return names


def _running(entry: str) -> dict[str, list[str]]:
    """The values of an entry, with the members of classes."""
    node = shutil.which("node") or "node"
    command = [node, str(SCRIPT), str(DIST / f"{entry}.cjs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def _declared(entry: str) -> dict[str, list[str]]:
    """The types and values that an entry declares, with the members of interfaces and classes."""
    text = COMMENT.sub("", (DIST / f"{entry}.d.cts").read_text())
    found = _declarations(text)
    for _, what, module in FROM.findall(text):
        module_text = COMMENT.sub("", (DIST / f"{module}.d.cts").read_text())
        there = _declarations(module_text)
        wanted = EXPORTED.findall(module_text) if what == "*" else re.findall(r"(\w+)(?=\s*[,}])", what)
        found.update((name, there[name]) for name in wanted)
    return found


def _declarations(text: str) -> dict[str, list[str]]:
    """What a file declares; an interface has the members of the one that it extends."""
    found: dict[str, list[str]] = {}
    for kind, name, head, body in DECLARED.findall(text):
        members = MEMBER.findall(body) if kind in ("interface", "class") else []
        extended = EXTENDED.search(head)
        if extended and kind == "interface":
            members += found.get(extended[1], [])
        found[name] = [member for member in dict.fromkeys(members) if member != "constructor"]
    return found
