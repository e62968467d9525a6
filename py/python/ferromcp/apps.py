"""Pages of MCP Apps: HTML that a host shows beside a tool (extension `io.modelcontextprotocol/ui`, SEP-1865).

Decides nothing of what is written: the runtime does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._native import AppView as NativeAppView
from ._native import dumps, loads

__all__ = ["AppView"]


class AppView:
    """A page, which `Server.app_view` adds and tools point at.

        clock = AppView("ui://clock/view.html", "Clock", "<!doctype html><title>Clock</title>")
        server.app_view(clock)

        @server.tool(meta=clock.tool_meta())
        def time() -> str: ...

    Clients without the extension see no page, so a tool says in its content what the page shows.
    """

    def __init__(self, uri: str, name: str, html: str, *, ui: Mapping[str, Any] | None = None) -> None:
        """A page of this HTML. Hosts may load it before the tool is called, and keep it, so what changes
        belongs into the tool's result. `ui` is what the page needs of its host: `csp`, `permissions` ...

        Raises:
            ConfigurationError: the URI does not begin with `ui://`.
        """
        self._uri = uri
        self._native = NativeAppView(uri, name, html, None if ui is None else dumps(ui, "ui"))

    @property
    def uri(self) -> str:
        """Where the page is read."""
        return self._uri

    def tool_meta(self, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The `meta` of a tool that points at this page: what is given, and this page in its `ui`.

        Raises:
            SerializationError: `ui` in what is given is no mapping.
        """
        found: dict[str, Any] = loads(self._native.tool_meta(dumps(meta or {}, "meta")))
        return found
