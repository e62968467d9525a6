"""What kind of server an object is.

Decides it by `isinstance` against classes of SDKs that are imported already: an object of theirs can't exist
without its module. Imports none of them, so that nobody pays for an SDK that is not used.
"""

from __future__ import annotations

import enum
import sys
from typing import Any

from ..errors import ConfigurationError

__all__ = ["SUPPORTED", "Kind", "kind_of", "require_kind"]


class Kind(enum.Enum):
    """The server objects that can be served."""

    NATIVE = "ferromcp.Server"
    FASTMCP = "fastmcp.FastMCP"
    MCPSERVER = "mcp.server.mcpserver.MCPServer"
    LOWLEVEL = "mcp.server.lowlevel.Server"


SUPPORTED = (
    "ferromcp.Server, fastmcp.FastMCP (4.x), mcp.server.mcpserver.MCPServer and "
    "mcp.server.lowlevel.Server (2.x)"
)

# In this order: nothing forbids a subclass of more than one.
_CLASSES = (
    (Kind.NATIVE, "ferromcp.server", "Server"),
    (Kind.FASTMCP, "fastmcp.server.server", "FastMCP"),
    (Kind.MCPSERVER, "mcp.server.mcpserver.server", "MCPServer"),
    (Kind.LOWLEVEL, "mcp.server.lowlevel.server", "Server"),
)


def kind_of(app: Any) -> Kind | None:
    """The kind of `app`, or None when it is none of the known ones."""
    for kind, module, name in _CLASSES:
        cls = getattr(sys.modules.get(module), name, None)
        if isinstance(cls, type) and isinstance(app, cls):
            return kind
    return None


def require_kind(app: Any) -> Kind:
    """The kind of `app`.

    Raises:
        ConfigurationError: `app` is nothing that can be served.
    """
    kind = kind_of(app)
    if kind is None:
        cls = type(app)
        raise ConfigurationError(
            f"can't serve a {cls.__module__}.{cls.__qualname__}: supported are {SUPPORTED}"
        )
    return kind
