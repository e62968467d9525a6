"""Instructions that one `tools/call` costs in the engine, counted by valgrind's callgrind.

Counts are the same whatever else the machine does, so a change of 5 % is a change of the code. Two runs with
different numbers of calls are subtracted, which leaves the calls alone. `--check` compares with the figures
that are checked in, `--write` replaces them. They belong to one compiler: with another one, `--check` only
says so. `--profile dev` builds as the tests do, which takes seconds after them; `release` is what users get.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "core/engine/benches/instructions.json"
# Message size by name, and the numbers of calls of the two runs.
CASES = {"small": (500, 1_500), "large": (20, 60)}
TOLERANCE = 0.05


def compiler() -> str:
    """The compiler's version, which the figures depend on."""
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def build(profile: str, cargo_flags: list[str]) -> str:
    """Build the bench program and return its path."""
    # The packages that the tests name, so that what they have compiled serves here.
    packages = ["--workspace", "--exclude", "ferromcp-py"] if profile == "dev" else ["-p", "ferromcp-engine"]
    command = ["cargo", "build", *cargo_flags, *packages, "--bench", "instructions"]
    # As released, with the names of functions.
    command += ["--profile", "bench" if profile == "release" else "dev", "--message-format=json"]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "instructions":
            return str(message["executable"])
    raise SystemExit("cargo named no program")


def count(program: str, case: str, calls: int) -> int:
    """Instructions of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/out",
            program,
            case,
            str(calls),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if collected is None:
        raise SystemExit(f"callgrind said nothing of instructions: {run.stderr[-300:]}")
    return int(collected.group(1))


def measure(program: str) -> dict[str, int]:
    """Instructions for one call of each size."""
    figures = {}
    for case, (few, many) in CASES.items():
        figures[case] = round((count(program, case, many) - count(program, case, few)) / (many - few))
    return figures


def main() -> int:
    """Measure, and compare or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--profile", choices=("dev", "release"), default="release")
    options, cargo_flags = parser.parse_known_args()
    profile = options.profile
    figures = measure(build(profile, cargo_flags))
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    print(f"instructions for one call ({profile}): small {figures['small']:,}, 100 KB {figures['large']:,}")
    if options.write:
        others = {name: known[name] for name in known if known.get("compiler") == compiler()}
        FIGURES.write_text(json.dumps({**others, "compiler": compiler(), profile: figures}, indent=2) + "\n")
        return 0
    if known.get("compiler") != compiler() or profile not in known:
        print(f"the figures that are checked in belong to {known.get('compiler')}; this is {compiler()}")
        return 0
    risen = [case for case in CASES if figures[case] > known[profile][case] * (1 + TOLERANCE)]
    for case in CASES:
        change = figures[case] / known[profile][case] - 1
        mark = "  RISEN" if case in risen else ""
        print(f"  {case}: {known[profile][case]:,} checked in, {change:+.1%}{mark}")
    return 1 if options.check and risen else 0


if __name__ == "__main__":
    sys.exit(main())
