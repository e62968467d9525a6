"""A tool's return value as its result, in one go: as JSON text, or as the object that middleware gets to see.

`convert_result` builds content blocks, structured content and a `ToolResult` whose parts are validated and
serialized again on their way out. For plain data all of it is known in advance: the text block holds the
data's JSON (or the text itself), the structured content the same data, wrapped if the tool's schema says so.
Everything that is not plain data, and everything that fails, is left to fastmcp.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import is_dataclass
from typing import Any, get_args

from fastmcp.server.providers.prefab_payload import payload_has_identities
from fastmcp.tools.base import _JSONABLE_ADAPTER, ToolResult, _get_json_serializer
from fastmcp.tools.function_tool import FunctionTool
from fastmcp.utilities.json_schema import is_object_schema
from fastmcp.utilities.prefab import _could_be_prefab
from fastmcp.utilities.types import Audio, File, Image
from mcp_types import ContentBlock, Result, TextContent
from pydantic import BaseModel, PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, to_json

__all__ = ["Converter"]

_SCALARS = frozenset((str, int, float, bool))
_DATA = frozenset((*_SCALARS, dict, list, tuple, type(None)))
# What convert_result makes content of, alone or in a list.
_CONTENT = (*get_args(ContentBlock), Audio, File, Image)
_OWN_RULES = (*_CONTENT, ToolResult, Result)
_WRAPPED = b'"_meta":{"fastmcp":{"wrap_result":true}},'
_END = b'"isError":false,"resultType":"complete"}'

_dump = _JSONABLE_ADAPTER.dump_json


class Converter:
    """Converts the return values of one tool."""

    __slots__ = ("_has_schema", "_serializer", "_wraps")

    def __init__(self, tool: FunctionTool) -> None:
        schema = tool.output_schema
        self._has_schema = schema is not None
        self._wraps = schema is not None and bool(schema.get("x-fastmcp-wrap-result"))
        self._serializer = _serializer(tool.return_type)
        if schema is not None and not is_object_schema(schema):
            # Such results have a form for each era.
            self._serializer = None

    def text(self, value: Any) -> bytes | None:
        """The JSON text of the result, or None when fastmcp has to make it."""
        plain = self._plain(value)
        if plain is None:
            return None
        data, structured = plain
        block = to_json(_shown(data, structured))
        # An empty list is a list of content blocks, too.
        content = b'"content":[],' if data == [] else b'"content":[{"type":"text","text":' + block + b"}],"
        if self._wraps:
            return b"{" + _WRAPPED + content + b'"structuredContent":{"result":' + structured + b"}," + _END
        if type(data) is dict:
            return b"{" + content + b'"structuredContent":' + structured + b"," + _END
        return b"{" + content + _END

    def result(self, value: Any) -> ToolResult | None:
        """The result as an object, or None when fastmcp has to make it."""
        plain = self._plain(value)
        if plain is None:
            return None
        data, text = plain
        structured: Any = {"result": data} if self._wraps else data if type(data) is dict else None
        result = ToolResult.__new__(ToolResult)
        # Not ToolResult's own way to begin, which converts and serializes once more.
        BaseModel.__init__(
            result,
            content=[] if data == [] else [TextContent(type="text", text=_shown(data, text))],
            structured_content=structured,
            meta={"fastmcp": {"wrap_result": True}} if self._wraps else None,
            is_error=False,
        )
        return result

    def _plain(self, value: Any) -> tuple[Any, bytes] | None:
        """The data of a value for which fastmcp has no rule of its own, and its JSON; None for any other."""
        if self._serializer is None or not _is_plain(value):
            return None
        try:
            payload = self._serializer.to_json(value)
            if b"NaN" in payload or b"Infinity" in payload:
                return None
            # There and back, as convert_result does: keys that become equal become one.
            data = json.loads(payload.decode())
            structured = _dump(data, fallback=str)
        except (PydanticSerializationError, ValueError, RecursionError):
            return None
        if data is None:
            return None
        if not self._wraps:
            if type(data) is not dict:
                # Structured content that has a schema and is no object is an error, which fastmcp words.
                return None if self._has_schema else (data, structured)
            if payload_has_identities(data):
                return None
        return (data, structured)


def _shown(data: Any, structured: bytes) -> str:
    """What the text block holds."""
    return data if type(data) is str else structured.decode()


def _is_plain(value: Any) -> bool:
    """Whether convert_result has no rule of its own for this value."""
    cls = type(value)
    if cls in _SCALARS or cls is dict:
        return True
    if cls is list or cls is tuple:
        return all(type(item) in _DATA or not isinstance(item, _CONTENT) for item in value)
    # Models and dataclasses, as long as they are neither content nor results.
    record = isinstance(value, BaseModel) or is_dataclass(value)
    return record and not isinstance(value, _OWN_RULES) and not _could_be_prefab(value)


def _serializer(annotation: Any) -> SchemaSerializer | None:
    """The one that `_serialize_to_jsonable` picks for this annotation; None when it can't pick one."""
    if annotation is inspect.Signature.empty or annotation is None or annotation is Any or annotation is ...:
        return _get_json_serializer(Any)
    if isinstance(annotation, str):
        return _get_json_serializer(Any)
    try:
        return _get_json_serializer(annotation)
    except PydanticSchemaGenerationError:
        return _get_json_serializer(Any)
    except TypeError:
        # It can't be hashed; fastmcp fails on it for each call.
        return None
