"""What an app has over HTTP besides its MCP endpoint, which the listener of our own does not serve."""

from __future__ import annotations

from typing import Any

from .kinds import Kind

__all__ = ["beyond_listener"]


def beyond_listener(app: Any, kind: Kind) -> tuple[str, ...]:
    """What `app` has that takes an ASGI server; empty when nothing does."""
    if kind is Kind.FASTMCP:
        found = {"auth": app.auth is not None, "custom routes": bool(app._get_additional_http_routes())}
    elif kind is Kind.MCPSERVER:
        found = {"auth": app.settings.auth is not None, "custom routes": bool(app._custom_starlette_routes)}
    else:
        found = {}
    return tuple(name for name, is_so in found.items() if is_so)
