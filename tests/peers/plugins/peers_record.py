"""Writes what became of each test as one line of JSON, while the run goes on.

For both runs, so that a stock run differs from ours by nothing but the engine. `--peers-record FILE` says
where to; `--peers-leave-out REGEX` deselects tests by their ids.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TextIO

import pytest

# Characters of a failure that are kept.
LONGEST = 300

SERVED = "served by ferromcp"
"""The user property under which a test tells how many connections the engine has served in it, by road."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("peers")
    group.addoption("--peers-record", metavar="FILE", help="write the outcome of each test there")
    group.addoption("--peers-leave-out", metavar="REGEX", help="deselect the tests whose ids match")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--peers-record")
    if path is not None:
        config.pluginmanager.register(Recorder(Path(path)), "peers-recorder")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    pattern = config.getoption("--peers-leave-out")
    if pattern is None:
        return
    left_out = [item for item in items if re.search(pattern, item.nodeid)]
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


class Recorder:
    """Puts the three phases of each test together: a failure in any of them is a failure of the test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._outcome = "passed"
        self._reason = ""

    def pytest_sessionstart(self) -> None:
        self._file = self._path.open("w", encoding="utf-8", buffering=1)

    def pytest_sessionfinish(self) -> None:
        if self._file is not None:
            self._file.close()

    def pytest_runtest_logstart(self) -> None:
        self._outcome, self._reason = "passed", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._outcome != "failed":
            self._outcome, self._reason = "failed", _what_failed(report)
        elif report.skipped and self._outcome == "passed":
            self._outcome = "skipped"  # an expected failure counts as one, too
        if report.when == "teardown":
            served = dict(report.user_properties).get(SERVED, {})
            self._write(report.nodeid, self._outcome, self._reason, served)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can't be imported fails as a whole."""
        if report.failed:
            self._write(report.nodeid, "failed", _what_failed(report), {})

    def _write(self, test: str, outcome: str, reason: str, served: Any) -> None:
        assert self._file is not None  # open for as long as the session lasts
        line = {"test": test, "outcome": outcome, "reason": reason, "served": served}
        self._file.write(json.dumps(line) + "\n")


def _what_failed(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What went wrong, in one line: the failure's message, or how the report ends where it has none."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(report.longrepr).splitlines()[-1:] if crash is None else crash.message.splitlines()[:2]
    return " ".join(line.strip() for line in lines)[:LONGEST]
