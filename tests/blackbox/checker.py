"""Holds every message that crosses the pipes against the official models of its revision, in both directions.

The models are those of the official Python SDK (`mcp_types`); where that package is not installed only the
envelope is checked. Beside the models stand the few rules that they cannot express: an answer belongs to a
request that is open, fields of one era do not appear in the other, and a line is strict JSON in valid UTF-8.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

try:
    import mcp_types
    from mcp_types import methods
except ImportError:  # pragma: no cover - the front door installs it
    methods = None  # type: ignore[assignment]

Json = Any
Message = dict[str, Any]

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LEGACY = LEGACY_REVISIONS[-1]
MODERN = "2026-07-28"
ONLY_MODERN_FIELDS = ("resultType", "ttlMs", "cacheScope", "requestState", "inputRequests")
# The base specification: these codes belong to earlier revisions and are not to be emitted by the modern one.
RETIRED_CODES = (-32002, -32042)


def strict_json(line: bytes) -> Json:
    """One JSON text without NaN, without a repeated key, in valid UTF-8."""

    def constant(name: str) -> Json:
        raise AssertionError(f"{name} is no JSON: {line[:200]!r}")

    def no_twins(pairs: list[tuple[str, Json]]) -> Message:
        names = Counter(name for name, _ in pairs)
        twins = [name for name, times in names.items() if times > 1]
        assert not twins, f"repeated keys {twins}: {line[:200]!r}"
        return dict(pairs)

    try:
        return json.loads(line.decode("utf-8"), parse_constant=constant, object_pairs_hook=no_twins)
    except UnicodeDecodeError as error:
        raise AssertionError(f"not UTF-8: {line[:200]!r}") from error
    except json.JSONDecodeError as error:
        raise AssertionError(f"not JSON: {line[:200]!r}") from error


def id_key(value: Json) -> tuple[str, Json]:
    """`1` and `"1"` are different ids, and to Python `True` and `1` would be the same one."""
    return type(value).__name__, value


class Checker:
    """What has been sent and what has come back on one connection."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, Json], list[tuple[str, str]]] = {}
        self.answered: Counter[tuple[str, Json]] = Counter()
        self.raw_lines = 0
        self.revisions: set[str] = set()

    # What the test sends.

    def sent_request(self, id: Json, method: str, params: Json, revision: str, *, valid: bool) -> None:
        self.asked.setdefault(id_key(id), []).append((method, revision))
        self.revisions.add(revision)
        # mcp_types has no methods of tasks.
        if valid and methods is not None and not method.startswith("tasks/"):
            methods.validate_client_request(method, revision, params)

    def sent_notification(self, method: str, params: Json, revision: str, *, valid: bool) -> None:
        if valid and methods is not None:
            methods.validate_client_notification(method, revision, params)

    def sent_raw(self, line: bytes) -> None:
        """A line that is not held against any model. Its id, where it has one, may be answered."""
        self.raw_lines += 1
        try:
            message = json.loads(line)
        except (ValueError, UnicodeDecodeError, RecursionError):
            return
        if isinstance(message, dict) and isinstance(message.get("id"), (int, str)):
            self.asked.setdefault(id_key(message["id"]), []).append((str(message.get("method")), ""))

    # What the server sends.

    def received(self, line: bytes) -> Message:
        assert not line.endswith(b"\r"), f"a carriage return ends the line: {line[-100:]!r}"
        message = strict_json(line)
        assert isinstance(message, dict), f"a line that is no JSON object: {line[:200]!r}"
        assert message.get("jsonrpc") == "2.0", f"no JSON-RPC message: {line[:200]!r}"
        if "method" in message:
            if "id" in message:
                self._server_request(message)
            else:
                self._notification(message)
        else:
            self._response(message)
        return message

    def _server_request(self, message: Message) -> None:
        revision = self._legacy_revision()
        assert revision, f"a modern server sends no requests: {message}"
        if methods is not None:
            methods.SERVER_REQUESTS[(message["method"], revision)].model_validate(message, by_name=False)

    def _notification(self, message: Message) -> None:
        unknown = set(message) - {"jsonrpc", "method", "params"}
        assert not unknown, f"foreign members {unknown}: {message}"
        if message["method"] in ("notifications/tasks", "notifications/tasks/status"):
            modern = message["method"] == "notifications/tasks"
            check_task(message.get("params"), MODERN if modern else "2025-11-25")
            return
        if methods is None:
            return
        problems = []
        for revision in sorted(self.revisions):
            try:
                methods.parse_server_notification(message["method"], revision, message.get("params"))
                return
            except (KeyError, ValueError) as error:
                problems.append(f"{revision}: {error}")
        raise AssertionError(f"valid in no revision that is spoken here: {message}\n" + "\n".join(problems))

    def _response(self, message: Message) -> None:
        assert ("result" in message) != ("error" in message), f"neither a result nor an error: {message}"
        unknown = set(message) - {"jsonrpc", "id", "result", "error"}
        assert not unknown, f"foreign members {unknown}: {message}"
        if message.get("id") is None:
            assert "error" in message, f"a result without an id: {message}"
            assert self.raw_lines, f"an error without an id: {message}"
            self._error(message["error"], "")
            return
        key = id_key(message["id"])
        requests = self.asked.get(key)
        assert requests, f"an answer to nothing that was asked: {message}"
        self.answered[key] += 1
        assert self.answered[key] <= len(requests), f"answered more often than asked: {message}"
        method, revision = requests[min(self.answered[key], len(requests)) - 1]
        if "error" in message:
            self._error(message["error"], revision)
        else:
            self._result(message["result"], method, revision)

    def _error(self, error: Json, revision: str) -> None:
        assert isinstance(error, dict), f"an error that is no object: {error}"
        assert type(error.get("code")) is int, f"an error without a code: {error}"
        assert isinstance(error.get("message"), str), f"an error without a message: {error}"
        assert not (revision == MODERN and error["code"] in RETIRED_CODES), f"a retired code: {error}"
        if methods is not None:
            mcp_types.ErrorData.model_validate(error)

    def _result(self, result: Json, method: str, revision: str) -> None:
        assert isinstance(result, dict), f"a result that is no object: {result}"
        if revision == MODERN:
            assert isinstance(result.get("resultType"), str), f"a modern result without a type: {result}"
        elif revision:
            foreign = [name for name in ONLY_MODERN_FIELDS if name in result]
            assert not foreign, f"fields that {revision} does not know: {foreign} in {result}"
        if method == "tools/call" and (task := started_task(result, revision)) is not None:
            check_task(task, revision)
            return
        if method == "tasks/get":
            check_task(result, revision)
        if methods is not None and (method, revision) in methods.SERVER_RESULTS:
            methods.parse_server_result(method, revision, result)

    def _legacy_revision(self) -> str | None:
        legacy = [revision for revision in self.revisions if revision != MODERN]
        return legacy[0] if legacy else None


def started_task(result: Message, revision: str) -> Json:
    """The task that a call was answered with, if it was: mcp_types does not know those of the extension."""
    if result.get("resultType") == "task":
        return result
    return result.get("task") if revision != MODERN else None


STATUSES = ("working", "input_required", "completed", "failed", "cancelled")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def check_task(task: Json, revision: str) -> None:
    """`Task` of the extension io.modelcontextprotocol/tasks, or of 2025-11-25."""
    assert isinstance(task, dict), f"a task that is no object: {task}"
    assert isinstance(task.get("taskId"), str), f"a task without an id: {task}"
    assert task.get("status") in STATUSES, f"a task in no status: {task}"
    for name in ("createdAt", "lastUpdatedAt"):
        assert MOMENT.fullmatch(str(task.get(name))), f"{name} is no time of ISO 8601: {task}"
    ttl, poll = ("ttlMs", "pollIntervalMs") if revision == MODERN else ("ttl", "pollInterval")
    assert ttl in task, f"a task without {ttl}: {task}"
    for name in (ttl, poll):
        value = task.get(name)
        assert value is None or (type(value) is int and value >= 0), f"{name} is no whole number: {task}"
    if revision == MODERN and task.get("resultType") != "task":
        extra = {"input_required": "inputRequests", "completed": "result", "failed": "error"}.get(
            task["status"]
        )
        assert extra is None or isinstance(task.get(extra), dict), f"a task without {extra}: {task}"


def modern_meta(capabilities: Mapping[str, Json] | None = None) -> Message:
    """The members of `_meta` that the modern era requires on each request."""
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "blackbox", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": dict(capabilities or {}),
    }
