"""What host code returned, made into what MCP sends: the slow half, for values that the native module does
not know.

Decides which Python value becomes which content. The native module handles str, None, numbers, dicts and
lists of plain values itself and calls in here for the rest, so that both halves together give one table
(docs: results). Dicts are always data: a dict that looks like a content block is one only inside
`ToolResult(content=...)`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ._native import Json, dumps
from .errors import SerializationError

__all__ = ["completion", "method", "plain", "prompt", "resource", "sampling", "tool"]

ToolParts = tuple[bytes, bytes | None, bool, bytes | None]
"""Content array, structured content, is_error, `_meta`: each as JSON text."""


def plain(value: Any) -> Any:
    """One step from a value that the serializer does not know towards one that it does; raises TypeError."""
    kind = type(value)
    if hasattr(kind, "model_dump"):  # pydantic
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if hasattr(kind, "_member_map_"):  # enum
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    module = kind.__module__
    if module == "datetime" and hasattr(value, "isoformat"):
        return value.isoformat()
    if module in ("uuid", "decimal") or hasattr(kind, "__fspath__"):
        return _text_of(value)
    if hasattr(kind, "tolist") and module.partition(".")[0] == "numpy":
        return value.tolist()
    if kind.__base__ is not object:
        # A subclass of one of the above that hides its module, like a datetime of pendulum.
        for base in kind.__mro__[1:]:
            if base.__module__ == "datetime" and hasattr(value, "isoformat"):
                return value.isoformat()
            if base.__module__ in ("uuid", "decimal"):
                return _text_of(value)
    raise TypeError(f"{kind.__name__} is not JSON")


def _text_of(value: Any) -> str:
    text = str(value)
    if text.lstrip("-") in ("NaN", "sNaN", "Infinity"):
        raise TypeError(f"{text} is not JSON")
    return text


def tool(value: Any, structured: bool) -> ToolParts:
    """A tool's return value that is no plain one."""
    content = _content_module()
    if content is not None and isinstance(value, content.ToolResult):
        blocks = [] if value.content is None else _blocks(value.content, dicts=True)
        structured_text = None if value.structured is None else dumps(value.structured, "structured")
        if value.content is None and structured_text is not None:
            blocks = [_text(structured_text.decode())]
        meta = None if value.meta is None else dumps(value.meta, "meta")
        return dumps(blocks, "content"), structured_text, bool(value.is_error), meta
    if _is_block(value) or _holds_blocks(value):
        return dumps(_blocks(value), "result"), None, False, None
    if not structured and isinstance(value, (bytes, bytearray, memoryview)):
        return dumps(_blocks(value), "result"), None, False, None
    text = dumps(value, "result")
    return dumps([_text(_shown(value, text))]), text if structured else None, False, None


def _shown(value: Any, text: bytes) -> str:
    """What the text block shows: a value that JSON writes as text stands there without its quotes."""
    if text[:1] == b'"' and not isinstance(value, Json):
        from ._native import loads

        return str(loads(text))
    return text.decode()


def resource(value: Any, uri: str, mime_type: str | None) -> tuple[bytes, bool]:
    """A resource function's return value: the `contents` array, or the whole result where it has a `_meta`;
    and whether it is that.
    """
    content = _content_module()
    if content is None or not isinstance(value, content.ResourceResult):
        return _contents_array(value, uri, mime_type), False
    contents = _contents_array(value.contents, uri, mime_type)
    if value.meta is None:
        return contents, False
    return dumps({"contents": Json(contents), "_meta": value.meta}, "result"), True


def _contents_array(value: Any, uri: str, mime_type: str | None) -> bytes:
    content = _content_module()
    if value is None:
        return b"[]"
    items = value if isinstance(value, (list, tuple)) and content is not None else [value]
    known = () if content is None else (content.TextResource, content.BlobResource)
    if known and items and all(isinstance(item, known) for item in items):
        return dumps([item.to_contents(uri, mime_type) for item in items], "contents")
    return dumps([_contents(value, uri, mime_type)], "contents")


def _contents(value: Any, uri: str, mime_type: str | None) -> dict[str, Any]:
    if isinstance(value, str) and not hasattr(type(value), "_member_map_"):
        return {"uri": uri, "mimeType": mime_type or "text/plain", "text": value}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"uri": uri, "mimeType": mime_type or "application/octet-stream", "blob": plain(value)}
    text = dumps(value, "result").decode()
    return {"uri": uri, "mimeType": mime_type or "application/json", "text": text}


def prompt(value: Any) -> tuple[str | None, bytes, bytes | None]:
    """A prompt function's return value: description, `messages` array, and the whole result where it has a
    `_meta`.
    """
    content = _content_module()
    description, meta = None, None
    if content is not None and isinstance(value, content.PromptResult):
        description, meta, value = value.description, value.meta, value.messages
    items = value if isinstance(value, (list, tuple)) else [value]
    messages = dumps([_message(item) for item in items], "messages")
    if meta is None:
        return description, messages, None
    described = {} if description is None else {"description": description}
    return description, messages, dumps({**described, "messages": Json(messages), "_meta": meta}, "result")


def sampling(value: Any) -> list[Any]:
    """What a client's model is to go on from, as `messages`. A message may hold several blocks there."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [_message(item, several=True) for item in items]


def _message(item: Any, *, several: bool = False) -> Any:
    content = _content_module()
    role = "user"
    if content is not None and isinstance(item, content.PromptMessage):
        role, item = item.role, item.content
    elif isinstance(item, Mapping) and "role" in item and "content" in item:
        role, item = item["role"], item["content"]
    if role not in ("user", "assistant"):
        raise SerializationError(f"messages: role {role!r} is neither 'user' nor 'assistant'")
    if several and isinstance(item, (list, tuple)):
        return {"role": role, "content": _blocks(item, dicts=True)}
    return {"role": role, "content": _block(item, dicts=True)}


def completion(value: Any) -> tuple[bytes, int | None, bool | None]:
    """A completion function's return value: values array, total, whether there are more."""
    content = _content_module()
    total, more = None, None
    if content is not None and isinstance(value, content.CompletionResult):
        value, total, more = value.values, value.total, value.has_more
    values = [] if value is None else [str(item) for item in value]
    if len(values) > 100:  # what one answer may carry
        total = len(values) if total is None else total
        values, more = values[:100], True
    return dumps(values, "values"), total, more


def method(value: Any) -> bytes:
    """The return value of a method of an extension as its result, which is a JSON object."""
    text = b"{}" if value is None else dumps(value, "result")
    if text.lstrip()[:1] != b"{":
        raise SerializationError(f"result: must be an object, not {type(value).__name__}")
    return text


def _blocks(value: Any, *, dicts: bool = False) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [_block(item, dicts) for item in value]
    return [_block(value, dicts)]


def _block(item: Any, dicts: bool = False) -> Any:
    """One content block from one item."""
    if _is_block(item):
        return item.to_block()
    if isinstance(item, str):
        return _text(str(item))
    if isinstance(item, (bytes, bytearray, memoryview)):
        blob = {"uri": "resource://result", "mimeType": "application/octet-stream", "blob": plain(item)}
        return {"type": "resource", "resource": blob}
    if dicts and isinstance(item, Mapping) and isinstance(item.get("type"), str):
        return item
    return _text(_shown(item, dumps(item, "result")))


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _is_block(value: Any) -> bool:
    return type(value).__module__ == "ferromcp.content" and hasattr(value, "to_block")


def _holds_blocks(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(_is_block(item) for item in value)


def _content_module() -> Any:
    """The content types, when host code has imported them; otherwise no value can be one of them."""
    return sys.modules.get("ferromcp.content")
