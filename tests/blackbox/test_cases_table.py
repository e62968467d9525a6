"""CASES.md names tests that exist, and has a row for every case."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = (HERE / "CASES.md").read_text(encoding="utf-8")
TESTS = {
    name
    for path in HERE.glob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
}


def test_named_tests_exist() -> None:
    named = re.findall(r"`(test_[\w*]+)`", TABLE)
    assert len(named) > 50
    assert [name for name in named if not fnmatch.filter(TESTS, name)] == []


def test_each_case_with_a_test_has_a_row() -> None:
    cases = {match[1].upper() for name in TESTS if (match := re.match(r"test_([a-fh]\d+)_", name))}
    assert len(cases) > 30
    rows = set(re.findall(r"^\| ([A-FH]\d+) \|", TABLE, re.M))
    assert cases - rows == set()
