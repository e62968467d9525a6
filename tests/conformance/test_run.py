"""What counts as passed, and what is expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from run import Outcome, expected_failures, judge, report, scenarios


def check(status: str, name: str = "the-check") -> dict[str, Any]:
    return {"id": name, "status": status, "errorMessage": "why"}


@pytest.mark.parametrize(
    ("checks", "passed"),
    [
        ([check("SUCCESS")], True),
        ([check("SUCCESS"), check("INFO"), check("SKIPPED")], True),
        ([check("SUCCESS"), check("FAILURE")], False),
        ([check("SUCCESS"), check("WARNING")], False),
        ([check("SKIPPED"), check("SKIPPED")], False),
        ([check("INFO")], False),
        ([], False),
        # That all messages were well formed proves nothing of the scenario.
        ([check("SKIPPED"), check("SUCCESS", "wire-schema-valid")], False),
    ],
)
def test_a_scenario_passes_by_its_own_checks(checks: list[dict[str, Any]], passed: bool) -> None:
    outcome = judge(checks)
    assert outcome.passed is passed
    assert bool(outcome.reasons) is not passed


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_a_listed_scenario_has_to_fail_and_no_other_may(passed: bool, listed: bool) -> None:
    expected = {("rust", "2025-11-25", "ping"): "a reason"} if listed else {}
    outcomes = {"ping": Outcome(passed, 1, 0, [] if passed else ["why"])}
    assert report("rust", "2025-11-25", outcomes, expected, 0) is (passed is not listed)


def test_unscored_scenarios_of_servers_are_run_too() -> None:
    found = scenarios("2026-07-28")
    assert found["server-stateless"] is True
    assert found["tasks-lifecycle"] is False
    assert "auth/dpop" not in found


def test_every_expected_failure_has_a_reason() -> None:
    assert all(expected_failures(["rust"]).values())
