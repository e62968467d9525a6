"""What of a vector runs on which road through the door, and why the rest does not.

Decides on the vector's text alone, before anything runs: so the sums can be held against what they were, and
no vector stops running by a change in the door.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from .pattern import Names, resolve
from .text import parse

__all__ = [
    "ABLE",
    "FOLDER",
    "Road",
    "StepSkip",
    "VectorSkip",
    "cases",
    "read",
    "step_skip",
    "vector_skip",
    "web_skip",
]

FOLDER = Path(__file__).parents[3] / "tests" / "vectors"

MODERN = parse(
    """{
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}
}"""
)

CAPABLE = {
    **MODERN,
    "io.modelcontextprotocol/clientCapabilities": parse(
        '{"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}}'
    ),
}

TASKS = parse(
    """{
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }
}"""
)

# What this runner can do beyond the plain format.
ABLE = {"ask", "tasks"}

TIMES = {"callTimeoutMs", "coalesceMs", "drainMs", "heldMs", "requestStateTtlMs"}


class Road(Enum):
    """How functions are served: `async def` on an event loop, or plain ones on the server's threads."""

    LOOP = "loop"
    THREADS = "threads"


class VectorSkip(Enum):
    """Why a vector does not run at all."""

    NEEDS = "it needs what this runner can't do"
    CLOCK = "its limits hold a time, which only a runner with a clock of its own can let pass"
    CONNECTIONS = "a server of this door has one connection"
    ASKS = "a request to the client is awaited on a loop"
    TASKS = "when what a plain function gave is kept nobody can see, and its client would ask too early"
    SPELLING = "Python's numbers keep no spelling; on the other road the same goes through as JSON text"


class StepSkip(Enum):
    """Why a step does not run, or not the whole of it."""

    ADVANCE = "time can't be moved"
    EVENT = "the door does not tell host code of this event"
    REASON = "the door does not tell host code the reason of a cancellation"


def read(path: Path) -> dict[str, Any]:
    """A vector, or the shared server."""
    value: dict[str, Any] = parse(path.read_bytes())
    return value


SHARED = read(FOLDER / "server.json")


def cases(vector: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Names, list[Any]]]:
    """For each object of `each`: the server, the names and the steps."""
    strangers = set(vector) - {"name", "about", "requirements", "needs", "server", "http", "each", "steps"}
    assert not strangers, f"unknown members {strangers}"
    for case in vector.get("each", [{}]):
        names = {"modern": MODERN, "capable": CAPABLE, "tasks": TASKS, **case}
        server = resolve({**SHARED, **vector.get("server", {})}, names)
        names["identity"] = {"io.modelcontextprotocol/serverInfo": server["info"]}
        # A whole step may be a name. What is bound later stands inside of steps.
        steps = [names[step[1:]] if isinstance(step, str) else step for step in vector["steps"]]
        yield server, names, steps


def vector_skip(name: str, vector: dict[str, Any], road: Road) -> VectorSkip | None:
    """Why this vector does not run on this road, if it does not."""
    if not set(vector.get("needs", [])) <= ABLE:
        return VectorSkip.NEEDS
    for server, _, steps in cases(vector):
        if TIMES & set(server.get("limits", {})) or any(
            name.endswith("Ms") for name in server.get("tasks", {})
        ):
            return VectorSkip.CLOCK
        if any(step.get("on", "1") != "1" for step in steps):
            return VectorSkip.CONNECTIONS
        tools = [act for tool in server.get("tools", []) for act in tool.get("behaviour", [])]
        if road is Road.THREADS and any("ask" in act for act in tools):
            return VectorSkip.ASKS
    if road is Road.THREADS and "tasks" in vector.get("needs", []):
        return VectorSkip.TASKS
    if road is Road.THREADS and name == "jsonrpc/numbers-untouched":
        return VectorSkip.SPELLING
    return None


def web_skip(vector: dict[str, Any], road: Road, able: set[str]) -> VectorSkip | None:
    """Why this vector does not run over HTTP on this road. `able` has names as in a vector's `needs`."""
    if not set(vector.get("needs", [])) <= able:
        return VectorSkip.NEEDS
    if any(name.endswith("Ms") for name in vector["http"]):
        return VectorSkip.CLOCK
    if road is Road.THREADS and "tasks" in vector.get("needs", []):
        return VectorSkip.TASKS
    return None


def step_skip(step: dict[str, Any], road: Road) -> StepSkip | None:
    """Why this step does not run on this road, if so. Of a cancellation only the reason is left out."""
    if "advance" in step:
        return StepSkip.ADVANCE
    if "cancelled" in step and "reason" in step:
        return StepSkip.REASON
    told = {"drained"} if road is Road.THREADS else {"drained", "initialized", "notification"}
    if "event" in step and step["event"]["kind"] not in told:
        return StepSkip.EVENT
    return None
