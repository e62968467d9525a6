"""Other people's tests, stock and on the engine, with a table: `make peers`.

Each suite of `suites.toml` runs three times: as it is; with the engine under every server that the tests run
in memory or over stdio (`plugins/peers_engine.py`); and once more with one answer of each connection spoilt,
which most of the tests have to notice. Exit code 1 when a test that passes stock fails on the engine and is
not in `differences.toml`, when one that is listed passes, and when the control goes unnoticed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

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
from suites import Suite, read_suites, unpack
from table import rows, table

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "target" / "peers"

ON_ENGINE = ["-p", "peers_engine"]
RUNS: dict[str, tuple[list[str], dict[str, str]]] = {
    "stock": ([], {}),
    "ours": (ON_ENGINE, {}),
    "control": (ON_ENGINE, {"FERROMCP_CORRUPT": "1"}),
}
"""What each run adds for pytest, and to the environment."""

# Seconds. A run takes half a minute; the control waits for some of the answers that it has spoilt.
LONGEST = 1200


def main() -> int:
    options = arguments()
    suites = read_suites(HERE / "suites.toml")
    known = read_differences(HERE / "differences.toml")
    found = [
        f"differences.toml: {package} is no suite"
        for package in known.keys() - {suite.package for suite in suites}
    ]
    for suite in suites:
        if options.suite in suite.package:
            runs = {name: run(suite, name, options.road) for name in RUNS}
            print(table(suite.package, rows(**runs)), end="\n\n")
            found += [f"{suite.package}: {problem}" for problem in judge(runs, known.get(suite.package, {}))]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"peers: {len(found)} problems")
    return 1 if found else 0


def arguments() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--suite", default="", help="only the packages whose name contains this")
    parser.add_argument("--road", help="a certain road; by default the one that ferromcp.run takes")
    return parser.parse_args()


def run(suite: Suite, name: str, road: str | None) -> dict[str, Outcome]:
    """The outcomes of one run of the suite. What pytest prints goes into a file beside them."""
    root = unpack(suite, OUT)
    record, log = (OUT / f"{suite.package}.{name}.{kind}" for kind in ("jsonl", "log"))
    record.unlink(missing_ok=True)
    plugins, extra = RUNS[name]
    env = {key: value for key, value in os.environ.items() if not key.startswith("FERROMCP_")}
    env |= {"PYTHONPATH": str(HERE / "plugins"), **extra}
    if road is not None:
        env["FERROMCP_ROAD"] = road
    command = [sys.executable, "-m", "pytest", "-q", "--color=no", "--tb=short", "-p", "no:cacheprovider"]
    command += ["-p", "peers_record", *plugins, f"--peers-record={record}", *suite.arguments]
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        subprocess.run(command, cwd=root, env=env, stdout=output, stderr=output, timeout=LONGEST, check=False)
    print(f"{suite.package}, {name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return read_outcomes(record) if record.exists() else {}


def judge(runs: Mapping[str, Mapping[str, Outcome]], known: Mapping[str, Difference]) -> Iterator[str]:
    """Prints what the runs come to, and gives what is wrong with them."""
    served = ", ".join(f"{road} {count}" for road, count in roads(runs["ours"]).most_common())
    print(f"connections by road: {served}")
    print(*claim(runs["stock"], runs["ours"], known), sep="\n")
    failed, reached = control_failures(runs["ours"], runs["control"])
    print(f"control: with one answer spoilt {failed} of {reached} fail", end="\n\n")
    yield from problems(runs["stock"], runs["ours"], known)
    if failed * 2 <= reached:
        yield f"the control goes unnoticed: {failed} of {reached} tests fail"


if __name__ == "__main__":
    sys.exit(main())
