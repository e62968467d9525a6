"""Headers that repeat arguments of a call (2026-07-28 `basic/transports/streamable-http`, "Custom Headers
from Tool Parameters"): held against the body by the SDK's own rules, where a tool's schema asks for them.

The engine does that for servers of ours; which schemas an app of another SDK has, only the app can say. The
stock transport asks it before every call. Here it is asked once for each tool whose schema mentions no
header, and again when somebody has listed the tools.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mcp.shared.inbound import MCP_PARAM_HEADER_PREFIX, validate_mcp_param_headers
from mcp_types import HEADER_MISMATCH

from ...errors import MCPError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from ..._native import Call
    from .channel import CallChannel

__all__ = ["Mirrors"]

logger = logging.getLogger("ferromcp.adapters")

_PREFIX = MCP_PARAM_HEADER_PREFIX.lower()
_ANNOTATION = "x-mcp-header"
# A schema that nobody has.
_NONE = object()


class Mirrors:
    """What is known of the tools of one server."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        # Tools whose schema mentions no header, and that schema.
        self._free: dict[str, Any] = {}

    def forget(self) -> None:
        """Somebody has looked at the tools, and may go by what is there now."""
        self._free.clear()

    def is_free(self, name: str) -> bool:
        """Whether it is known that a call of this tool needs no look at its headers."""
        lookup = self._server.get_tool_input_schema
        if lookup is None:
            return name in self._free
        try:
            return self._free.get(name, _NONE) is lookup(name)
        except Exception:
            return False

    async def check(self, call: Call, params: Mapping[str, Any], channel: CallChannel, state: Any) -> None:
        """Looks at the headers of a modern `tools/call`.

        Raises:
            MCPError: they say something else than the body.
        """
        name, arguments, request = params.get("name"), params.get("arguments"), channel.request
        if request is None or not isinstance(name, str) or not isinstance(arguments, Mapping | None):
            return
        if self.is_free(name):
            return
        if not arguments and not any(header.startswith(_PREFIX) for header in request.headers):
            return
        schema = await self._schema(call, channel, state, name)
        if schema is None:
            return
        if not _mentions(schema):
            self._free[name] = schema
            return
        for header, value in request.headers.items():
            if header.startswith(_PREFIX) and not value.isascii():
                raise MCPError(HEADER_MISMATCH, f"{header} header contains invalid characters")
        rejection = validate_mcp_param_headers(schema, arguments or {}, request.headers)
        if rejection is not None:
            raise MCPError(rejection.code, rejection.message)

    async def _schema(self, call: Call, channel: CallChannel, state: Any, name: str) -> Any:
        lookup = self._server.get_tool_input_schema
        if lookup is not None:
            try:
                return lookup(name)
            except Exception:
                # As in the SDK: a look at headers must not break a call that works.
                logger.exception("headers were not looked at: get_tool_input_schema raised")
                return None
        if self._server.get_request_handler("tools/list") is None:
            return None
        try:
            from mcp.server._streamable_http_modern import _tool_input_schema
        except ImportError:
            return None
        verdict: Any = SimpleNamespace(
            protocol_version=call.protocol_version,
            client_info=call.client_info,
            client_capabilities=call.client_capabilities,
        )
        request: Any = channel.request
        return await _tool_input_schema(self._server, request, call.request_id, verdict, state, name)


def _mentions(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return _ANNOTATION in schema or any(_mentions(value) for value in schema.values())
    return isinstance(schema, list | tuple) and any(_mentions(value) for value in schema)
