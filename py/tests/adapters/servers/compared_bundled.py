"""A FastMCP with the middleware that comes with fastmcp, run both by its own SDK and by us."""

from __future__ import annotations

import logging
import re
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.middleware.logging import LoggingMiddleware, StructuredLoggingMiddleware
from fastmcp.server.middleware.ping import PingMiddleware
from fastmcp.server.middleware.rate_limiting import (
    RateLimitingMiddleware,
    SlidingWindowRateLimitingMiddleware,
)
from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware
from fastmcp.server.middleware.timing import DetailedTimingMiddleware, TimingMiddleware
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.tools import Tool
from mcp.shared.exceptions import MCPError

logged: list[str] = []


class Keep(logging.Handler):
    """Keeps lines, without what differs from run to run."""

    def emit(self, record: logging.LogRecord) -> None:
        line = re.sub(r"\d+\.\d+(ms)?", "T", record.getMessage())
        if not line.startswith("Starting"):
            logged.append(f"{record.levelname} {line}")


for name in ("fastmcp", "watched"):
    logging.getLogger(name).addHandler(Keep(logging.INFO))
logger = logging.getLogger("watched")
logger.setLevel(logging.INFO)
logger.propagate = False


def injected(text: str = "") -> str:
    """A tool of the middleware's."""
    return f"injected {text}"


mcp = FastMCP("bundled", version="1")
errors = ErrorHandlingMiddleware(logger=logger)
for part in (
    errors,
    PingMiddleware(),
    TimingMiddleware(logger=logger),
    DetailedTimingMiddleware(logger=logger),
    LoggingMiddleware(logger=logger, include_payloads=True, include_payload_length=True),
    StructuredLoggingMiddleware(logger=logger, methods=["tools/call"], estimate_payload_tokens=True),
    RateLimitingMiddleware(max_requests_per_second=1e6),
    SlidingWindowRateLimitingMiddleware(max_requests=100_000),
    ResponseLimitingMiddleware(max_size=400, tools=["long", "add"]),
    ToolInjectionMiddleware([Tool.from_function(injected), Tool.from_function(injected, name="shadowed")]),
    RetryMiddleware(max_retries=2, base_delay=0.001, logger=logger),
    ResponseCachingMiddleware(call_tool_settings={"included_tools": ["cached"]}),
):
    mcp.add_middleware(part)

calls: list[str] = []


@mcp.tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@mcp.tool
async def cached(value: str) -> dict[str, Any]:
    """Count how often it runs."""
    calls.append(value)
    return {"value": value, "runs": len(calls)}


@mcp.tool
def long(n: int) -> str:
    """Say much."""
    return "long " * n


@mcp.tool
def shadowed() -> str:
    """Hidden by an injected tool."""
    return "shadowed"


@mcp.tool
def flaky(times: int) -> str:
    """Fail a few times before it goes well."""
    calls.append("flaky")
    if calls.count("flaky") <= times:
        raise ConnectionError("not yet")
    while "flaky" in calls:
        calls.remove("flaky")
    return "at last"


@mcp.tool
async def fail(kind: str) -> str:
    """Raise."""
    kinds: dict[str, Exception] = {
        "tool": ToolError("told so"),
        "value": ValueError("told"),
        "key": KeyError("k"),
        "permission": PermissionError("no"),
        "timeout": TimeoutError("late"),
        "mcp": MCPError(code=1234, message="own code"),
    }
    raise kinds[kind]


@mcp.tool
def what_was_logged() -> list[str]:
    """The lines since it was last asked."""
    found = [line for line in logged if "what_was_logged" not in line]
    logged.clear()
    return [*found, *(f"{key}={value}" for key, value in sorted(errors.get_error_stats().items()))]


if __name__ == "__main__":
    mcp.run(show_banner=False)
