"""`run`, `serve` and `explain`: any server object on the engine.

Decides nothing about the app: `adapters` chooses the road, `_run` owns the loop, the signals and the end.
Imports both when they are needed: the package imports this module, and a server of our own needs neither.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .errors import ConfigurationError

if TYPE_CHECKING:
    from ._native import Server as NativeServer
    from ._run import Options
    from .adapters import Adapter, Explanation

__all__ = ["explain", "run", "serve"]


def explain(app: Any, *, road: str | None = None) -> Explanation:
    """Which road `app` would take, and what keeps it from a faster one. Serves nothing.

    Raises:
        ConfigurationError: `app` can't be served; the text says what can.
    """
    from .adapters import choose

    return choose(app, road)


def run(
    app: Any, transport: str = "stdio", *, road: str | None = None, ask: str | None = None, **options: Any
) -> None:
    """Serves `app` and returns when its peer has gone, or over HTTP when a signal comes. What an app has over
    HTTP besides its MCP endpoint (its authentication, its routes) is served by `asgi()` alone.

    Args:
        app: a `ferromcp.Server`, a `fastmcp.FastMCP`, an `MCPServer` or a low-level `Server` of mcp 2.x.
        transport: "stdio" or "http".
        road: a certain road, for comparisons; by default the fastest whose behaviour is the same.
        ask: "held" lets an app of another SDK ask modern clients in the middle of a call, which its own SDK
        refuses: the call waits in this process. A `ferromcp.Server` says it for each function (`reentry`).
        options: drain (seconds that calls in flight get at the end of input), debug (True: every message to
        stderr), max_threads, loop ("auto", "asyncio" or "uvloop"), task_store ("memory", "sqlite:PATH" or
        "redis://..."), policy (limits, timeouts and the audit log; a `ferromcp.Server` must have none);
        over HTTP also host, port, path and the others of docs/http.md.

    Raises:
        ConfigurationError: `app` can't be served, or an option is wrong.
        TaskStoreError: the store of tasks can't be opened.
    """
    choice, settings = _prepare(app, transport, road, ask, options)
    if choice.road == "native":
        app.run(transport, **options)
        return
    from . import _run

    adapter, native = _bound(app, choice, ask, settings, options)
    _run.run(native, settings, on_loop=True, lifespan=adapter.lifespan)


async def serve(
    app: Any, transport: str = "stdio", *, road: str | None = None, ask: str | None = None, **options: Any
) -> None:
    """The same as `run`, inside the loop that is running."""
    choice, settings = _prepare(app, transport, road, ask, options)
    if choice.road == "native":
        await app.serve(transport, **options)
        return
    from . import _run

    adapter, native = _bound(app, choice, ask, settings, options)
    async with adapter.lifespan():
        await _run.serve(native, settings)


def _prepare(
    app: Any, transport: str, road: str | None, ask: str | None, options: dict[str, Any]
) -> tuple[Explanation, Options]:
    from ._run import Options, http_options
    from .adapters import choose

    known = {name: value for name, value in options.items() if name in Options._fields and name != "http"}
    rest = {name: value for name, value in options.items() if name not in known}
    settings = Options(**known, http=http_options(transport, rest))
    if ask not in (None, "held"):
        raise ConfigurationError(f"ask {ask!r}: 'held', or nothing")
    choice = choose(app, road)
    if settings.http is not None and choice.beyond_listener:
        beyond = " and ".join(choice.beyond_listener)
        raise ConfigurationError(
            f"this {choice.kind} has {beyond}, and the listener serves the MCP endpoint alone: "
            "ferromcp.asgi(app) gives an application with all of it, for any ASGI server"
        )
    if ask is not None and choice.road == "native":
        raise ConfigurationError("ask: a ferromcp.Server says it for each function (reentry=)")
    if choice.road == "native" and options.pop("policy", None) is not None:
        app.set_policy(settings.policy)
    if choice.untested:
        print(f"ferromcp: {choice}", file=sys.stderr)
    return choice, settings


def _bound(
    app: Any, choice: Explanation, ask: str | None, settings: Options, options: dict[str, Any]
) -> tuple[Adapter, NativeServer]:
    from ._native import Server
    from ._run import refuse_closed_streams
    from .adapters import adapt

    path = None
    if settings.http is None:
        refuse_closed_streams()
    else:
        # What handlers see as the path of their request; without one of its own the endpoint is everywhere.
        path = options.get("path", "/mcp") or "/"
    adapter = adapt(app, choice, holds=ask == "held", http=path)
    native = Server(adapter.config())
    adapter.bind(native)
    return adapter, native
