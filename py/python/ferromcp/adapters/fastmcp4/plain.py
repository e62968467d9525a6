"""Which `FastMCP` objects, and which of their tools, can be served by the tool's own run method alone.

Decides it from what `FastMCP.call_tool` of the tested version would do besides: with no middleware that looks
at calls, no transforms, one local provider and no extensions, it finds the tool and runs it. An app may
change while it runs; `Lane` looks at every call.
"""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.server.dependencies import without_injected_parameters
from fastmcp.server.low_level import FastMCPServerMiddleware
from fastmcp.server.middleware.dereference import DereferenceRefsMiddleware
from fastmcp.server.server import _SchemaCacheLocalProvider
from fastmcp.server.transforms.visibility import is_enabled
from fastmcp.tools.function_tool import FunctionTool, _wrap_body_errors
from fastmcp.utilities.async_utils import is_coroutine_function
from fastmcp.utilities.types import get_cached_typeadapter
from mcp.server.request_state import RequestStateBoundary
from pydantic import TypeAdapter

from .convert import Converter

__all__ = ["Lane", "Plan", "hindrances"]

# Methods of FastMCP that stand between a request and a tool's run method.
_ON_THE_WAY = ("_on_call_tool", "call_tool", "get_tool", "_get_tool", "_rebind_prefab_tool_names")


def hindrances(app: FastMCP[Any]) -> tuple[str, ...]:
    """What keeps `app` from the direct lane; empty when nothing does."""
    local = app._local_provider
    middleware = [
        type(part).__name__ for part in app.middleware if type(part) is not DereferenceRefsMiddleware
    ]
    found = {
        f"{type(app).__qualname__} is a subclass of FastMCP": type(app) is not FastMCP,
        f"it has middleware ({', '.join(middleware)})": bool(middleware),
        "it has transforms": bool(app._transforms or local._transforms),
        "it has auth": app.auth is not None,
        "it has providers besides its own tools": app.providers != [local],
        "its own provider is not fastmcp's": type(local) is not _SchemaCacheLocalProvider,
        "it has extensions": bool(app._extensions),
        "it has a session state store": app._state_storage is not None,
        "its methods are patched": bool(app.__dict__.keys() & set(_ON_THE_WAY)),
        "its tools/call handler is not fastmcp's": not _has_stock_handler(app),
        "its low-level server has middleware": [type(part) for part in app._mcp_server.middleware]
        != [FastMCPServerMiddleware, RequestStateBoundary],
    }
    return tuple(reason for reason, is_so in found.items() if is_so)


def _has_stock_handler(app: FastMCP[Any]) -> bool:
    entry = app._mcp_server.get_request_handler("tools/call")
    return entry is not None and entry.handler == app._on_call_tool


class Plan:
    """How one tool runs.

    `adapter` checks the arguments and calls the function, as `FunctionTool.run` does; None where there is a
    timeout to keep. `inline`: the function is sync and needs nothing from the loop.
    """

    __slots__ = ("adapter", "converter", "inline", "tool")

    def __init__(self, tool: FunctionTool) -> None:
        self.tool = tool
        self.converter = Converter(tool)
        self.adapter: TypeAdapter[Any] | None = None
        self.inline = False
        if tool.timeout is None:
            body = _wrap_body_errors(tool.fn, materialize_generators=True)
            function = without_injected_parameters(body, run_in_thread=tool.run_in_thread)
            self.adapter = get_cached_typeadapter(_wrap_body_errors(function))
            self.inline = function is body and tool.run_in_thread and not is_coroutine_function(tool.fn)
            if not (self.inline or is_coroutine_function(function)):
                # A sync function that has to run on the loop's thread, or on a worker of the loop's: `run`
                # knows how.
                self.adapter = None


class Lane:
    """The direct lane of one app: open as long as the app is as plain as it was."""

    def __init__(self, app: FastMCP[Any]) -> None:
        self._app = app
        self._local = app._local_provider
        self._components: dict[str, Any] = self._local._components
        self._middleware = list(app.middleware)
        self._plans: dict[str, Plan] = {}
        self._closed = False

    def close(self) -> None:
        """For good: a session has rules of its own about which tools it sees."""
        self._closed = True

    def plan(self, name: str) -> Plan | None:
        """How to run the tool of this name, or None when fastmcp has to look at the call."""
        app = self._app
        if (
            self._closed
            or app._transforms
            or app._extensions
            or len(app.providers) != 1
            or self._local._transforms
            or app.middleware != self._middleware
        ):
            return None
        tool = self._components.get(f"tool:{name}@")
        if tool is None:
            return None
        plan = self._plans.get(name)
        if plan is None or plan.tool is not tool:
            if type(tool) is not FunctionTool or tool.task_config.mode != "forbidden":
                return None
            plan = self._plans[name] = Plan(tool)
        return plan if tool.meta is None or is_enabled(tool) else None
