"""The manifest agrees with the tests, and the checker notices where it would not."""

from __future__ import annotations

from pathlib import Path

import pytest
import requirements as checker

ROW = """
[[requirement]]
id = "a-rule"
text = "A rule."
level = "MUST"
side = "server"
section = "basic/index"
revisions = ["2026-07-28"]
transports = ["stdio"]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with one vector, one Rust test and one Python test, which all name the row `a-rule`."""
    for name, text in {
        "tests/vectors/server.json": "{}",
        "tests/vectors/x/one.json": '{"requirements": ["a-rule"]}',
        "core/engine/tests/flow.rs": "// requirement: a-rule\n#[test]\nfn holds() {}\nfn other() {}\n",
        "py/tests/test_it.py": "class TestIt:\n    # requirement: a-rule\n    def test_it(self): ...\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


NAMES = [
    "vectors/x/one.json",
    "rust:core/engine/tests/flow.rs::holds",
    "py:py/tests/test_it.py::TestIt::test_it",
]


def problems(tree: Path, manifest: str) -> list[str]:
    path = tree / "requirements.toml"
    path.write_text(manifest)
    rows, wrong_rows = checker.read_manifest(path)
    tests, wrong_marks = checker.find_tests(tree)
    return [*wrong_rows, *wrong_marks, *checker.check(rows, tests)]


def named(*names: str) -> str:
    return ROW + f"tests = {list(names)}\n"


def test_manifest_and_tests_agree() -> None:
    assert checker.main(["--check"]) == 0


def test_agreement_is_no_problem(tree: Path) -> None:
    assert problems(tree, named(*NAMES)) == []


@pytest.mark.parametrize("missing", NAMES)
def test_a_test_that_the_row_does_not_name(tree: Path, missing: str) -> None:
    found = problems(tree, named(*(name for name in NAMES if name != missing)))
    assert found == [f"a-rule: does not name {missing}, which names it"]


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ("vectors/x/two.json", "there is no test vectors/x/two.json"),
        ("rust:core/engine/tests/flow.rs::gone", "there is no test rust:core/engine/tests/flow.rs::gone"),
        (
            "rust:core/engine/tests/flow.rs::other",
            "rust:core/engine/tests/flow.rs::other does not name this row",
        ),
    ],
)
def test_a_row_that_names_too_much(tree: Path, extra: str, problem: str) -> None:
    assert problems(tree, named(*NAMES, extra)) == [f"a-rule: {problem}"]


def test_a_row_that_nothing_proves(tree: Path) -> None:
    open_row = ROW.replace("a-rule", "another-rule")
    found = problems(tree, named(*NAMES) + open_row)
    assert found == ["another-rule: neither tests, nor later, nor by_host"]
    assert problems(tree, named(*NAMES) + open_row + 'later = "http"\n') == []
    assert problems(tree, named(*NAMES) + open_row + 'by_host = "authors of tools"\n') == []


def test_a_test_that_names_an_unknown_row(tree: Path) -> None:
    (tree / "tests/vectors/x/one.json").write_text('{"requirements": ["a-rule", "no-rule"]}')
    assert problems(tree, named(*NAMES)) == ["vectors/x/one.json: there is no requirement no-rule"]


def test_a_mark_above_nothing(tree: Path) -> None:
    (tree / "core/engine/tests/flow.rs").write_text("fn holds() {}\n// requirement: a-rule\n")
    found = problems(tree, named(NAMES[0], NAMES[2]))
    assert found == ["core/engine/tests/flow.rs: `requirement: a-rule` stands above no function"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("level", "levels"), "a-rule: unknown key 'levels'"),
        (('"MUST"', '"MAY"'), "a-rule: level 'MAY'"),
        (("stdio", "carrier pigeon"), "a-rule: transports ['carrier pigeon']"),
        (("2026-07-28", "2026-07-29"), "a-rule: revisions ['2026-07-29']"),
        (('"A rule."', '"A rule"'), "a-rule: text is a sentence"),
        (("a-rule", "A rule"), "A rule: an id is lower-case words joined by hyphens"),
    ],
)
def test_a_malformed_row(tree: Path, change: tuple[str, str], problem: str) -> None:
    assert problem in problems(tree, named(*NAMES).replace(*change, 1))


def test_a_row_that_stands_twice(tree: Path) -> None:
    assert "a-rule: stands 2 times" in problems(tree, named(*NAMES) + named(*NAMES))


def test_link_writes_what_check_wants(tree: Path) -> None:
    path = tree / "requirements.toml"
    path.write_text("# A comment.\n" + named("vectors/x/gone.json"))
    rows, _ = checker.read_manifest(path)
    tests, _ = checker.find_tests(tree)
    checker.link(rows, tests, path)
    assert path.read_text().startswith("# A comment.\n")
    assert problems(tree, path.read_text()) == []
