"""The vectors that every door runs, on this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vectors.pattern import parse, resolve
from vectors.runner import MODERN, SKIPPED, Runner, unsupported

ROOT = Path(__file__).parents[2] / "tests" / "vectors"
FILES = sorted(path for path in ROOT.rglob("*.json") if path.name != "server.json")

pytestmark = pytest.mark.asyncio


def read(path: Path) -> dict[str, Any]:
    vector: dict[str, Any] = parse(path.read_text())
    return vector


def test_there_are_vectors() -> None:
    assert len(FILES) > 100


test_there_are_vectors.pytestmark = []  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT).with_suffix("")) for path in FILES])
async def test_vector(path: Path) -> None:
    vector = read(path)
    name = str(path.relative_to(ROOT).with_suffix(""))
    if name in SKIPPED:
        pytest.skip(SKIPPED[name])
    ran = 0
    for case in vector.get("each", [{}]):
        server = {**read(ROOT / "server.json"), **vector.get("server", {})}
        identity = {"io.modelcontextprotocol/serverInfo": server["info"]}
        names: dict[str, Any] = {"modern": parse(json.dumps(MODERN)), "identity": identity, **case}
        server = resolve(server, names)
        steps = [resolve_step(step, names) for step in vector["steps"]]
        reason = unsupported(server, steps)
        if reason is not None:
            pytest.skip(reason)
        await Runner(server, names).run(steps)
        ran += 1
    assert ran


def resolve_step(step: Any, names: dict[str, Any]) -> Any:
    """A whole step may be a name; what stands inside of it may be bound only later."""
    return names[step[1:]] if isinstance(step, str) else step
