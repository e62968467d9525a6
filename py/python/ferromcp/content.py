"""What a tool, resource or prompt can return beside plain values: content blocks, whole results, messages.

Decides how each of them is written in MCP's own field names. Which plain value becomes which block is decided
in `_results.py`. Imported only by servers that name one of these types, because dataclasses cost start-up
time.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ._native import Json

__all__ = [
    "Audio",
    "AudioContent",
    "BlobResource",
    "CompletionResult",
    "ContentBlock",
    "EmbeddedResource",
    "Image",
    "ImageContent",
    "Json",
    "PromptMessage",
    "PromptResult",
    "ResourceLink",
    "ResourceResult",
    "TextContent",
    "TextResource",
    "ToolResult",
]

Annotations: TypeAlias = Mapping[str, Any]
"""`audience`, `priority` and `lastModified`, in MCP's own names."""

Meta: TypeAlias = Mapping[str, Any]


def _object(kind: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The members that are set; `type` first."""
    block: dict[str, Any] = {} if kind is None else {"type": kind}
    block.update((key, value) for key, value in fields.items() if value is not None)
    return block


def _base64(data: bytes | bytearray | memoryview | str) -> str:
    """Base64 text of bytes; a str is taken to be that already."""
    return data if isinstance(data, str) else base64.b64encode(data).decode("ascii")


@dataclass(slots=True)
class TextContent:
    """A block of text."""

    text: str
    annotations: Annotations | None = None
    meta: Meta | None = None

    def to_block(self) -> dict[str, Any]:
        """The block in MCP's field names."""
        return _object("text", {"text": self.text, "annotations": self.annotations, "_meta": self.meta})


@dataclass(slots=True)
class ImageContent:
    """An image: bytes, or their base64 text, and the media type."""

    data: bytes | str
    mime_type: str = "image/png"
    annotations: Annotations | None = None
    meta: Meta | None = None

    def to_block(self) -> dict[str, Any]:
        """The block in MCP's field names."""
        fields = {"data": _base64(self.data), "mimeType": self.mime_type}
        return _object("image", {**fields, "annotations": self.annotations, "_meta": self.meta})


@dataclass(slots=True)
class AudioContent:
    """Sound: bytes, or their base64 text, and the media type."""

    data: bytes | str
    mime_type: str = "audio/wav"
    annotations: Annotations | None = None
    meta: Meta | None = None

    def to_block(self) -> dict[str, Any]:
        """The block in MCP's field names."""
        fields = {"data": _base64(self.data), "mimeType": self.mime_type}
        return _object("audio", {**fields, "annotations": self.annotations, "_meta": self.meta})


Image = ImageContent
Audio = AudioContent


@dataclass(slots=True)
class ResourceLink:
    """A pointer to a resource that the peer can read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    annotations: Annotations | None = None
    meta: Meta | None = None

    def to_block(self) -> dict[str, Any]:
        """The block in MCP's field names."""
        fields = {
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
            "icons": self.icons,
            "annotations": self.annotations,
            "_meta": self.meta,
        }
        return _object("resource_link", fields)


@dataclass(slots=True)
class TextResource:
    """Text under a URI. In a resource function the URI that was asked for is the default."""

    text: str
    uri: str | None = None
    mime_type: str | None = None
    meta: Meta | None = None

    def to_contents(self, uri: str, mime_type: str | None) -> dict[str, Any]:
        """The contents object, with defaults for what was left out."""
        fields = {"uri": self.uri or uri, "mimeType": self.mime_type or mime_type}
        return _object(None, {**fields, "text": self.text, "_meta": self.meta})


@dataclass(slots=True)
class BlobResource:
    """Bytes (or their base64 text) under a URI. In a resource function the URI that was asked for is the
    default.
    """

    data: bytes | str
    uri: str | None = None
    mime_type: str | None = None
    meta: Meta | None = None

    def to_contents(self, uri: str, mime_type: str | None) -> dict[str, Any]:
        """The contents object, with defaults for what was left out."""
        fields = {"uri": self.uri or uri, "mimeType": self.mime_type or mime_type}
        return _object(None, {**fields, "blob": _base64(self.data), "_meta": self.meta})


@dataclass(slots=True)
class EmbeddedResource:
    """A resource's contents inside a tool result or a message."""

    resource: TextResource | BlobResource
    annotations: Annotations | None = None
    meta: Meta | None = None

    def to_block(self) -> dict[str, Any]:
        """The block in MCP's field names."""
        contents = self.resource.to_contents("resource://embedded", None)
        return _object(
            "resource", {"resource": contents, "annotations": self.annotations, "_meta": self.meta}
        )


ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


@dataclass(slots=True)
class ToolResult:
    """A whole tool result. `content` is one value or a list of blocks, strings and block dicts as MCP
    writes them.
    """

    content: Any = None
    structured: Any = None
    is_error: bool = False
    meta: Meta | None = None


@dataclass(slots=True)
class ResourceResult:
    """A whole result of a read. `contents` is what the function could return alone."""

    contents: Any
    meta: Meta | None = None


@dataclass(slots=True)
class PromptMessage:
    """One message of a prompt."""

    content: Any
    role: Literal["user", "assistant"] = "user"


@dataclass(slots=True)
class PromptResult:
    """A whole prompt: its messages and a description that overrides the listed one."""

    messages: Any
    description: str | None = None
    meta: Meta | None = None


@dataclass(slots=True)
class CompletionResult:
    """Completion values with the total number there is, and whether more than these exist."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None
