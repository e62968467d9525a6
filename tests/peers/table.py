"""The table: what each file of tests comes to, stock and on the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from compare import Outcome, Outcomes, roads

__all__ = ["Row", "rows", "table"]


@dataclass(frozen=True)
class Row:
    """One line of the table: passed, failed and skipped stock, the same on the engine, connections, and the
    failures under the control.
    """

    name: str
    stock: tuple[int, int, int]
    ours: tuple[int, int, int]
    served: int
    control: int


def rows(stock: Outcomes, ours: Outcomes, control: Outcomes) -> list[Row]:
    """A row for each file, and one for all of them."""
    files = dict.fromkeys(_file(test) for test in (*stock, *ours))
    return [
        *(_row(file, *(_of(file, run) for run in (stock, ours, control))) for file in files),
        _row("all", stock, ours, control),
    ]


def table(package: str, lines: Iterable[Row]) -> str:
    """The rows of a package as text: passed/failed/skipped, stock and on the engine."""
    out = [_line(package, "stock p/f/s", "on us p/f/s", "connections", "control fails")]
    for row in lines:
        stock, ours = ("/".join(map(str, counts)) for counts in (row.stock, row.ours))
        out.append(_line(row.name, stock, ours, row.served, row.control))
    return "\n".join(out)


def _line(name: str, stock: str, ours: str, served: object, control: object) -> str:
    return f"{name:62} {stock:>12} {ours:>12} {served:>12} {control:>14}"


def _row(name: str, stock: Outcomes, ours: Outcomes, control: Outcomes) -> Row:
    noticed = sum(outcome.has_noticed for outcome in control.values())
    return Row(name, _counts(stock), _counts(ours), roads(ours).total(), noticed)


def _counts(outcomes: Outcomes) -> tuple[int, int, int]:
    counted = Counter(outcome.outcome for outcome in outcomes.values())
    return counted["passed"], counted["failed"], counted["skipped"]


def _of(file: str, outcomes: Outcomes) -> dict[str, Outcome]:
    return {test: outcome for test, outcome in outcomes.items() if _file(test) == file}


def _file(test: str) -> str:
    return test.partition("::")[0]
