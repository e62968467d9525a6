"""An app's middleware round one call, as `FastMCP._run_middleware` and `Middleware.__call__` run it.

Decides which middleware looks at calls. What only passes a call on, as fastmcp's own
`DereferenceRefsMiddleware` does, is stepped over; the rest is called as fastmcp calls it, in its order.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.low_level import FastMCPServerMiddleware
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware

from ..mcp2.config import looks_at_pings as looks_at_pings_below

__all__ = ["HOOKS", "Chain", "looks_at_calls", "looks_at_pings"]

CallNext = Callable[[MiddlewareContext[Any]], Awaitable[Any]]

HOOKS = ("__call__", "_dispatch_handler", "on_message", "on_request", "on_call_tool")
"""The methods of a `Middleware` that a call comes through."""


def looks_at_calls(middleware: Any) -> bool:
    """Whether a `tools/call` does more than pass through this middleware."""
    return not isinstance(middleware, Middleware) or _has_own(middleware, *HOOKS)


def looks_at_pings(app: FastMCP[Any]) -> bool:
    """Whether the app has middleware that would see a `ping`: what sees messages of every kind."""
    hooks = [hook for hook in HOOKS if hook != "on_call_tool"]
    below = [part for part in app._mcp_server.middleware if type(part) is not FastMCPServerMiddleware]
    return looks_at_pings_below(below) or any(
        not isinstance(part, Middleware) or _has_own(part, *hooks) for part in app.middleware
    )


class Chain:
    """The middleware of one app. It may change while the app runs."""

    def __init__(self, app: FastMCP[Any]) -> None:
        self._app = app
        self._seen: list[Any] = []
        self._links: list[_Link] = []
        self._watched = False
        self._injects = False

    @property
    def is_watched(self) -> bool:
        """Whether any middleware looks at calls."""
        self._look()
        return self._watched

    def injects(self, name: str) -> bool:
        """Whether the tool of this name is one of a `ToolInjectionMiddleware`."""
        self._look()
        return self._injects and self._app._get_injected_tool(name) is not None

    def round(self, core: CallNext) -> CallNext:
        """What is called to get through all middleware to `core`."""
        self._look()
        following = core
        for link in self._links:
            following = partial(link, following)
        return following

    def _look(self) -> None:
        middleware = self._app.middleware
        if middleware != self._seen:
            self._seen = list(middleware)
            # The last one first: it is nearest to the tool.
            self._links = [_link(part) for part in reversed(self._seen)]
            self._watched = any(looks_at_calls(part) for part in self._seen)
            self._injects = any(isinstance(part, ToolInjectionMiddleware) for part in self._seen)


_Link = Callable[[CallNext, MiddlewareContext[Any]], Awaitable[Any]]
"""What one middleware makes of a call, given what follows it."""


def _link(middleware: Any) -> _Link:
    if isinstance(middleware, Middleware) and not _has_own(middleware, "__call__", "_dispatch_handler"):
        hooks = [hook for hook in ("on_call_tool", "on_request", "on_message") if _has_own(middleware, hook)]
        if all(inspect.iscoroutinefunction(getattr(middleware, hook)) for hook in hooks):
            return partial(_through_hooks, middleware, hooks)
    return partial(_through, middleware)


async def _through(middleware: Any, following: CallNext, context: MiddlewareContext[Any]) -> Any:
    return await middleware(context, following)


def _through_hooks(
    middleware: Middleware, hooks: list[str], following: CallNext, context: MiddlewareContext[Any]
) -> Awaitable[Any]:
    """The hooks that are its own, the nearest to the tool first. No coroutine but theirs is needed."""
    if context.method != "tools/call" or context.type != "request":
        # One before it has made something else of the call, and for that it may have other hooks.
        return middleware(context, following)
    for hook in hooks:
        following = partial(getattr(middleware, hook), call_next=following)
    return following(context)


def _has_own(middleware: Middleware, *hooks: str) -> bool:
    cls = type(middleware)
    return any(
        getattr(cls, hook) is not getattr(Middleware, hook) or hook in vars(middleware) for hook in hooks
    )
