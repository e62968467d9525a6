"""The SDK's errors as ours and ours as the SDK's.

Which exception means which code is the SDK's own choice, repeated here because the SDK makes it inside the
loop that the engine stands in for (`mcp.shared.jsonrpc_dispatcher`, `mcp.server.runner.modern_error_data`).
"""

from __future__ import annotations

import logging
from typing import Any

from mcp.shared.exceptions import MCPError as SdkError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import ValidationError

from ...errors import MCPError, NoBackChannel
from .text import decode, encode

__all__ = ["closed", "from_engine", "to_engine", "unknown_method"]

logger = logging.getLogger("ferromcp.adapters")


def to_engine(error: Exception, method: str, *, modern: bool) -> MCPError:
    """What a request is answered with when its handler raised `error`."""
    if isinstance(error, MCPError):
        return error
    if isinstance(error, SdkError):
        data = error.error
        return MCPError(data.code, data.message, _plain(data.data))
    if isinstance(error, ValidationError):
        # No pydantic text on the wire: it repeats what the peer sent.
        return MCPError(INVALID_PARAMS, "Invalid request parameters", "")
    if modern:
        logger.error("modern request handler raised", exc_info=error)
        return MCPError(INTERNAL_ERROR, "Internal server error")
    logger.error("handler for %r raised", method, exc_info=error)
    # 0 is no code that JSON-RPC reserves; it is what these SDK versions answer to legacy peers.
    return MCPError(0, str(error))


def unknown_method(method: str) -> MCPError:
    """The server does not have this method, whatever its parameters are (2026-07-28 schema,
    MethodNotFoundError). In the words of the SDK.
    """
    return MCPError(METHOD_NOT_FOUND, "Method not found", method)


def from_engine(error: Exception) -> SdkError:
    """What the SDK raises where the engine raised `error` for a request of ours."""
    if isinstance(error, MCPError):
        return SdkError(code=error.code, message=error.message, data=error.data)
    if isinstance(error, NoBackChannel):
        return closed()
    raise error


def closed() -> SdkError:
    """The peer is gone."""
    return SdkError(code=CONNECTION_CLOSED, message="Connection closed")


def _plain(data: Any) -> Any:
    if data is None or isinstance(data, str | int | float | bool):
        return data
    return decode(encode(data))
