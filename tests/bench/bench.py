"""The figures beside the peers, in one run: `make bench`, or this file with `--quick`.

Every server of a row is measured several times, ours and the peer in turn, so that what else the machine does
falls on both; a row's ratio is that of the medians. Modern era, 16-byte text, 64 calls in flight, CPU time of
the server's whole process for each call. Exit code 0 when every target is reached, 1 when one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from load import Figures, measure, spawn_to_first_answer, spawn_to_first_byte
from rows import HERE, RELEASE, ROOT, ROWS, START, START_BOUND_MS, Row, Subject

OUT = ROOT / "target" / "bench"
SITE = OUT / "site"
# The addon as cargo names it, on each system.
LIBRARIES = ("libferromcp_node.so", "libferromcp_node.dylib", "ferromcp_node.dll")


def main() -> int:
    options = arguments()
    if not options.no_build:
        build()
    env = {"PYTHONPATH": str(SITE)} if SITE.is_dir() else {}
    rows = [row for row in ROWS if options.rows is None or options.rows.lower() in row.name.lower()]
    repeats, seconds = (2, 0.3) if options.quick else (options.repeats, options.seconds)
    figures = measure_all(rows, env, repeats, seconds)
    start = measure_start(env, 5 if options.quick else 15)
    report = evaluate(rows, figures, start)
    print_table(report)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "results.json").write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["reached"] else 1


def arguments() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="a glance: two short measurements each")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each server (5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="how long each loads its server (1.5)")
    parser.add_argument("--rows", help="only rows whose name contains this")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    return parser.parse_args()


def build() -> None:
    """Everything in release: the Rust and C examples, the rmcp peer, the wheel, which goes into a folder of
    its own, ahead of the development build on the import path, and the Node package, beside its peers."""
    cargo = [os.environ.get("CARGO", "cargo"), "build", "--release", "--quiet"]
    run([*cargo, "-p", "ferromcp-example"])
    run(
        [
            *cargo,
            "--locked",
            "--manifest-path",
            str(HERE / "rmcp" / "Cargo.toml"),
            "--target-dir",
            str(ROOT / "target"),
        ]
    )
    wheels = OUT / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    maturin = [sys.executable, "-m", "maturin", "build", "--release", "--quiet"]
    run([*maturin, "-m", str(ROOT / "py" / "Cargo.toml"), "--out", str(wheels)])
    (wheel,) = wheels.glob("*.whl")
    run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(SITE), str(wheel)])

    build_c(cargo)
    build_node(cargo)


def build_c(cargo: list[str]) -> None:
    """The example server in C, on an installed tree of the C library."""
    folder = OUT / "c"
    run([*cargo, "-p", "ferromcp-ffi"])
    run([str(ROOT / "ffi-c" / "install.sh"), "release", str(folder)])
    compile_c("examples/c/server.c", "server")


def compile_c(source: str, name: str) -> None:
    """A server in C, beside that library."""
    folder = OUT / "c"
    compiler = [os.environ.get("CC", "cc"), "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2"]
    library = [f"-I{folder}/include", f"-L{folder}/lib", "-lferromcp", f"-Wl,-rpath,{folder}/lib"]
    run([*compiler, str(ROOT / source), "-o", str(folder / name), *library])


def build_node(cargo: list[str]) -> None:
    """The Node package with a release addon, as a package that the servers in JavaScript find."""
    run([*cargo, "-p", "ferromcp-node"])
    run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], HERE / "node")
    package = HERE / "node" / "node_modules" / "ferromcp"
    shutil.copytree(ROOT / "node" / "dist", package / "dist")
    shutil.copy(ROOT / "node" / "package.json", package)
    (addon,) = (path for name in LIBRARIES if (path := RELEASE / name).exists())
    (development,) = (ROOT / "node").glob("*.node")
    shutil.copy(addon, package / development.name)


def run(command: list[str], folder: Path = ROOT) -> None:
    print("$", " ".join(command), file=sys.stderr)
    subprocess.run(command, check=True, cwd=folder)


def measure_all(
    rows: list[Row], env: dict[str, str], repeats: int, seconds: float
) -> dict[Subject, list[Figures]]:
    """Each subject once in every round, in the order of the rows: ours and its peer follow each other."""
    subjects = list(dict.fromkeys(subject for row in rows for subject in (row.ours, row.peer)))
    figures: dict[Subject, list[Figures]] = {subject: [] for subject in subjects}
    for number in range(repeats):
        for subject in subjects:
            print(f"round {number + 1} of {repeats}: {subject.name}          ", end="\r", file=sys.stderr)
            command = subject.started_by(sys.executable)
            found = measure(command, env, subject.tool, subject.size, subject.window, seconds)
            figures[subject].append(found)
    print(" " * 70, end="\r", file=sys.stderr)
    return figures


def measure_start(env: dict[str, str], repeats: int) -> dict[str, float]:
    """Medians of the bare interpreter's start and of ours, in turn."""
    bare, ours = [], []
    for _ in range(repeats):
        bare.append(spawn_to_first_byte(sys.executable, env))
        ours.append(spawn_to_first_answer(START.started_by(sys.executable), env, "echo"))
    return {"bare_ms": median(bare), "first_answer_ms": median(ours)}


def evaluate(
    rows: list[Row], figures: dict[Subject, list[Figures]], start: dict[str, float]
) -> dict[str, Any]:
    """Medians, ratios and verdicts, as they go into the JSON file."""
    subjects = {subject: middle(found) for subject, found in figures.items()}
    judged = []
    for row in rows:
        ours, peer = subjects[row.ours].cpu_us, subjects[row.peer].cpu_us
        within = row.bound_us is None or ours <= row.bound_us
        rate = subjects[row.ours].calls_per_second / subjects[row.peer].calls_per_second
        fast = row.rate is None or rate >= row.rate
        judged.append(
            {
                "row": row.name,
                "ours_cpu_us": ours,
                "peer_cpu_us": peer,
                "ratio": peer / ours,
                "target": row.target,
                "bound_us": row.bound_us,
                "rate": rate,
                "rate_target": row.rate,
                "reached": peer / ours >= row.target and within and fast,
            }
        )
    above = start["first_answer_ms"] - start["bare_ms"]
    begun = {**start, "above_ms": above, "bound_ms": START_BOUND_MS, "reached": above <= START_BOUND_MS}
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
        },
        "rows": judged,
        "start": begun,
        "servers": {subject.name: asdict(found) for subject, found in subjects.items()},
        "reached": all(row["reached"] for row in judged) and begun["reached"],
    }


def middle(found: list[Any]) -> Any:
    """The median of each figure."""
    return type(found[0])(**{name: median(getattr(one, name) for one in found) for name in asdict(found[0])})


def print_table(report: dict[str, Any]) -> None:
    columns = ("cpu_us", "calls_per_second", "sequential_p50_us", "sequential_p99_us", "peak_mb")
    print(f"{'server':40} {'CPU us':>9} {'calls/s':>9} {'p50 us':>8} {'p99 us':>8} {'peak MB':>8}")
    for name, found in report["servers"].items():
        cpu, rate, p50, p99, peak = (found[column] for column in columns)
        print(f"{name:40} {cpu:9.2f} {rate:9.0f} {p50:8.0f} {p99:8.0f} {peak:8.0f}")
    print()
    print(f"{'times less CPU for each call':40} {'ratio':>9} {'target':>9}")
    for row in report["rows"]:
        bound = f", {row['ours_cpu_us']:.2f} us of {row['bound_us']:g} us" if row["bound_us"] else ""
        if row["rate_target"]:
            bound += f", {row['rate']:.1f} times the calls a second of {row['rate_target']:g}"
        print(f"{row['row']:40} {row['ratio']:9.1f} {row['target']:9.0f}  {verdict(row)}{bound}")
    start = report["start"]
    above = f"{start['above_ms']:6.1f} ms of {start['bound_ms']:g} ms"
    print()
    print(f"spawn to first answer    {start['first_answer_ms']:6.1f} ms")
    print(f"bare interpreter's start {start['bare_ms']:6.1f} ms")
    print(f"above it                 {above}  {verdict(start)}")
    machine = report["machine"]
    print(f"load of the machine at the end: {machine['load']:.1f} on {machine['cores']} cores")


def verdict(judged: dict[str, Any]) -> str:
    return "reached" if judged["reached"] else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
