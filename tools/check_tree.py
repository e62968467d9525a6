"""Checks of the tree that no compiler makes: one version, no machine's own paths, files of a readable length.

Looks at the files that git knows or would add. Prints each finding with its place, and ends with 1 when there
is one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Places that exist on one machine only, and hosts that a package client knows by itself.
MACHINE = re.compile(
    r"(?<![\w.~-])/(?:root|home/\w+|work|Users/\w+)/\w|registry\.npmjs\.org|pythonhosted\.org|static\.crates\.io"
)

# A person should be able to hold a file in the head; beyond this many lines nobody can.
LONGEST = 900
# Written by programs, or tables that are searched and not read through.
NOT_READ = {
    "Cargo.lock",
    "package-lock.json",
    "constraints.txt",
    "ferromcp.h",
    "requirements.toml",
    "LICENSE-APACHE",
}
CODE = {".rs", ".py", ".pyi", ".c", ".h", ".hpp", ".mts", ".cts", ".ts", ".mjs", ".cjs", ".sh", ".md"}


def files() -> Iterator[Path]:
    """The files of the tree, without what is built or ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            yield path


def text_findings(path: Path, text: str) -> Iterator[str]:
    """What is wrong with one file's text."""
    place = path.relative_to(ROOT)
    lines = text.splitlines()
    if path.name not in NOT_READ and path.suffix in CODE and len(lines) > LONGEST:
        yield f"{place}: {len(lines)} lines; split it by concept (at most {LONGEST})"
    if path == Path(__file__).resolve():
        return  # It names what it looks for.
    for number, line in enumerate(lines, 1):
        if match := MACHINE.search(line):
            yield f"{place}:{number}: a machine's own path or host: {match[0]}"
        if path.suffix in CODE - {".md"} and line != line.rstrip():
            yield f"{place}:{number}: blanks at the end of the line"


def version_findings() -> Iterator[str]:
    """Every package has the workspace's version."""
    manifest = (ROOT / "Cargo.toml").read_text()
    match = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', manifest)
    if match is None:
        yield "Cargo.toml: [workspace.package] does not begin with the version"
        return
    wanted = match[1]
    for name in re.findall(r'^ferromcp[\w-]* = \{ path = "[^"]*", version = "([^"]+)"', manifest, re.M):
        if name != wanted:
            yield f"Cargo.toml: a workspace dependency has version {name}, the workspace {wanted}"
    for manifest_path in ("node/package.json", "node/package-lock.json"):
        found = json.loads((ROOT / manifest_path).read_text())["version"]
        if found != wanted:
            yield f"{manifest_path}: version {found}, the workspace has {wanted}"


def main() -> int:
    """Prints the findings; the number of them decides the exit code."""
    findings = list(version_findings())
    count = 0
    for path in files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        count += 1
        findings += text_findings(path, text)
    for finding in findings:
        print(finding)
    print(f"tree: {count} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
