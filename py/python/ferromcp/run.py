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
    """Serves `app` and returns when its peer has gone.

    Args:
        app: a `ferromcp.Server`, a `fastmcp.FastMCP`, an `MCPServer` or a low-level `Server` of mcp 2.x.
        transport: "stdio".
        road: a certain road, for comparisons; by default the fastest whose behaviour is the same.
        ask: "held" lets an app of another SDK ask modern clients in the middle of a call, which its own SDK
        refuses: the call waits in this process. A `ferromcp.Server` says it for each function (`reentry`).
        options: drain (seconds that calls in flight get at the end of input), debug (True: every message to
        stderr), max_threads, loop ("auto", "asyncio" or "uvloop"), task_store ("memory", "sqlite:PATH" or
        "redis://..."), policy (limits, timeouts and the audit log, for apps of other SDKs).

    Raises:
        ConfigurationError: `app` can't be served, or an option is wrong.
    """
    choice, settings = _prepare(app, transport, road, ask, options)
    if choice.road == "native":
        app.run(transport, **options)
        return
    from . import _run

    adapter, native = _bound(app, choice, ask)
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

    adapter, native = _bound(app, choice, ask)
    async with adapter.lifespan():
        await _run.serve(native, settings)


def _prepare(
    app: Any, transport: str, road: str | None, ask: str | None, options: dict[str, Any]
) -> tuple[Explanation, Options]:
    from ._run import Options
    from .adapters import choose

    if transport != "stdio":
        raise ConfigurationError(f"there is no transport {transport!r}: stdio is served")
    try:
        settings = Options(**options)
    except TypeError as error:
        raise ConfigurationError(str(error).replace("Options.__init__()", "run()")) from None
    if ask not in (None, "held"):
        raise ConfigurationError(f"ask {ask!r}: 'held', or nothing")
    choice = choose(app, road)
    if ask is not None and choice.road == "native":
        raise ConfigurationError("ask: a ferromcp.Server says it for each function (reentry=)")
    if settings.policy is not None and choice.road == "native":
        raise ConfigurationError("policy: a ferromcp.Server has one of its own (policy=)")
    if choice.untested:
        print(f"ferromcp: {choice}", file=sys.stderr)
    return choice, settings


def _bound(app: Any, choice: Explanation, ask: str | None) -> tuple[Adapter, NativeServer]:
    from ._native import Server
    from ._run import refuse_closed_streams
    from .adapters import adapt

    refuse_closed_streams()
    adapter = adapt(app, choice, holds=ask == "held")
    native = Server(adapter.config())
    adapter.bind(native)
    return adapter, native
