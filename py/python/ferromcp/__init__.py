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
from .context import Context, TraceContext, current_context
from .errors import (
    CapabilityNotDeclared,
    ConfigurationError,
    FerroMCPError,
    ForkedError,
    InvalidAnswer,
    MCPError,
    NoBackChannel,
    ResourceNotFound,
    SerializationError,
    TaskStoreError,
    ToolError,
)
from .run import explain, run, serve
from .server import Server

if TYPE_CHECKING:
    from ._asgi import AsgiApp, asgi
    from ._http import HttpConfig, HttpOptions
    from .apps import AppView
    from .asking import (
        Elicit,
        ElicitResult,
        ElicitUrl,
        InputRequired,
        ListRoots,
        Pending,
        Root,
        Sample,
        SampleResult,
    )
    from .content import (
        Audio,
        AudioContent,
        BlobResource,
        CompletionResult,
        ContentBlock,
        EmbeddedResource,
        Image,
        ImageContent,
        PromptMessage,
        PromptResult,
        ResourceLink,
        ResourceResult,
        TextContent,
        TextResource,
        ToolResult,
    )

__all__ = [
    "AppView",
    "AsgiApp",
    "Audio",
    "AudioContent",
    "BlobResource",
    "CapabilityNotDeclared",
    "CompletionResult",
    "ConfigurationError",
    "ContentBlock",
    "Context",
    "Elicit",
    "ElicitResult",
    "ElicitUrl",
    "EmbeddedResource",
    "FerroMCPError",
    "ForkedError",
    "HttpConfig",
    "HttpOptions",
    "Image",
    "ImageContent",
    "InputRequired",
    "InvalidAnswer",
    "Json",
    "ListRoots",
    "MCPError",
    "NoBackChannel",
    "Pending",
    "PromptMessage",
    "PromptResult",
    "ResourceLink",
    "ResourceNotFound",
    "ResourceResult",
    "Root",
    "Sample",
    "SampleResult",
    "SerializationError",
    "Server",
    "TaskStoreError",
    "TextContent",
    "TextResource",
    "ToolError",
    "ToolResult",
    "TraceContext",
    "__version__",
    "asgi",
    "current_context",
    "explain",
    "run",
    "serve",
]

_ASKING = (
    "Elicit",
    "ElicitResult",
    "ElicitUrl",
    "InputRequired",
    "ListRoots",
    "Pending",
    "Root",
    "Sample",
    "SampleResult",
)


def __getattr__(name: str) -> Any:
    if name in _ASKING:
        from . import asking

        return getattr(asking, name)
    if name in ("AsgiApp", "asgi"):
        from . import _asgi

        return getattr(_asgi, name)
    if name in ("HttpConfig", "HttpOptions"):
        from . import _http

        return getattr(_http, name)
    if name == "AppView":
        from .apps import AppView

        return AppView
    if name in __all__:
        from . import content

        return getattr(content, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
