"""Checks that what is decided in one place is decided nowhere else (ARCHITECTURE.md).

Reads sources of Rust, TypeScript and Python as text, without comments and without the test modules at the
ends of Rust files: a few patterns, each of which may appear in its own files only. Prints each finding, and
ends with 1 when there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Place(NamedTuple):
    """A pattern, where to look for it, and where alone it may be."""

    what: str
    pattern: str
    within: tuple[str, ...]
    allowed: tuple[str, ...]


TYPESCRIPT = {".cts", ".mts", ".ts"}
# A string that follows one of these is a statement of its own: it says something and does nothing.
STATEMENT_STARTS = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
DOORS = ("core/runtime/src", "ffi-c/src", "py/src", "node/src")

PLACES = (
    Place(
        "an error code as a number",
        r"(?<!\.\.=)-32[0-9]{3}\b(?!\.\.)",
        ("core/engine/src", *DOORS, "node/ts", "py/python"),
        ("core/engine/src/error.rs",),
    ),
    Place(
        "a revision as text",
        r'"20[0-9]{2}-[0-9]{2}-[0-9]{2}"',
        ("core/engine/src", *DOORS),
        ("core/engine/src/wire/", "core/engine/src/testing.rs"),
    ),
    Place(
        "a revision by its name",
        r"\bV20[0-9]{2}_[0-9]{2}_[0-9]{2}\b",
        ("core/engine/src", *DOORS),
        ("core/engine/src/wire/", "core/engine/src/testing.rs"),
    ),
    Place(
        "a raw pointer made into a reference or a box",
        r"\bfrom_raw\b|\bfrom_raw_parts(_mut)?\b|\.as_ref\(\)|\.as_mut\(\)|\binto_raw\b",
        ("ffi-c/src",),
        ("ffi-c/src/handle.rs",),
    ),
)

# What the engine must not depend on, directly or through others: runtimes, sockets, clocks, HTTP.
NOT_IN_ENGINE = {"tokio", "mio", "socket2", "async-std", "smol", "hyper", "reqwest", "ureq", "chrono", "rand"}


def code_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are neither comments nor the test module of a Rust file."""
    if path.suffix == ".py":
        yield from python_lines(path)
        return
    text = path.read_text()
    if path.suffix in TYPESCRIPT:
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#[cfg(test)]"):
            return
        code = line.split("//", 1)[0]
        if code.strip():
            yield number, code


def python_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The tokens of a Python file that are neither comments nor docstrings, joined by their lines."""
    lines: dict[int, str] = {}
    before = tokenize.NEWLINE
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_docstring = token.type == tokenize.STRING and before in STATEMENT_STARTS
            if token.type not in (tokenize.COMMENT, tokenize.NL) and not is_docstring:
                line = lines.get(token.start[0], "")
                lines[token.start[0]] = line.ljust(token.start[1]) + token.string
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                before = token.type
    yield from lines.items()


def place_findings() -> Iterator[str]:
    """Patterns outside their place."""
    for place in PLACES:
        pattern = re.compile(place.pattern)
        for folder in place.within:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix not in {".rs", ".py", *TYPESCRIPT}:
                    continue
                name = path.relative_to(ROOT).as_posix()
                if name.startswith(place.allowed):
                    continue
                for number, line in code_lines(path):
                    if pattern.search(line):
                        yield f"{name}:{number}: {place.what} belongs in {' or '.join(place.allowed)}"


def engine_findings() -> Iterator[str]:
    """What makes the engine impure beside what clippy sees (core/engine/clippy.toml)."""
    if "#![forbid(unsafe_code)]" not in (ROOT / "core/engine/src/lib.rs").read_text():
        yield "core/engine/src/lib.rs: no #![forbid(unsafe_code)]"
    tree = [
        "cargo",
        "tree",
        "--package",
        "ferromcp-engine",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]
    listed = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted({line.split()[0] for line in listed.splitlines() if line.strip()} & NOT_IN_ENGINE):
        yield f"core/engine: depends on {name}, which brings I/O, time or randomness"


def main() -> int:
    """Prints the findings; the number of them decides the exit code."""
    findings = [*place_findings(), *engine_findings()]
    for finding in findings:
        print(finding)
    print(f"places: {len(PLACES)} patterns, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
