"""Where the time of one row goes: `perf` round our server of the row, under the row's load.

    python tests/bench/profile_row.py "native Python, sync / mcp"

Measures what `bench.py` has built (add `CARGO_PROFILE_RELEASE_STRIP=none` to its run for names of functions).
Needs Linux's `perf`. For Python's own functions attach `py-spy record --pid` to a server under load.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from load import measure
from rows import ROOT, ROWS

OUT = ROOT / "target" / "bench"
SITE = OUT / "site"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("row", help="a part of a row's name, as bench.py prints it")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    rows = [row for row in ROWS if options.row.lower() in row.name.lower()]
    if len(rows) != 1:
        print("one of: " + "; ".join(row.name for row in ROWS), file=sys.stderr)
        return 2
    subject = rows[0].ours
    data = str(OUT / "perf.data")
    command = ["perf", "record", "-q", "-o", data, "-F", "4000", "--", *subject.started_by(sys.executable)]
    measure(command, {"PYTHONPATH": str(SITE)}, subject.tool, subject.size, subject.window, options.seconds)
    for what in ("dso", "symbol"):
        report = [
            "perf",
            "report",
            "-i",
            data,
            "--stdio",
            "--no-children",
            "--sort",
            what,
            "--percent-limit",
            "1",
        ]
        lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout.splitlines()
        print(f"\nby {what}")
        print("\n".join(line.rstrip() for line in lines if line.strip() and not line.startswith("#")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
