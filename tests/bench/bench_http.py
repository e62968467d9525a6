"""The figures over HTTP beside the peers, in one run: `make bench-http`, or this file with `--quick`.

On the loopback, 16 keep-alive connections, `tools/call` of an addition; the modern era with all of its
headers, then the legacy era with 16 sessions. Every server of a row is measured several times, ours and the
peer in turn; a row's ratio is that of the medians. CPU time is that of the server's processes, for each
request. The peers in Python are measured without uvicorn's log of accesses. Exit code 0 when every target
is reached, 1 when one is not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from bench import OUT, SITE, build, compile_c, middle, verdict
from load_http import Figures, HttpPeer, free_port, measure
from rows_http import (
    ALONE_BOUND_US,
    BEFORE,
    GROWTH_BOUND_MB,
    MANY,
    ROWS,
    STEADY,
    STREAMS,
    STREAMS_BOUND,
    Row,
    Subject,
)


def main() -> int:
    options = arguments()
    if shutil.which("wrk") is None:
        print("please install wrk, the load tool (Debian package wrk)", file=sys.stderr)
        return 2
    if not options.no_build and not options.peers:
        build()
        compile_c("tests/bench/c/http.c", "http")
    rows = [row for row in ROWS if options.rows is None or options.rows.lower() in row.name.lower()]
    repeats, seconds = (1, 1) if options.quick else (options.repeats, options.seconds)
    subjects = list(
        dict.fromkeys(one for row in rows for one in ([row.peer] if options.peers else [row.ours, row.peer]))
    )
    figures = measure_all(subjects, repeats, seconds)
    if options.peers:
        rows = []
    mine = list(dict.fromkeys(row.ours for row in rows))
    steady = [subject for subject in STEADY if subject in mine]
    report: dict[str, Any] = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "servers": {subject.name: asdict(found) for subject, found in figures.items()},
        "rows": [judge(row, figures) for row in rows],
        "alone": [judge_alone(subject, figures[subject]) for subject in mine],
        "memory": [measure_memory(subject) for subject in steady],
        "streams": [measure_streams(subject, repeats, seconds) for subject in steady],
    }
    judged = [one for part in ("rows", "alone", "memory", "streams") for one in report[part]]
    report["machine"]["load"] = os.getloadavg()[0]
    report["reached"] = all(one["reached"] is not False for one in judged)
    print_table(report)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "results-http.json").write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["reached"] else 1


def arguments() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="a glance: one short measurement each")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each server (3)")
    parser.add_argument("--seconds", type=int, default=3, help="how long each loads its server (3)")
    parser.add_argument("--rows", help="only rows whose name contains this")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    parser.add_argument("--peers", action="store_true", help="measure the peers alone, and build nothing")
    return parser.parse_args()


def start(subject: Subject) -> HttpPeer:
    env = {"PYTHONPATH": str(SITE)} if SITE.is_dir() else {}
    port = free_port()
    return HttpPeer(subject.started_by(sys.executable, port), port, env, subject.legacy)


def measure_all(subjects: Sequence[Subject], repeats: int, seconds: int) -> dict[Subject, Figures]:
    """Each subject once in every round, in the order of the rows: ours and its peer follow each other."""
    figures: dict[Subject, list[Figures]] = {subject: [] for subject in subjects}
    for number in range(repeats):
        for subject in subjects:
            say(f"round {number + 1} of {repeats}: {subject.name}")
            peer = start(subject)
            try:
                figures[subject].append(measure(peer, seconds))
            finally:
                peer.close()
    say("")
    return {subject: middle(found) for subject, found in figures.items()}


def measure_memory(subject: Subject) -> dict[str, Any]:
    """What a server holds after many requests more than it held after some."""
    say(f"memory: {subject.name}")
    peer = start(subject)
    try:
        before = after = peer.memory_mb()
        sent, counted_from = 0, None
        while counted_from is None or sent < counted_from + MANY:
            sent += peer.load(2).requests
            if counted_from is None and sent >= BEFORE:
                counted_from, before = sent, peer.memory_mb()
        after = peer.memory_mb()
    finally:
        peer.close()
    say("")
    reached = after - before <= GROWTH_BOUND_MB
    return {"server": subject.name, "before_mb": before, "after_mb": after, "reached": reached}


def measure_streams(subject: Subject, repeats: int, seconds: int) -> dict[str, Any]:
    """Requests a second of one server with open streams and without, in turn."""
    say(f"streams: {subject.name}")
    peer = start(subject)
    try:
        peer.load(1)
        without, beside = [], []
        for _ in range(max(2, repeats)):
            without.append(peer.load(seconds).rate)
            with peer.streams(STREAMS):
                beside.append(peer.load(seconds).rate)
    finally:
        peer.close()
    say("")
    part = median(beside) / median(without)
    found = {"without": median(without), "beside": median(beside), "part": part}
    return {"server": subject.name, **found, "reached": part >= STREAMS_BOUND}


def judge(row: Row, figures: dict[Subject, Figures]) -> dict[str, Any]:
    ours, peer = figures[row.ours], figures[row.peer]
    rate, cpu = ours.requests_per_second / peer.requests_per_second, peer.cpu_us / ours.cpu_us
    reached = (row.rate is None or rate >= row.rate) and (row.cpu is None or cpu >= row.cpu)
    targets = {"rate_target": row.rate, "cpu_target": row.cpu}
    judged = None if row.rate is None and row.cpu is None else reached
    return {"row": row.name, "rate": rate, "cpu": cpu, **targets, "reached": judged}


def judge_alone(subject: Subject, found: Figures) -> dict[str, Any]:
    reached = found.alone_p50_us < ALONE_BOUND_US
    return {"server": subject.name, "p50_us": found.alone_p50_us, "reached": reached}


def print_table(report: dict[str, Any]) -> None:
    heads = ("requests/s", "CPU us", "p50 us", "p99 us", "alone us", "peak MB")
    print(f"{'server':40} {heads[0]:>10} " + " ".join(f"{head:>8}" for head in heads[1:]))
    columns = ("requests_per_second", "cpu_us", "p50_us", "p99_us", "alone_p50_us", "peak_mb")
    for name, found in report["servers"].items():
        rate, *rest = (found[column] for column in columns)
        print(f"{name:40} {rate:10.0f} " + " ".join(f"{figure:8.0f}" for figure in rest))
    if report["rows"]:
        print(f"\n{'times the peer':46} {'requests/s':>10} {'target':>7} {'less CPU':>10} {'target':>7}")
    for row in report["rows"]:
        targets = [f"{row[name] or '':>7}" for name in ("rate_target", "cpu_target")]
        figures = f"{row['rate']:10.1f} {targets[0]} {row['cpu']:10.1f} {targets[1]}"
        print(f"{row['row']:46} {figures}  {'' if row['reached'] is None else verdict(row)}")
    for one in report["alone"]:
        took = f"p50 {one['p50_us']:.0f} of {ALONE_BOUND_US:g} us"
        print(f"one connection, {one['server']:32} {took}  {verdict(one)}")
    for one in report["memory"]:
        grown = (
            f"{one['before_mb']:.1f} MB, {one['after_mb'] - one['before_mb']:+.1f} MB of {GROWTH_BOUND_MB:g}"
        )
        print(f"{MANY} requests, {one['server']:24} {grown}  {verdict(one)}")
    for one in report["streams"]:
        part = f"{one['part']:.2f} of {one['without']:.0f} requests/s, at least {STREAMS_BOUND:g}"
        print(f"{STREAMS} streams, {one['server']:24} {part}  {verdict(one)}")
    machine = report["machine"]
    print(f"load of the machine at the end: {machine['load']:.1f} on {machine['cores']} cores")


def say(what: str) -> None:
    print(f"{what:70}", end="\r", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
