"""The runner of `make peers` notices what it is there for. Needs no network and runs none of the suites."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from compare import (
    Difference,
    Outcome,
    claim,
    control_failures,
    problems,
    read_differences,
    read_outcomes,
    roads,
)
from mcp_types import JSONRPCRequest
from suites import Suite, read_suites, unpack
from table import rows, table

HERE = Path(__file__).parent
PLUGINS = HERE / "plugins"
sys.path.insert(0, str(PLUGINS))

from peers_wire import Spoiler  # noqa: E402  # from the folder that the runner gives to pytest

PASSED = Outcome("passed")
SERVED = Outcome("passed", served={"handler": 2})
FAILED = Outcome("failed", "E")
KNOWN = Difference("internals", "A reason.")


# What is checked in.


def test_suites_are_of_the_packages_that_are_downloaded() -> None:
    packages = [suite.package for suite in read_suites(HERE / "suites.toml")]
    sources = re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", read("sources.txt"), re.MULTILINE)
    assert [f"{name}-{version}" for name, version in sources] == packages
    for name, version in sources:
        assert f"\n{name}=={version}\n" in read("requirements.txt")


def test_known_differences_are_of_the_suites() -> None:
    packages = {suite.package for suite in read_suites(HERE / "suites.toml")}
    assert read_differences(HERE / "differences.toml").keys() <= packages


def read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


# Differences.


def test_the_same_outcomes_are_no_problem() -> None:
    stock = {"f::a": PASSED, "f::b": FAILED, "f::c": Outcome("skipped")}
    assert list(problems(stock, {**stock, "f::a": SERVED}, {})) == []


def test_a_listed_difference_is_no_problem() -> None:
    stock, ours = {"f::a": PASSED, "f::b": PASSED}, {"f::a": SERVED, "f::b": FAILED}
    assert list(problems(stock, ours, {"f::b": KNOWN})) == []


@pytest.mark.parametrize(
    ("ours", "problem"),
    [
        ({"f::b": FAILED}, "differs and is not listed: f::b: E"),
        ({"f::b": Outcome("skipped")}, "differs and is not listed: f::b: skipped"),
        ({}, "differs and is not listed: f::b: the run ended before it"),
    ],
)
def test_a_difference_that_is_not_listed(ours: dict[str, Outcome], problem: str) -> None:
    stock = {"f::a": PASSED, "f::b": PASSED}
    assert list(problems(stock, {"f::a": SERVED, **ours}, {})) == [problem]


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        ("f::a", "listed, and it passes: f::a"),
        ("f::b", "listed, and it does not pass stock either: f::b"),
        ("f::c", "listed, and there is no such test: f::c"),
    ],
)
def test_a_listed_difference_that_is_none(test: str, problem: str) -> None:
    stock = {"f::a": PASSED, "f::b": FAILED}
    assert list(problems(stock, {"f::a": SERVED, "f::b": FAILED}, {test: KNOWN})) == [problem]


def test_a_difference_that_comes_and_goes() -> None:
    stock, known = (
        {"f::a": PASSED, "f::b": PASSED},
        {"f::b": Difference("internals", "A reason.", sometimes=True)},
    )
    assert list(problems(stock, {"f::a": SERVED, "f::b": FAILED}, known)) == []
    assert list(problems(stock, {"f::a": SERVED, "f::b": PASSED}, known)) == []


def test_a_run_that_proves_nothing() -> None:
    assert list(problems({}, {}, {})) == ["no test ran"]
    assert list(problems({"f::a": PASSED}, {"f::a": PASSED}, {})) == ["the engine served no connection"]


def entry(by: str = "internals", reason: str = "A reason.", tests: str = '"f::a"') -> str:
    return f'[[difference]]\npackage = "p-1"\nby = "{by}"\nreason = "{reason}"\ntests = [{tests}]\n'


def test_differences_are_read_by_package_and_test(tmp_path: Path) -> None:
    path = tmp_path / "differences.toml"
    path.write_text(entry() + entry(tests='"f::b", "f::c"'))
    assert read_differences(path) == {"p-1": {"f::a": KNOWN, "f::b": KNOWN, "f::c": KNOWN}}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (entry(by="nobody"), "by = 'nobody': one of specification, internals, harness, owed"),
        (entry(reason=""), "p-1: a reason is one line: ''"),
        (entry(reason="Two\\nlines."), "p-1: a reason is one line: 'Two\\nlines.'"),
        (entry() + entry(), "p-1: f::a is listed twice"),
    ],
)
def test_a_malformed_list_of_differences(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "differences.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as raised:
        read_differences(path)
    assert str(raised.value) == error


# What they come to.

CONTRADICTED = Difference("specification", "A reason.")


@pytest.mark.parametrize(
    ("known", "lines"),
    [
        (
            {"f::b": CONTRADICTED, "f::c": CONTRADICTED},
            [
                "pass on us + contradicted by the specification: 1 + 2 >= 3 stock",
                "    2 differ: the specification contradicts the test",
            ],
        ),
        (
            {"f::b": KNOWN},
            [
                "pass on us + contradicted by the specification: 1 + 0 < 3 stock",
                "    1 differ: the test asserts what only the SDK's own code can do or say",
                "    1 differ: not in differences.toml",
            ],
        ),
    ],
)
def test_the_claim_can_be_read_off(known: dict[str, Difference], lines: list[str]) -> None:
    stock = {"f::a": PASSED, "f::b": PASSED, "f::c": PASSED, "f::d": FAILED}
    assert list(claim(stock, {"f::a": SERVED, "f::b": FAILED, "f::c": FAILED}, known)) == lines


# The control.


def test_the_control_counts_what_it_reached() -> None:
    spoilt = Outcome("failed", "E", {"handler": 1})
    ours = {"f::noticed": SERVED, "f::unnoticed": SERVED, "f::after": SERVED, "f::failed": spoilt}
    ours |= {"f::alone": PASSED, "f::child": Outcome("passed", served={"process": 1})}
    control = {"f::noticed": spoilt, "f::unnoticed": SERVED, "f::failed": spoilt, "f::alone": FAILED}
    # A loop that the test before has broken: nothing was spoilt here.
    control |= {"f::after": FAILED}
    assert control_failures(ours, control) == (1, 3)


def spoil(*lines: dict[str, object]) -> list[dict[str, object]]:
    spoiler = Spoiler()
    for number, method in enumerate(("initialize", "tools/call", "tools/list")):
        spoiler.sent(JSONRPCRequest(jsonrpc="2.0", id=number, method=method))
    return [json.loads(spoiler.received(json.dumps(line).encode())) for line in lines]


def test_one_answer_is_spoilt() -> None:
    sent = [{"id": 0, "result": {}}, {"id": 1, "method": "ping"}, {"id": 1, "result": {"content": []}}]
    sent += [{"id": 1, "result": {}}, {"id": 2, "result": {}}]
    assert spoil(*sent) == [*sent[:2], {"id": 1, "result": {"spoilt": True}}, *sent[3:]]


def test_a_spoilt_error_is_an_error() -> None:
    (spoilt,) = spoil({"id": 1, "error": {"code": -32601, "message": "Method not found"}})
    assert spoilt == {"id": 1, "error": {"code": 1, "message": "spoilt"}}


# The table.


def test_the_table_counts_by_file() -> None:
    stock = {"f::a": PASSED, "f::b": PASSED, "g::a": Outcome("skipped")}
    ours = {"f::a": SERVED, "f::b": FAILED, "g::a": Outcome("skipped")}
    lines = table("p-1", rows(stock, ours, {"f::a": Outcome("failed", "E", {"direct": 1})})).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["f", "2/0/0", "1/1/0", "2", "1"],
        ["g", "0/0/1", "0/0/1", "0", "0"],
        ["all", "2/0/1", "1/1/1", "2", "1"],
    ]
    assert len({len(line) for line in lines}) == 1
    assert roads(ours) == {"handler": 2}


# The record of a run.

TESTS = """
import pytest

@pytest.fixture
def broken():
    yield
    raise RuntimeError("teardown")

def test_passes(): pass
def test_fails(): assert 1 == 2, "because"
def test_breaks(broken): pass
def test_skips(): pytest.skip("not here")
@pytest.mark.xfail
def test_is_expected_to_fail(): assert False
@pytest.mark.parametrize("way", ["wire", "air"])
def test_way(way): pass
"""


def test_outcomes_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_bad.py").write_text("import nothing_of_this_name\n")
    record = tmp_path / "record.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "peers_record"]
    command += [f"--peers-record={record}", "--peers-leave-out=\\[air", "--continue-on-collection-errors"]
    env = {**os.environ, "PYTHONPATH": str(PLUGINS)}
    subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    found = read_outcomes(record)
    assert {test: outcome.outcome for test, outcome in found.items()} == {
        "test_bad.py": "failed",
        "test_it.py::test_passes": "passed",
        "test_it.py::test_fails": "failed",
        "test_it.py::test_breaks": "failed",
        "test_it.py::test_skips": "skipped",
        "test_it.py::test_is_expected_to_fail": "skipped",
        "test_it.py::test_way[wire]": "passed",
    }
    assert found["test_it.py::test_fails"].reason == "AssertionError: because assert 1 == 2"
    assert found["test_it.py::test_breaks"].reason == "RuntimeError: teardown"
    assert "nothing_of_this_name" in found["test_bad.py"].reason
    assert found["test_it.py::test_passes"] == PASSED


# The source packages.


def test_a_package_is_unpacked_once_and_without_what_is_installed(tmp_path: Path) -> None:
    source = tmp_path / "p-1"
    for name in ("src/p/__init__.py", "tests/test_it.py"):
        (source / name).parent.mkdir(parents=True)
        (source / name).touch()
    out = tmp_path / "out"
    out.mkdir()
    with tarfile.open(out / "p-1.tar.gz", "w:gz") as archive:
        archive.add(source, "p-1")
    suite = Suite("p-1", ("src",), (), ("tests",), (), "$^")
    root = unpack(suite, out)
    assert [path.name for path in root.iterdir()] == ["tests"]
    (root / "tests" / "test_it.py").unlink()
    assert unpack(suite, out) == root
    assert not list((root / "tests").iterdir())
    assert sorted(path.name for path in out.iterdir()) == ["p-1", "p-1.tar.gz"]
