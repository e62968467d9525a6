"""Runs the official conformance suite against our servers, and holds what comes out to what is expected.

    python tests/conformance/run.py python rust          # those examples; all four without a name
    python tests/conformance/run.py node --scenario ping --verbose
    python tests/conformance/run.py --url http://localhost:8000/mcp      # any server that runs already

For each requirement set of the suite every server scenario is run, also those that the suite does not score.
Each has to pass, unless expected-failures.yaml says why not; and what is listed there has to fail, so that
the list can't grow old. It is stricter than the suite: a warning is a failure, and a scenario passes only if
one of its own checks did.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUITE = HERE / "node_modules/@modelcontextprotocol/conformance"
# The suite needs a newer Node than the machine may have.
NODE = HERE / "node_modules/node24/bin/node"
REVISIONS = ("2025-11-25", "2026-07-28")
SERVERS: dict[str, list[str | Path]] = {
    "python": [sys.executable, ROOT / "examples/python/everything_server.py"],
    "node": ["node", ROOT / "examples/node/everything_server.mjs"],
    "rust": [ROOT / "target/debug/everything_server"],
    "c": [ROOT / "target/c-tests/fixture/examples/c_everything_server"],
}
# Seconds.
START, END, RUN = 20, 10, 600


class Broken(Exception):
    """A server that could not be tested, and what it said."""


@dataclass
class Outcome:
    """What one scenario gave."""

    passed: bool
    checks: int
    skipped: int
    # Why it has not passed, a line for each check.
    reasons: list[str]


def read_yaml(path: Path) -> Any:
    """A YAML file, read by the library that the suite itself brings along."""
    script = "console.log(JSON.stringify(require('yaml').parse(require('fs').readFileSync(0, 'utf8'))))"
    command: list[str | Path] = [NODE, "-e", script]
    done = subprocess.run(
        command, cwd=HERE, input=path.read_text(), text=True, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def scenarios(revision: str) -> dict[str, bool]:
    """The server scenarios of a requirement set, and whether each is scored."""
    found = read_yaml(SUITE / f"requirements/{revision}.yaml")
    scored = dict.fromkeys(found["server"], True)
    return scored | {entry["scenario"]: False for entry in found["not_scored"] if entry["leg"] == "server"}


def expected_failures(languages: list[str]) -> dict[tuple[str, str, str], str]:
    """Reasons by language, revision and scenario."""
    expected = {}
    for entry in read_yaml(HERE / "expected-failures.yaml") or []:
        for revision in entry["revisions"]:
            if entry["scenario"] not in scenarios(revision):
                raise SystemExit(
                    f"expected-failures.yaml: {revision} has no server scenario {entry['scenario']!r}"
                )
            for language in entry.get("languages", languages):
                expected[language, revision, entry["scenario"]] = entry["reason"]
    return expected


@contextmanager
def serving(language: str) -> Iterator[str]:
    """An example server on a free port, and its URL; it has to live until the end, and to stop when told."""
    command = [*map(str, SERVERS[language]), "--port", "0"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if line.startswith("Listening on "):
                ready.set()
        ready.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        ready.wait(START)
        port = re.search(r"^Listening on http://[^/]*:(\d+)/mcp$", "".join(said), re.MULTILINE)
        if port is None:
            raise Broken(f"the server does not listen\n{''.join(said[-20:])}")
        # By this name: the suite's scenario of DNS rebinding refuses any address.
        yield f"http://localhost:{port[1]}/mcp"
        if process.poll() is not None:
            raise Broken(f"the server ended by itself, {process.returncode}\n{''.join(said[-20:])}")
    finally:
        process.terminate()
        try:
            process.wait(END)
        except subprocess.TimeoutExpired as expired:
            process.kill()
            raise Broken(f"the server does not end within {END} s when it is told to") from expired
        finally:
            listener.join(END)


def judge(checks: list[dict[str, Any]]) -> Outcome:
    """Passed: no check failed or warned, and one of the scenario's own succeeded."""
    checks = [check for check in checks if check["status"] != "INFO"]
    bad = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    reasons = [f"{check['status']} {check['id']}: {check.get('errorMessage', '')}" for check in bad]
    # `wire-schema-...` is the suite's look at all messages, whatever the scenario is about.
    own = [check for check in checks if not check["id"].startswith("wire-schema")]
    if not reasons and not any(check["status"] == "SUCCESS" for check in own):
        reasons = [f"{check['status']} {check['id']}: {check.get('errorMessage', '')}" for check in own]
        reasons = reasons or ["no check was made"]
    skipped = sum(check["status"] == "SKIPPED" for check in checks)
    return Outcome(not reasons, len(checks), skipped, reasons)


def run_suite(url: str, revision: str, scenario: str | None, verbose: bool) -> dict[str, Outcome]:
    """Every scenario of a requirement set, or one, against a server."""
    wanted = [scenario] if scenario else list(scenarios(revision))
    chosen = (
        ["--scenario", scenario, "--spec-version", revision, "--force"]
        if scenario
        else ["--requirements", revision]
    )
    outcomes = {name: Outcome(False, 0, 0, ["it was not run"]) for name in wanted}
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [
            NODE,
            SUITE / "dist/index.js",
            "server",
            "--url",
            url,
            "-o",
            folder,
            *chosen,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=HERE,
                timeout=RUN,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            said = done.stdout
        except subprocess.TimeoutExpired as expired:
            said = f"{expired.stdout!r}\nnot done after {RUN} s"
        for result in Path(folder).rglob("checks.json"):
            # server-NAME-TIME
            name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", result.parent.name)
            if name in outcomes:
                outcomes[name] = judge(json.loads(result.read_text()))
    if verbose or all(outcome.checks == 0 for outcome in outcomes.values()):
        print(said)
    return outcomes


def report(
    language: str,
    revision: str,
    outcomes: dict[str, Outcome],
    expected: dict[tuple[str, str, str], str],
    seconds: float,
) -> bool:
    """Prints the table of one run; whether all is as expected."""
    scored = scenarios(revision)
    wrong = 0
    print(f"\n{language}, {revision} ({seconds:.0f} s)")
    for name, outcome in outcomes.items():
        reason = expected.get((language, revision, name))
        word = "ok" if outcome.passed else "FAILED" if reason is None else "expected to fail"
        if outcome.passed and reason is not None:
            word = "PASSED, though expected-failures.yaml lists it"
        if outcome.passed and outcome.skipped > 0:
            word += f", {outcome.skipped} skipped"
        wrong += outcome.passed != (reason is None)
        kind = "" if scored.get(name, False) else "unscored"
        print(f"  {name:48} {kind:9} {outcome.checks:3}  {word}")
        if not outcome.passed and reason is None:
            for line in outcome.reasons:
                print(f"      {' '.join(line.split())[:600]}")
    for label, which in (("scored", True), ("unscored", False)):
        group = [outcome for name, outcome in outcomes.items() if scored.get(name, False) is which]
        print(f"  {label}: {sum(outcome.passed for outcome in group)} of {len(group)} passed")
    return wrong == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=", ".join(SERVERS))
    parser.add_argument("--url", help="a server that runs already, in the place of ours")
    parser.add_argument("--revision", choices=REVISIONS, action="append", help="only this requirement set")
    parser.add_argument("--scenario", help="only this one")
    parser.add_argument("--verbose", action="store_true", help="what the suite itself prints")
    options = parser.parse_args()
    for language in options.languages:
        if language not in SERVERS:
            parser.error(f"no server in {language!r}")
    languages = [options.url] if options.url else options.languages or list(SERVERS)
    expected = {} if options.url else expected_failures(list(SERVERS))
    all_fine = True
    for language in languages:
        for revision in options.revision or REVISIONS:
            if options.scenario and options.scenario not in scenarios(revision):
                continue
            began = time.monotonic()
            try:
                with nullcontext(options.url) if options.url else serving(language) as url:
                    outcomes = run_suite(url, revision, options.scenario, options.verbose)
            except Broken as broken:
                print(f"\n{language}, {revision}: {broken}")
                all_fine = False
                continue
            all_fine &= report(language, revision, outcomes, expected, time.monotonic() - began)
    print("\nall as expected" if all_fine else "\nnot all as expected")
    return 0 if all_fine else 1


if __name__ == "__main__":
    sys.exit(main())
