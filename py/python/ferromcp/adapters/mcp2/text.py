"""JSON text in and out of the SDK's Python values.

pydantic's own parser and serializer are used, since they decide what the stock server puts on the wire; what
they refuse and JSON allows (unpaired surrogates) goes through the native ones.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..._native import dumps, loads

__all__ = ["decode", "encode"]


def decode(text: bytes) -> Any:
    """The Python value of JSON text."""
    try:
        return from_json(text)
    except ValueError:
        return loads(text)


def encode(value: Any) -> bytes:
    """The JSON text of a Python value, as the SDK writes it: NaN and the infinities become null."""
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        return dumps(value)
