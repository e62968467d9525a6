"""Which requests need none of the SDK's checks, because they have been made already.

A `tools/call` is plain when its parameters have the shape that every revision wants and its `_meta` is the
one that the same client sent with its last request. Then the SDK's validation can only say yes, there is no
trace to continue and no sealed state to open. Anything else is not plain, and the SDK looks at all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    methods,
)
from opentelemetry import trace
from pydantic import ValidationError

__all__ = ["PlainCalls", "tracing"]

_ENVELOPE = frozenset(
    (PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY)
)
_SILENT = (type(None), trace.ProxyTracerProvider, trace.NoOpTracerProvider)


def tracing() -> bool:
    """Whether spans go anywhere: without a provider the OpenTelemetry API only makes empty ones."""
    # Not get_tracer_provider(): that asks the environment each time, and the SDK has done so when it was
    # imported.
    return type(trace._TRACER_PROVIDER) not in _SILENT


class PlainCalls:
    """Tells plain calls apart. Remembers the last envelope that the SDK's own validation has passed."""

    def __init__(self) -> None:
        self._good: dict[str, Any] | None = None

    def is_plain(self, params: Mapping[str, Any], version: str, *, modern: bool) -> bool:
        """Whether `params` of a `tools/call` are plain at this revision."""
        members = 1
        if type(params.get("name")) is not str:
            return False
        if "arguments" in params:
            if type(params["arguments"]) is not dict:
                return False
            members += 1
        if "_meta" in params:
            members += 1
        if len(params) != members:
            return False
        return self._is_plain_meta(params.get("_meta"), params, version, modern)

    def _is_plain_meta(self, meta: Any, params: Mapping[str, Any], version: str, modern: bool) -> bool:
        if not modern:
            return meta is None or (type(meta) is dict and (not meta or _only_token(meta)))
        if meta == self._good:
            return meta is not None
        if type(meta) is not dict:
            return False
        if "progressToken" in meta:
            if not _is_token(meta["progressToken"]):
                return False
            meta = {key: value for key, value in meta.items() if key != "progressToken"}
            if meta == self._good:
                return True
        if not meta.keys() <= _ENVELOPE:
            return False
        try:
            methods.validate_client_request("tools/call", version, params)
        except (ValidationError, KeyError):
            return False
        self._good = meta
        return True


def _is_token(token: Any) -> bool:
    return type(token) is str or type(token) is int


def _only_token(meta: Mapping[str, Any]) -> bool:
    return len(meta) == 1 and _is_token(meta.get("progressToken"))
