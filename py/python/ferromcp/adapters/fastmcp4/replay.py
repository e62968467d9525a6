"""What has happened already, for fastmcp's own code to make of it what it always does.

Messages, masking, log lines, error results, the forms of older revisions: all of that stays fastmcp's. Its
methods are run with an object in the place of the app that gives the outcome in the place of the work.
"""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.tools.base import ToolResult

__all__ = ["ChainReplay", "ToolReplay"]


class ToolReplay:
    """The app, and its tool, when the tool has run."""

    def __init__(self, app: FastMCP[Any], outcome: ToolResult | Exception) -> None:
        self._app = app
        self._outcome = outcome
        self.name = app.name
        self._mask_error_details = app._mask_error_details

    async def result(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """What `FastMCP.call_tool` comes to below the middleware."""
        server: Any = self
        return await FastMCP.call_tool(server, name, arguments, run_middleware=False)

    # As the app.

    async def call_tool(self, name: str, arguments: dict[str, Any], *, version: Any = None) -> Any:
        return await self._app._rebind_prefab_tool_names(await self.result(name, arguments))

    async def get_tool(self, name: str, version: Any = None) -> ToolReplay:
        return self

    # As the tool.

    def get_span_attributes(self) -> dict[str, Any]:
        return {}

    async def _run(self, arguments: dict[str, Any]) -> ToolResult:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


class ChainReplay:
    """The app, when its middleware has run."""

    def __init__(self, app: FastMCP[Any], result: Any = None, *, error: Exception | None = None) -> None:
        self._app = app
        self._result = result
        self._error = error
        self.name = app.name

    async def call_tool(self, name: str, arguments: dict[str, Any], *, version: Any = None) -> Any:
        if self._error is not None:
            raise self._error
        return await self._app._rebind_prefab_tool_names(self._result)
