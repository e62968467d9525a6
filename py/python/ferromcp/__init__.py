"""MCP servers on a Rust engine.

    from ferromcp import Server

    server = Server("demo", version="1.0")

    @server.tool
    def add(a: int, b: int) -> int:
        "Add two integers"
        return a + b

    server.run()

Names that would cost start-up time are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import Json, __version__
from .context import Context, current_context
from .errors import (
    CapabilityNotDeclared,
    ConfigurationError,
    FerroMCPError,
    ForkedError,
    MCPError,
    NoBackChannel,
    ResourceNotFound,
    SerializationError,
    ToolError,
)
from .run import explain, run, serve
from .server import Server

if TYPE_CHECKING:
    from .content import (
        Audio,
        AudioContent,
        BlobResource,
        Completion,
        ContentBlock,
        EmbeddedResource,
        Image,
        ImageContent,
        Message,
        PromptResult,
        ResourceLink,
        TextContent,
        TextResource,
        ToolResult,
    )

__all__ = [
    "Audio",
    "AudioContent",
    "BlobResource",
    "CapabilityNotDeclared",
    "Completion",
    "ConfigurationError",
    "ContentBlock",
    "Context",
    "EmbeddedResource",
    "FerroMCPError",
    "ForkedError",
    "Image",
    "ImageContent",
    "Json",
    "MCPError",
    "Message",
    "NoBackChannel",
    "PromptResult",
    "ResourceLink",
    "ResourceNotFound",
    "SerializationError",
    "Server",
    "TextContent",
    "TextResource",
    "ToolError",
    "ToolResult",
    "__version__",
    "current_context",
    "explain",
    "run",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import content

        return getattr(content, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
