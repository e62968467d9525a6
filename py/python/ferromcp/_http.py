"""Options of HTTP: their names in Python, and the JSON that they travel as.

Decides nothing about a value: what is unknown or wrong is found where the JSON is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ._native import dumps
from .errors import ConfigurationError

__all__ = ["HttpConfig", "HttpOptions", "encode"]


class HttpConfig(TypedDict, total=False):
    """How an MCP endpoint is served over HTTP, whatever carries it; docs/http.md has the defaults. Names that
    end in `_ms` are milliseconds, those with `bytes` are bytes.
    """

    path: str | None
    """The path of the endpoint; None: every path."""
    allowed_hosts: list[str]
    """Names and addresses that `Host` may have besides the local ones and the one that is listened on."""
    allowed_origins: list[str]
    """Origins of web pages that may use the server, besides pages of the allowed hosts."""
    sessions: bool
    """Whether legacy clients get sessions."""
    session_idle_ms: int
    """After which a session that nobody uses is over."""
    session_max_ms: int
    """After which a session is over in any case."""
    max_sessions: int
    """Sessions at once."""
    keep_alive_ms: int
    """Silence after which a stream gets a comment, and a call without an answer becomes a stream."""
    strict_accept: bool
    """Whether a client has to accept both content types."""
    max_body_bytes: int
    """Of one request's body."""
    json_response: bool
    """Whether every request but `subscriptions/listen` is answered as one JSON object."""
    legacy_sse: bool
    """Whether the two endpoints of 2024-11-05 are there as well."""
    retry_ms: int
    """That a legacy client is told to wait before it opens a stream again."""
    max_events: int
    """Messages of one session that are kept for streams that come again."""
    max_event_bytes: int
    """Of them."""
    max_backlog_bytes: int
    """That wait for a client which does not read."""
    cluster: str | None
    """Where processes that serve together meet: `redis://HOST:PORT/DATABASE`. None: this one serves alone."""
    cluster_name: str
    """Processes with the same name there serve together."""


class HttpOptions(HttpConfig, total=False):
    """The same, and where and how a server listens."""

    host: str
    """The address or name to listen on."""
    port: int
    """0 for any that is free."""
    tls_cert_file: str | None
    """A file with the certificate and those that lead to a trusted one, in PEM: the listener speaks TLS."""
    tls_key_file: str | None
    """A file with the certificate's private key, in PEM."""
    max_connections: int
    """Connections at once."""
    header_timeout_ms: int
    """That a connection may take to send a request's head, and may be idle before it."""
    body_timeout_ms: int
    """That a request's body may take."""
    shutdown_ms: int
    """That the end waits for calls that run and responses that are being sent."""
    announce: bool
    """Whether a line on stderr says where the server listens."""


def encode(options: Mapping[str, Any]) -> bytes:
    """The JSON text of options, whose names there are in camel case.

    Raises:
        ConfigurationError: a name is not written as here.
    """
    for name in options:
        if name != name.lower():
            raise ConfigurationError(f"http: there is no option {name!r}")
    return dumps({_camel(name): value for name, value in options.items()}, "http")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
