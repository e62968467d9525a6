"""Outcomes of the runs, held against each other and against the list of known differences.

A difference is a test that passes stock and does not pass on the engine. Each has to stand in
`differences.toml`, and nothing else may.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "BY",
    "Difference",
    "Outcome",
    "Outcomes",
    "claim",
    "control_failures",
    "problems",
    "read_differences",
    "read_outcomes",
    "roads",
]

BY = {
    "specification": "the specification contradicts the test",
    "internals": "the test asserts what only the SDK's own code can do or say",
    "harness": "comes from how the tests are run here",
    "owed": "ours to change",
}
"""On whose account a difference is."""


@dataclass(frozen=True)
class Outcome:
    """What became of a test: passed, failed or skipped; why it failed; the connections it had, by road."""

    outcome: str
    reason: str = ""
    served: Mapping[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def is_reached(self) -> bool:
        """Whether the control can reach it: servers in processes of their own it leaves alone."""
        return bool(self.served.keys() - {"process"})

    @property
    def has_noticed(self) -> bool:
        """Whether it failed under the control, and not only because a test before it broke the loop."""
        return self.outcome == "failed" and self.is_reached


Outcomes = Mapping[str, Outcome]
"""By the test's id, `file::class::function[parameters]`."""


@dataclass(frozen=True)
class Difference:
    """Why a test passes stock and not on the engine. `sometimes`: it may also pass there."""

    by: str
    reason: str
    sometimes: bool = False


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """What `peers_record` has written."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["test"]: Outcome(line["outcome"], line["reason"], line["served"]) for line in lines}


def read_differences(path: Path) -> dict[str, dict[str, Difference]]:
    """The known differences of each package, by the test's id.

    Raises:
        ValueError: an entry is malformed, or a test stands in two of them.
    """
    found: dict[str, dict[str, Difference]] = {}
    for table in tomllib.loads(path.read_text(encoding="utf-8")).get("difference", []):
        package, by, reason = table["package"], table["by"], table["reason"]
        if by not in BY:
            raise ValueError(f"by = {by!r}: one of {', '.join(BY)}")
        if not reason or "\n" in reason:
            raise ValueError(f"{package}: a reason is one line: {reason!r}")
        known = found.setdefault(package, {})
        for test in table["tests"]:
            if test in known:
                raise ValueError(f"{package}: {test} is listed twice")
            known[test] = Difference(by, reason, table.get("sometimes", False))
    return found


def differing(stock: Outcomes, ours: Outcomes) -> dict[str, str]:
    """The tests that pass stock and not on the engine, each with what went wrong."""
    missing = Outcome("missing", "the run ended before it")
    pairs = ((test, ours.get(test, missing)) for test, outcome in stock.items() if outcome.passed)
    return {test: ours.reason or ours.outcome for test, ours in pairs if not ours.passed}


def problems(stock: Outcomes, ours: Outcomes, known: Mapping[str, Difference]) -> Iterator[str]:
    """Where the outcomes and the list of differences disagree."""
    if not stock:
        yield "no test ran"
    elif not roads(ours):
        yield "the engine served no connection"
    found = differing(stock, ours)
    for test, reason in found.items():
        if test not in known:
            yield f"differs and is not listed: {test}: {reason}"
    for test, difference in known.items():
        if test not in stock:
            yield f"listed, and there is no such test: {test}"
        elif not stock[test].passed:
            yield f"listed, and it does not pass stock either: {test}"
        elif test not in found and not difference.sometimes:
            yield f"listed, and it passes: {test}"


def claim(stock: Outcomes, ours: Outcomes, known: Mapping[str, Difference]) -> Iterator[str]:
    """What the outcomes come to, in lines: the tests that pass, and on whose account the others do not."""
    found = Counter(known[test].by if test in known else "unlisted" for test in differing(stock, ours))
    passed, before = (sum(outcome.passed for outcome in run.values()) for run in (ours, stock))
    contradicted = found["specification"]
    sign = ">=" if passed + contradicted >= before else "<"
    yield f"pass on us + contradicted by the specification: {passed} + {contradicted} {sign} {before} stock"
    for by, meaning in {**BY, "unlisted": "not in differences.toml"}.items():
        if found[by]:
            yield f"{found[by]:5} differ: {meaning}"


def control_failures(ours: Outcomes, control: Outcomes) -> tuple[int, int]:
    """Of the tests that pass on the engine and had a connection: how many fail when an answer is spoilt, and
    how many there are.
    """
    reached = [test for test, outcome in ours.items() if outcome.passed and outcome.is_reached]
    noticed = [test for test in reached if test in control and control[test].has_noticed]
    return len(noticed), len(reached)


def roads(outcomes: Outcomes) -> Counter[str]:
    """The connections served, by the road that they took."""
    total: Counter[str] = Counter()
    for outcome in outcomes.values():
        total.update(outcome.served)
    return total
