"""Holds requirements.toml against the tests: the count by chapter, and whether each side names the other.

    python tests/requirements.py            the count by chapter
    python tests/requirements.py --check    fails where the manifest and the tests disagree
    python tests/requirements.py --suggest  lists the rows that nothing proves yet
    python tests/requirements.py --link     rewrites the `tests` of every row from what the tests name

A test names the rows that it proves: a vector in its `requirements` list, a Rust test by
`// requirement: id, id` above it, a Python test by `# requirement: id, id` above it or by
`@pytest.mark.requirement("id")`. The manifest names the test in turn, so that neither can lose the other
unnoticed. What a row means, and whether a test proves it, is for people.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "tests" / "requirements.toml"

LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT"}
SIDES = {"server", "client", "both"}
REVISIONS = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
TRANSPORTS = {"stdio", "http"}
LATER = {"http", "client", "auth", "features"}
REQUIRED_KEYS = {"id", "text", "level", "side", "section", "revisions", "transports"}
OPTIONAL_KEYS = {"later", "by_host", "tests"}

# Where tests may stand, by language. Rust unit tests live beside the code, so all of each crate is read.
RUST_ROOTS = ("core", "ffi-c", "py", "node", "examples/rust")
PYTHON_ROOTS = ("tests", "py/tests")
SKIPPED_FOLDERS = {"target", "node_modules", ".venv", ".git", "fuzz"}

IDENTIFIER = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RUST_MARK = re.compile(r"//+\s*requirement:\s*(.+)")
RUST_FUNCTION = re.compile(r"\s*(?:pub(?:\(crate\))?\s+)?(?:async\s+)?fn\s+(\w+)")
PYTHON_MARK = re.compile(r"#\s*requirement:\s*(.+)")


@dataclass
class Row:
    """One requirement, as the manifest writes it."""

    id: str
    text: str
    level: str
    side: str
    section: str
    revisions: list[str]
    transports: list[str]
    later: str | None = None
    by_host: str | None = None
    tests: list[str] = field(default_factory=list)

    @property
    def chapter(self) -> str:
        return self.section.partition("#")[0]

    @property
    def state(self) -> str:
        """proved, later, host or open: how the count takes it."""
        if self.later:
            return "later"
        if self.by_host:
            return "host"
        return "proved" if self.tests else "open"


@dataclass
class Tests:
    """Every test that the tree holds, by the name that the manifest gives it, with the rows that it names."""

    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, rows: list[str]) -> None:
        self.names.setdefault(name, []).extend(rows)

    def of_row(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, rows in self.names.items():
            for row in rows:
                if name not in found[row]:
                    found[row].append(name)
        return found


def read_manifest(path: Path = MANIFEST) -> tuple[list[Row], list[str]]:
    """The rows, and what is wrong with their form."""
    problems: list[str] = []
    rows: list[Row] = []
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    for key in document.keys() - {"requirement"}:
        problems.append(f"unknown table {key!r}")
    for table in document.get("requirement", []):
        name = table.get("id", "?")
        unknown = table.keys() - REQUIRED_KEYS - OPTIONAL_KEYS
        missing = REQUIRED_KEYS - table.keys()
        problems += [f"{name}: unknown key {key!r}" for key in sorted(unknown)]
        problems += [f"{name}: no {key!r}" for key in sorted(missing)]
        if not unknown and not missing:
            row = Row(**table)
            problems += [f"{name}: {problem}" for problem in wrong_values(row)]
            rows.append(row)
    counts = Counter(row.id for row in rows)
    problems += [f"{name}: stands {count} times" for name, count in counts.items() if count > 1]
    return rows, problems


def wrong_values(row: Row) -> Iterator[str]:
    if not IDENTIFIER.fullmatch(row.id):
        yield "an id is lower-case words joined by hyphens"
    if row.level not in LEVELS:
        yield f"level {row.level!r}"
    if row.side not in SIDES:
        yield f"side {row.side!r}"
    if not row.revisions or not set(row.revisions) <= REVISIONS:
        yield f"revisions {row.revisions!r}"
    if not row.transports or not set(row.transports) <= TRANSPORTS:
        yield f"transports {row.transports!r}"
    if row.later is not None and row.later not in LATER:
        yield f"later {row.later!r}"
    if row.by_host is not None and not row.by_host.strip():
        yield "by_host must say who is bound"
    if row.later and row.by_host:
        yield "either later or by_host, not both"
    if not row.text.endswith("."):
        yield "text is a sentence"
    if len(row.tests) != len(set(row.tests)):
        yield "a test stands twice"


def find_tests(root: Path = ROOT) -> tuple[Tests, list[str]]:
    """Reads every test of the tree, and what is wrong with their marks."""
    tests, problems = Tests(), []
    vectors = root / "tests" / "vectors"
    for path in files(vectors, ".json"):
        if path.parent == vectors:  # server.json, which is no vector
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = document.get("requirements")
        name = path.relative_to(root / "tests").as_posix()
        if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
            problems.append(f"{name}: no list `requirements`")
            rows = []
        tests.add(name, rows)
    for folder in RUST_ROOTS:
        for path in files(root / folder, ".rs"):
            problems += rust_tests(path, root, tests)
    for folder in PYTHON_ROOTS:
        for path in files(root / folder, ".py"):
            problems += python_tests(path, root, tests)
    return tests, problems


def files(folder: Path, suffix: str) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in SKIPPED_FOLDERS:
                yield from files(path, suffix)
        elif path.suffix == suffix:
            yield path


def split_ids(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text.strip()) if part]


def rust_tests(path: Path, root: Path, tests: Tests) -> list[str]:
    """Every function is a possible test; its rows stand in comments between it and the one before."""
    pending: list[str] = []
    name = path.relative_to(root).as_posix()
    for line in path.read_text(encoding="utf-8").splitlines():
        if mark := RUST_MARK.search(line):
            pending += split_ids(mark.group(1))
        elif function := RUST_FUNCTION.match(line):
            tests.add(f"rust:{name}::{function.group(1)}", pending)
            pending = []
    return [f"{name}: `requirement: {row}` stands above no function" for row in pending]


def python_tests(path: Path, root: Path, tests: Tests) -> list[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    name = path.relative_to(root).as_posix()
    used: set[int] = set()
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"{name}:{error.lineno}: {error.msg}"]
    for qualified, node in functions(tree):
        rows: list[str] = []
        for decorator in node.decorator_list:
            rows += marked_rows(decorator)
        at = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 2
        while at >= 0 and lines[at].strip().startswith("#"):
            if mark := PYTHON_MARK.match(lines[at].strip()):
                rows += split_ids(mark.group(1))
                used.add(at)
            at -= 1
        tests.add(f"py:{name}::{qualified}", rows)
    return [
        f"{name}:{at + 1}: this requirement stands above no function"
        for at, line in enumerate(lines)
        if PYTHON_MARK.match(line.strip()) and at not in used
    ]


def functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}::")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child


def marked_rows(decorator: ast.expr) -> list[str]:
    """The rows of `@pytest.mark.requirement("id", ...)`; none for any other decorator."""
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
        return []
    if decorator.func.attr != "requirement":
        return []
    return [
        argument.value
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def check(rows: list[Row], tests: Tests) -> list[str]:
    """What the manifest says of tests and the tests of the manifest, where they disagree."""
    problems: list[str] = []
    by_id = {row.id: row for row in rows}
    for row in rows:
        if row.state == "open":
            problems.append(f"{row.id}: neither tests, nor later, nor by_host")
        for name in row.tests:
            if name not in tests.names:
                problems.append(f"{row.id}: there is no test {name}")
            elif row.id not in tests.names[name]:
                problems.append(f"{row.id}: {name} does not name this row")
    for name, named in tests.names.items():
        for row_id in named:
            row_or_none = by_id.get(row_id)
            if row_or_none is None:
                problems.append(f"{name}: there is no requirement {row_id}")
            elif name not in row_or_none.tests:
                problems.append(f"{row_id}: does not name {name}, which names it")
    return problems


def link(rows: list[Row], tests: Tests, path: Path = MANIFEST) -> None:
    """Rewrites `tests` of every row in place; all other lines stay as they are."""
    found = tests.of_row()
    known = {row.id for row in rows}
    out: list[str] = []
    current, skipping = "", False
    for line in path.read_text(encoding="utf-8").splitlines():
        if skipping:
            skipping = line.strip() != "]"
            continue
        if line.startswith("tests = "):
            skipping = not line.rstrip().endswith("]")
            continue
        if line.startswith("id = "):
            current = line.removeprefix("id = ").strip('"')
        out.append(line)
        if line.startswith("transports = ") and current in known and found.get(current):
            out += written_tests(sorted(found[current]))
    path.write_text("\n".join(out) + "\n", encoding="utf-8")


def written_tests(names: list[str]) -> list[str]:
    one = "tests = [" + ", ".join(f'"{name}"' for name in names) + "]"
    if len(one) <= 110:
        return [one]
    return ["tests = [", *(f'    "{name}",' for name in names), "]"]


def table(rows: list[Row]) -> str:
    """The count by chapter."""
    states = ("proved", "later", "host", "open")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row.chapter][row.state] += 1
        counts["total"][row.state] += 1
    chapters = sorted(chapter for chapter in counts if chapter != "total")
    width = max(len(chapter) for chapter in counts)
    lines = [f"{'chapter':<{width}}" + "".join(f"{state:>8}" for state in (*states, "total"))]
    for chapter in (*chapters, "total"):
        count = counts[chapter]
        numbers: tuple[Any, ...] = (*(count[state] for state in states), count.total())
        lines.append(f"{chapter:<{width}}" + "".join(f"{number or '-':>8}" for number in numbers))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Holds tests/requirements.toml against the tests.")
    parser.add_argument("--check", action="store_true", help="fail where the manifest and the tests disagree")
    parser.add_argument("--suggest", action="store_true", help="list the rows that nothing proves yet")
    parser.add_argument("--link", action="store_true", help="rewrite the tests of every row")
    options = parser.parse_args(arguments)
    rows, problems = read_manifest()
    tests, wrong_marks = find_tests()
    problems += wrong_marks
    if options.link:
        link(rows, tests)
        rows, problems = read_manifest()
    problems += check(rows, tests)
    if options.suggest:
        for row in rows:
            if row.state == "open":
                print(f"{row.id} ({row.level}, {row.side}, {row.section}): {row.text}")
        return 0
    if not options.check:
        print(table(rows))
        return 0
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(rows)} requirements, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
