"""A server as an ASGI application: in uvicorn, Starlette, FastAPI, or anything else that runs on asyncio.

Decides when the server starts and ends, and who is behind a request. What is answered to one is decided in
the engine; here bytes are carried.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from . import _run
from ._leave import Guard
from .errors import ConfigurationError
from .server import Server

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from typing_extensions import Unpack

    from ._http import HttpConfig
    from ._native import HttpRequest, _HttpPiece
    from ._native import Server as NativeServer

__all__ = ["AsgiApp", "Endpoint", "asgi", "user_of"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Principal: TypeAlias = Callable[[Scope], "str | None"]

# Seconds until somebody looks whether the client of a response that is not there yet has gone away. Most are
# there sooner, and need no task for it.
_SOON = 0.05

# Addresses of this machine that are remembered. A machine has few; a carrier may call anything its address.
_MOST_HOSTS = 64


@overload
def asgi(
    app: Server,
    *,
    principal: Principal | None = None,
    debug: bool | None = None,
    max_threads: int = 64,
    task_store: str = "memory",
    **http: Unpack[HttpConfig],
) -> AsgiApp: ...
@overload
def asgi(
    app: Any,
    *,
    road: str | None = None,
    ask: str | None = None,
    principal: Principal | None = None,
    debug: bool | None = None,
    max_threads: int = 64,
    task_store: str = "memory",
    **http: Unpack[HttpConfig],
) -> Starlette: ...
def asgi(
    app: Any,
    *,
    road: str | None = None,
    ask: str | None = None,
    principal: Principal | None = None,
    debug: bool | None = None,
    max_threads: int = 64,
    task_store: str = "memory",
    **http: Unpack[HttpConfig],
) -> AsgiApp | Starlette:
    """An ASGI 3 application that serves `app` over Streamable HTTP.

    A `ferromcp.Server` is answered for at every path, unless `path` names one, which is looked for below the
    prefix it is mounted at. An app of another SDK keeps its own Starlette application, with its routes,
    authentication, middleware and path; only what answers at its MCP endpoint is ours. Either starts with the
    first request or with the application's lifespan, whichever comes first.

    Args:
        app: a `ferromcp.Server`, a `fastmcp.FastMCP`, an `MCPServer` or a low-level `Server` of mcp 2.x, or
            the Starlette application that `http_app()` or `streamable_http_app()` of one of these gave.
        road: as for `run()`, for apps of other SDKs.
        ask: as for `run()`, for apps of other SDKs.
        principal: who is behind a request, from its ASGI scope; None for nobody that is known. By default the
            identity of `scope["user"]`, as Starlette's `AuthenticationMiddleware` leaves it.
        debug: True: every message to stderr.
        max_threads: threads that blocked sync functions may hold.
        task_store: "memory", "sqlite:PATH" or "redis://...".
        http: the options of docs/http.md.

    Raises:
        ConfigurationError: `app` can't be served this way, or an option is wrong.
    """
    if not isinstance(app, Server):
        from .adapters import require_kind

        if not _is_built(app):
            require_kind(app)
        from .adapters.asgi import asgi_app

        settings = _run.Options(None, debug, max_threads, "auto", task_store, None)
        return asgi_app(app, road, ask, principal, settings, dict(http))
    if road is not None or ask is not None:
        raise ConfigurationError("road and ask are for apps of other SDKs")
    options = app._options("http", None, debug, max_threads, "auto", task_store, {"path": None, **http})
    return AsgiApp(app, options, principal or user_of)


def _is_built(app: Any) -> bool:
    """Whether `app` may be what an SDK has built. Imports none, so that nobody needs one."""
    starlette: Any = sys.modules.get("starlette.applications")
    return starlette is not None and "mcp" in sys.modules and isinstance(app, starlette.Starlette)


def user_of(scope: Scope) -> str | None:
    """Who `AuthenticationMiddleware` says it is."""
    user = scope.get("user")
    if user is None or not getattr(user, "is_authenticated", False):
        return None
    try:
        return str(user.identity)
    except (AttributeError, NotImplementedError):
        return str(user.display_name)


class Endpoint:
    """Serves requests of an ASGI server's by a server that runs."""

    def __init__(self, options: _run.Options, principal: Principal) -> None:
        self._options = options
        self._principal = principal
        # What the program has set by now; the first request's variables are none of the server's.
        self._context = copy_context()
        self._hosts: set[str] = set()

    async def _serve(
        self, native: NativeServer, scope: Scope, receive: Receive, send: Send, given: Any = None
    ) -> None:
        """Serves one request. `given` goes along with it to the calls that come of it."""
        address = scope.get("server")
        if address is not None and address[0] not in self._hosts:
            self._listens(native, address)
        request = native.http_request(
            scope["method"],
            _path(scope),
            scope.get("query_string", b""),
            scope["headers"],
            self._principal(scope),
            given,
        )
        if isinstance(request, tuple):
            await _send(send, request)
            return
        body = b""
        limit = request.body_limit
        if limit is not None:
            read = await _body(receive, limit)
            if read is None:
                return
            body = read
            if len(body) > limit:
                await _send(send, request.too_large())
                return
        request.serve(body)
        watch = _Watch(request, receive)
        try:
            await _answer(request, watch, send)
        except OSError:
            pass  # The client is gone, as `send` of newer servers says.
        finally:
            watch.stop()
            request.close()

    def _listens(self, native: NativeServer, address: tuple[str, int | None]) -> None:
        host, port = address
        # A socket in the file system has no port, and no name that a client could call it by.
        if port is not None and len(self._hosts) < _MOST_HOSTS:
            native.allow_host(host)
            self._hosts.add(host)


class AsgiApp(Endpoint):
    """What `asgi()` gives for a `ferromcp.Server`: to be mounted, or run by an ASGI server as it is."""

    def __init__(self, server: Server, options: _run.Options, principal: Principal) -> None:
        super().__init__(options, principal)
        self.server = server
        self._native: NativeServer | None = None
        self._guard: Guard | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, or the lifespan of the application."""
        if scope["type"] == "http":
            await self._serve(self._here(), scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            raise ValueError(f"there is no answer to ASGI's {scope['type']!r}")

    async def close(self) -> None:
        """Ends the server: what is being answered is sent, calls that run are told to stop. A lifespan does
        that by itself; without one it is done when the process ends.
        """
        native, guard = self._native, self._guard
        if native is None or guard is None:
            return
        self._forget()
        if native.forked:
            return
        native.stop()
        try:
            await _run.over(native)
        finally:
            guard.over()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    self._here()
                except Exception as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # Starting

    def _here(self) -> NativeServer:
        """The server that runs on this loop; starts it if it does not."""
        loop = asyncio.get_running_loop()
        native = self._native
        if native is not None and loop is self._loop and not native.forked:
            return native
        return self._context.run(self._start, loop)

    def _start(self, loop: asyncio.AbstractEventLoop) -> NativeServer:
        if self._native is not None and not self._native.forked:
            if self._loop is not None and not self._loop.is_closed():
                raise ConfigurationError(f"server {self.server.name!r} is served by another event loop")
            # The loop was ended under it, as test clients do.
            self._native.stop()
        self._forget()
        native, _ = self.server._start()
        guard = Guard(native, alone=True)
        try:
            native.start_carrier(loop, self._options.http or b"{}", self._options.native(owns_process=False))
        except BaseException:
            guard.over()
            self.server._running = None
            raise
        self._native, self._guard, self._loop = native, guard, loop
        return native

    def _forget(self) -> None:
        if self._native is not None and self.server._running is self._native:
            self.server._running = None
        self._native = self._guard = self._loop = None
        self._hosts.clear()


def _path(scope: Scope) -> str:
    """The path below the prefix that the application is mounted at."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    if prefix and path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/"):
        return path[len(prefix) :]
    return path


async def _body(receive: Receive, limit: int) -> bytes | None:
    """A request's body, or the beginning of one that is too long; None: the client is gone."""
    body = b""
    rest: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        # Mostly the whole body is one piece.
        if body:
            rest.append(chunk)
        else:
            body = chunk
        if size > limit or not message.get("more_body", False):
            return b"".join((body, *rest)) if rest else body


async def _answer(request: HttpRequest, watch: _Watch, send: Send) -> None:
    """Sends a response piece by piece, and makes the next piece only when the client has taken the last."""
    while True:
        piece = request.poll()
        if piece is None:
            watch.begin()
            await request.ready()
        elif not await _send(send, piece):
            return


async def _send(send: Send, piece: _HttpPiece) -> bool:
    """Sends a piece of a response; whether more follows."""
    head, body, more = piece
    if more is None:
        # It was given up. Whoever runs us closes the connection of a response that is not complete.
        return False
    if head is not None:
        status, headers = head
        await send({"type": "http.response.start", "status": status, "headers": headers})
    if body or head is None or not more:
        await send({"type": "http.response.body", "body": body, "more_body": more})
    return more


class _Watch:
    """Looks whether the client of a response goes away, once that takes its time."""

    def __init__(self, request: HttpRequest, receive: Receive) -> None:
        self._request = request
        self._receive = receive
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SOON, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _look(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._request.close()
