"""Which road an app takes onto the engine, and why.

Decides the road: the fastest one whose behaviour is known to be the same. "Known" means that exactly these
versions of the SDKs are covered by this project's comparison tests; a version that nobody has compared gets a
slower road, on which more of the SDK's own code runs. How a road works is left to the modules of the same
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Literal, get_args

from ..errors import ConfigurationError
from .kinds import Kind, require_kind
from .listener import beyond_listener

__all__ = ["Explanation", "Road", "choose"]

Road = Literal["native", "direct", "middleware", "handler", "dispatcher", "streams"]
"""From the fastest to the slowest.

native: the app is ours. direct: a plain tool's own run method. middleware: the same, with the app's own
middleware round it. handler: the SDK's request handlers. dispatcher: the SDK's runner over a dispatcher of
ours. streams: the SDK's whole stack over a pair of streams.
"""

# The roads that want an app to be plain, and for which of them, by itself, it has to be plain enough.
_FIT = {"direct": ("direct",), "middleware": ("direct", "middleware")}

# Compared with the stock servers, request by request, by tests/adapters.
TESTED = {"mcp": ("2.3.0",), "fastmcp": ("4.2.3",)}
# The generation whose seams the roads are built on.
MAJORS = {"mcp": 2, "fastmcp": 4}


@dataclass(frozen=True)
class Explanation:
    """The road an app takes. `reasons` says what keeps it from a faster one, if anything does, and
    `beyond_listener` what it has that takes an ASGI server over HTTP (`ferromcp.asgi`).
    """

    road: Road
    kind: str
    reasons: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    untested: bool = False
    beyond_listener: tuple[str, ...] = ()

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        line = f"{self.kind} ({versions}): {self.road}" if versions else f"{self.kind}: {self.road}"
        beyond = " and ".join(self.beyond_listener)
        http = (f"over HTTP it takes ferromcp.asgi(app), for it has {beyond}",) if beyond else ()
        return "; ".join((line, *self.reasons, *http))


def choose(app: Any, road: str | None = None) -> Explanation:
    """The road for `app`; `road` asks for a certain one.

    Raises:
        ConfigurationError: nothing can serve `app`, or the road asked for can't.
    """
    if road not in (None, "auto", *get_args(Road)):
        raise ConfigurationError(f"there is no road {road!r}: choose among {', '.join(get_args(Road))}")
    kind = require_kind(app)
    wanted = None if road in (None, "auto") else road
    if kind is Kind.NATIVE:
        if wanted not in (None, "native"):
            raise ConfigurationError(f"a {kind.value} takes the road native, not {wanted}")
        return Explanation("native", kind.value)
    versions = _versions(kind)
    _require_major(versions, wanted)
    untested = tuple(
        f"{name} {version} is not a version compared with the stock server ({', '.join(TESTED[name])})"
        for name, version in versions.items()
        if version not in TESTED[name]
    )
    fastest, reasons = _fastest(app, kind, versions, untested)
    beyond = beyond_listener(app, kind)
    if wanted is None:
        return Explanation(fastest, kind.value, reasons, versions, bool(untested), beyond)
    if wanted == "native" or fastest not in _FIT.get(wanted, (fastest,)):
        hindrance = "; ".join(reasons) or f"it is for {Kind.FASTMCP.value} only"
        raise ConfigurationError(f"a {kind.value} can't take the road {wanted} here: {hindrance}")
    asked: Road = wanted  # type: ignore[assignment]  # one of them, as checked above
    return Explanation(asked, kind.value, ("asked for",), versions, False, beyond)


def _versions(kind: Kind) -> dict[str, str]:
    names = ("fastmcp", "mcp") if kind is Kind.FASTMCP else ("mcp",)
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            # A vendored copy or a source tree: the module is there, its version is not told.
            versions[name] = "unknown"
    return versions


def _require_major(versions: Mapping[str, str], wanted: str | None) -> None:
    if wanted == "streams":
        return
    for name, version in versions.items():
        if version != "unknown" and version.partition(".")[0] != str(MAJORS[name]):
            raise ConfigurationError(
                f"{name} {version} can't be served: supported is {name} {MAJORS[name]}.x ({TESTED[name][-1]})"
            )


def _fastest(
    app: Any, kind: Kind, versions: Mapping[str, str], untested: tuple[str, ...]
) -> tuple[Road, tuple[str, ...]]:
    from .mcp2 import has_dispatcher_seam

    if versions["mcp"] not in TESTED["mcp"]:
        if has_dispatcher_seam():
            return "dispatcher", untested
        return "streams", (*untested, "it has no dispatcher that this version knows how to stand in for")
    if kind is not Kind.FASTMCP:
        return "handler", ()
    if untested:
        return "handler", untested
    from .fastmcp4.plain import hindrances, watchers

    found, watching = hindrances(app), watchers(app)
    if found:
        return "handler", (*watching, *found)
    return ("middleware", watching) if watching else ("direct", ())
