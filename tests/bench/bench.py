"""Our servers beside their peers, in one run: ``make bench``.

Each row measures ours and one peer in turn, several times, and compares the medians of CPU time for each call. Machines
differ and are noisy, so the ratios count, not the microseconds. The exit code says whether every ratio is reached.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from driver import Load, Peer

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SERVERS = HERE / "servers"
PYTHON = sys.executable
NATIVE = [PYTHON, str(SERVERS / "native.py")]
FASTMCP = str(SERVERS / "fastmcp_app.py")
MCPSERVER = str(SERVERS / "mcpserver_app.py")
ON_US = [PYTHON, "-m", "ferromcp", "run"]
RUST = [str(ROOT / "target/release/ferromcp-example")]
RMCP = [str(ROOT / "target/rmcp/release/rmcp-peer")]
MILLISECONDS_OVER_INTERPRETER = 60


@dataclass
class Row:
    """One comparison: how many times less CPU for each call ours has to need."""

    name: str
    ours: list[str]
    peer_name: str
    peer: list[str]
    at_least: float
    tool: str = "echo"
    size: int = 16
    our_calls: int = 20_000
    peer_calls: int = 400


ROWS = [
    Row("Rust server", RUST, "rmcp 3.x", RMCP, 60, our_calls=60_000, peer_calls=4_000),
    Row("Python Server, sync", NATIVE, "fastmcp 4.x", [PYTHON, FASTMCP], 400),
    Row("Python Server, sync", NATIVE, "mcp 2.x", [PYTHON, MCPSERVER], 300),
    Row("Python Server, async", NATIVE, "fastmcp 4.x", [PYTHON, FASTMCP], 120, tool="aecho"),
    Row("Python Server, async", NATIVE, "mcp 2.x", [PYTHON, MCPSERVER], 100, tool="aecho"),
    Row("MCPServer on us", [*ON_US, MCPSERVER], "itself", [PYTHON, MCPSERVER], 15, our_calls=2_000),
    Row("FastMCP on us", [*ON_US, FASTMCP, "--road", "handler"], "itself", [PYTHON, FASTMCP], 5, our_calls=1_000),
    Row("FastMCP on us, direct", [*ON_US, FASTMCP], "itself", [PYTHON, FASTMCP], 30, our_calls=4_000),
    Row("Python Server, 1 MB", NATIVE, "mcp 2.x", [PYTHON, MCPSERVER], 5, size=1_000_000, our_calls=100, peer_calls=30),
]


def measure(command: list[str], row: Row, calls: int) -> Load:
    """A fresh process under the row's load."""
    window = 64 if row.size < 100_000 else 4
    with Peer(command, row.tool, row.size) as peer:
        return peer.load(calls, window)


def compare(row: Row, repeats: int) -> dict[str, object]:
    """Ours and the peer in turn; the medians."""
    ours, peers = [], []
    for _ in range(repeats):
        ours.append(measure(row.ours, row, row.our_calls))
        peers.append(measure(row.peer, row, row.peer_calls))
    mine = statistics.median(load.cpu_us for load in ours)
    theirs = statistics.median(load.cpu_us for load in peers)
    return {
        "name": row.name,
        "peer": row.peer_name,
        "cpu_us": round(mine, 2),
        "peer_cpu_us": round(theirs, 1),
        "ratio": round(theirs / mine, 1),
        "at_least": row.at_least,
        "calls_per_second": round(statistics.median(load.calls_per_second for load in ours)),
        "peer_calls_per_second": round(statistics.median(load.calls_per_second for load in peers)),
        "peak_mb": round(max(load.peak_mb for load in ours), 1),
        "peer_peak_mb": round(max(load.peak_mb for load in peers), 1),
    }


def start_up(repeats: int) -> dict[str, object]:
    """Spawn to first answer, against the bare interpreter's start and end."""
    import subprocess

    command = [PYTHON, str(SERVERS / "sync_only.py")]
    ours, bare = [], []
    for _ in range(repeats * 4):
        with Peer(command, "echo", 16) as peer:
            ours.append(peer.first_answer_ms)
        started = time.perf_counter()
        subprocess.run([PYTHON, "-c", "pass"], check=True)
        bare.append((time.perf_counter() - started) * 1e3)
    mine, floor = statistics.median(ours), statistics.median(bare)
    return {
        "name": "spawn to first answer",
        "peer": "bare interpreter",
        "milliseconds": round(mine, 1),
        "interpreter_milliseconds": round(floor, 1),
        "over": round(mine - floor, 1),
        "at_most_over": MILLISECONDS_OVER_INTERPRETER,
    }


def main() -> int:
    """Run the rows that the arguments choose and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one repeat; for a look, not for a figure")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    repeats = 1 if options.quick else options.repeats
    results, missed = [], 0
    print(f"{'ours':24} {'peer':18} {'CPU us':>9} {'peer':>9} {'ratio':>7} {'at least':>9}  calls/s (peer)")
    for row in ROWS:
        if options.only not in row.name:
            continue
        result = compare(row, repeats)
        results.append(result)
        reached = float(str(result["ratio"])) >= row.at_least
        missed += not reached
        print(
            f"{row.name:24} {row.peer_name:18} {result['cpu_us']:>9} {result['peer_cpu_us']:>9} {result['ratio']:>7}"
            f" {row.at_least:>9}  {result['calls_per_second']} ({result['peer_calls_per_second']})"
            f"{'' if reached else '  MISSED'}",
            flush=True,
        )
    if options.only in "spawn to first answer":
        result = start_up(repeats)
        results.append(result)
        late = float(str(result["over"])) > MILLISECONDS_OVER_INTERPRETER
        missed += late
        print(
            f"spawn to first answer: {result['milliseconds']} ms, bare interpreter {result['interpreter_milliseconds']} ms,"
            f" {result['over']} over (at most {MILLISECONDS_OVER_INTERPRETER}){'  MISSED' if late else ''}"
        )
    target = ROOT / "target/bench"
    target.mkdir(parents=True, exist_ok=True)
    (target / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results) - missed} reached, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
