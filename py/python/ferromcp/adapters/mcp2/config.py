"""The engine's configuration for a server of the SDK's.

Decides who answers what: the SDK, wherever it derives an answer at call time, keeps a state of its own, or
lets middleware look. What is declared here keeps the engine from asking about methods that the server has no
handler for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["engine_config", "is_served", "looks_at_pings"]
# What the engine could answer, or see to, without the host. `ping` only where somebody looks at it: it asks
# whether the server is there, and is answered though the app is busy.
_DELEGATE = (
    "initialize",
    "notifications/cancelled",
    "server/discover",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
)
_STANDS_UNDER = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "completion/complete": "completions",
    "logging/setLevel": "logging",
}
# A newer SDK may know revisions that this engine does not.
_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


def engine_config(server: Server[Any], *, pings: bool) -> dict[str, Any]:
    """The configuration as the engine reads it. `pings`: the server answers them itself."""
    options = server.create_initialization_options()
    capabilities = options.capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    for method in server._request_handlers:
        _offer(capabilities, method)
    config: dict[str, Any] = {
        "info": server.server_info.model_dump(by_alias=True, mode="json", exclude_none=True),
        "catalogue": "delegated",
        "capabilities": capabilities,
        "delegate": (*_DELEGATE, "ping") if pings else _DELEGATE,
        # In the SDK's words, and before the eyes of its middleware.
        "delegateRefusals": True,
        # All of them: whether a revision has a method is for the SDK to say, where it serves it at all.
        "extraMethods": sorted(server._request_handlers),
        "revisions": [version for version in KNOWN_PROTOCOL_VERSIONS if version in _REVISIONS],
        # The app's own code has checked them, or did not want to.
        "outputValidation": "off",
    }
    if options.instructions is not None:
        config["instructions"] = options.instructions
    return config


def looks_at_pings(middleware: Iterable[Any]) -> bool:
    """Whether there is middleware that would see a `ping`, besides the SDK's own, which does nothing then."""
    return not all(type(part).__module__.startswith("mcp.") for part in middleware)


def is_served(server: Server[Any], method: str) -> bool:
    """Whether the server has a handler for `method`."""
    return method == "initialize" or method in server._request_handlers


def _offer(capabilities: dict[str, Any], method: str) -> None:
    """Declares what `method` stands under, where the SDK serves it and declares nothing.

    The SDK declares tools only with a handler that lists them, say, and serves calls all the same; the engine
    asks nobody about a method whose capability is not declared.
    """
    name = _STANDS_UNDER.get(method) or _STANDS_UNDER.get(method.partition("/")[0])
    if name is not None:
        settings = capabilities.setdefault(name, {})
        if method in ("resources/subscribe", "resources/unsubscribe"):
            settings["subscribe"] = True
