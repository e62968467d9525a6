"""Which `FastMCP` objects, and which of their tools, can be served by the tool's own run method alone.

Decides it from what `FastMCP.call_tool` of the tested version would do besides: with one local provider, no
extensions, and no transforms but such as hide tools or show them, it runs the middleware, finds the tool and
runs it. An app may change while it runs; `Lane` looks at every call. What becomes of middleware is decided in
`chain`.
"""

from __future__ import annotations

import inspect
import weakref
from types import FunctionType
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.dependencies import without_injected_parameters
from fastmcp.server.low_level import FastMCPServerMiddleware
from fastmcp.server.middleware import Middleware
from fastmcp.server.server import _SchemaCacheLocalProvider
from fastmcp.server.transforms.visibility import Visibility, is_enabled
from fastmcp.tools.function_tool import FunctionTool, _wrap_body_errors
from fastmcp.utilities.async_utils import is_coroutine_function
from fastmcp.utilities.types import get_cached_typeadapter
from mcp.server.request_state import RequestStateBoundary
from pydantic import TypeAdapter

from .chain import HOOKS, Chain, looks_at_calls
from .convert import Converter

__all__ = ["Lane", "Plan", "hindrances", "watchers"]

# The methods that stand between a request and a tool's function.
_ON_THE_WAY: dict[type, tuple[str, ...]] = {
    FastMCP: (
        "_on_call_tool",
        "call_tool",
        "get_tool",
        "_get_tool",
        "_run_middleware",
        "_dispatch_component_middleware",
        "_compose_tool_call_interceptors",
        "_rebind_prefab_tool_names",
    ),
    FunctionTool: ("_run", "run", "_run_body", "_execute", "convert_result", "_mark_non_object_result"),
    Middleware: HOOKS,
    Visibility: ("get_tool", "_mark_component"),
}


def hindrances(app: FastMCP[Any]) -> tuple[str, ...]:
    """What keeps `app` from running its tools by their own run method; empty when nothing does."""
    local = app._local_provider
    found = {
        f"{type(app).__qualname__} is a subclass of FastMCP": type(app) is not FastMCP,
        "it has transforms": not _only_hide(app._transforms) or not _only_hide(local._transforms),
        "it has auth": app.auth is not None,
        "it has providers besides its own tools": app.providers != [local],
        "its own provider is not fastmcp's": type(local) is not _SchemaCacheLocalProvider,
        "it has extensions": bool(app._extensions),
        "it has a session state store": app._state_storage is not None,
        "its methods are patched": _is_patched(app),
        "its tools/call handler is not fastmcp's": not _has_stock_handler(app),
        "its low-level server has middleware": [type(part) for part in app._mcp_server.middleware]
        != [FastMCPServerMiddleware, RequestStateBoundary],
    }
    return tuple(reason for reason, is_so in found.items() if is_so)


def watchers(app: FastMCP[Any]) -> tuple[str, ...]:
    """What looks at the calls of `app` and keeps it from the direct lane: its middleware, in one reason."""
    names = ", ".join(type(part).__name__ for part in app.middleware if looks_at_calls(part))
    return (f"it has middleware ({names})",) if names else ()


def _only_hide(transforms: list[Any]) -> bool:
    """Whether the transforms are only those of `disable` and `enable`."""
    return all(type(transform) is Visibility for transform in transforms)


def _is_patched(app: FastMCP[Any]) -> bool:
    """Whether something else stands where a method of fastmcp's is left out or done in another way.

    On the app itself, or on the classes, as what watches a program from outside likes to do.
    """
    return bool(app.__dict__.keys() & set(_ON_THE_WAY[FastMCP])) or not all(
        _is_by_fastmcp(inspect.getattr_static(cls, name))
        for cls, names in _ON_THE_WAY.items()
        for name in names
    )


def _is_by_fastmcp(function: Any) -> bool:
    # Not `__module__`, which a wrapper copies.
    return type(function) is FunctionType and function.__globals__["__name__"].startswith("fastmcp.")


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


class _Rules:
    """Whether a session of an app has rules of its own about which components it sees."""

    __slots__ = ("exist",)

    def __init__(self) -> None:
        self.exist = False


# By app, not by lane: the rules lie in the app, whatever serves it.
_rules: weakref.WeakKeyDictionary[FastMCP[Any], _Rules] = weakref.WeakKeyDictionary()


class Lane:
    """How the calls of one app are served, as long as it is as plain as it was."""

    def __init__(self, app: FastMCP[Any]) -> None:
        self.chain = Chain(app)
        self._app = app
        self._local = app._local_provider
        self._components: dict[str, Any] = self._local._components
        self._plans: dict[str, Plan] = {}
        self._rules = _rules.setdefault(app, _Rules())

    def session_rules(self) -> None:
        """A session was given rules of its own. From now on fastmcp looks for the tools, for good."""
        self._rules.exist = True

    def plan(self, name: str) -> Plan | None:
        """How to run the tool of this name, or None when fastmcp has to look for it."""
        app = self._app
        if self._rules.exist or app._extensions or len(app.providers) != 1 or self.chain.injects(name):
            return None
        tool = self._components.get(f"tool:{name}@")
        if tool is None:
            return None
        plan = self._plans.get(name)
        if plan is None or plan.tool is not tool:
            if type(tool) is not FunctionTool or tool.task_config.mode != "forbidden":
                return None
            plan = self._plans[name] = Plan(tool)
        return plan if self._is_visible(tool) else None

    def _is_visible(self, tool: FunctionTool) -> bool:
        """Whether the transforms let the tool be seen, as far as that is known without fastmcp."""
        visible = tool.meta is None or is_enabled(tool)
        # The local ones first; the last one that speaks of the tool decides.
        for transforms in (self._local._transforms, self._app._transforms):
            for transform in transforms:
                if type(transform) is not Visibility:
                    return False
                if transform._matches(tool):
                    visible = transform._enabled
        return visible
