"""An app of another SDK as an ASGI application: its own Starlette application, with our endpoint in it.

Routes, authentication, middleware and path are the app's own, as its SDK puts them together; one object in it
is replaced, the one that answers at the MCP endpoint, and the lifespan that belonged to that. Where the
application does not look as the SDKs of the tested versions build it, nothing is replaced.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from .. import _run
from .._asgi import Endpoint, user_of
from .._http import encode
from .._leave import Guard
from .._native import Server as NativeServer
from ..errors import ConfigurationError
from .base import Adapter, adapt
from .kinds import Kind, kind_of, require_kind
from .mcp2.http import Carried
from .roads import Explanation, choose

if TYPE_CHECKING:
    from .._asgi import Principal, Receive, Scope, Send

__all__ = ["asgi_app"]

_INNER = "StreamableHTTPASGIApp"
_AUTH = "RequireAuthMiddleware"
# The lifespans that belong to what is replaced, of mcp and of fastmcp.
_LIFESPANS = (
    "Server.streamable_http_app.<locals>.<lambda>",
    "create_streamable_http_app.<locals>.lifespan",
)


def asgi_app(
    app: Any,
    road: str | None,
    ask: str | None,
    principal: Principal | None,
    settings: _run.Options,
    http: dict[str, Any],
) -> Starlette:
    """The Starlette application of `app`, which answers by the engine.

    Raises:
        ConfigurationError: `app` can't be served this way, or an option is wrong.
    """
    if ask not in (None, "held"):
        raise ConfigurationError(f"ask {ask!r}: 'held', or nothing")
    if isinstance(app, Starlette):
        if "path" in http:
            raise ConfigurationError("path: the application that is given has one")
        application, inner = app, _inner(app)
        server = _server_of(application, inner)
    else:
        server = app
        application = _build(app, http)
        inner = _inner(application)
    options = {"path": None, **_defaults(server, inner), **http}
    choice = choose(server, road)
    endpoint = AppEndpoint(
        server, choice, ask == "held", settings._replace(http=encode(options)), principal or principal_of
    )
    _put(application, inner, endpoint)
    return application


def _build(app: Any, http: dict[str, Any]) -> Starlette:
    """What the SDK itself serves."""
    path = http.pop("path", None)
    kind = require_kind(app)
    built: Starlette
    if kind is Kind.FASTMCP:
        # Its own guard looks at hosts and origins as well.
        allowed = {name: http[name] for name in ("allowed_hosts", "allowed_origins") if name in http}
        stateless = None if "sessions" not in http else not http["sessions"]
        built = app.http_app(path=path, stateless_http=stateless, **allowed)
    else:
        built = app.streamable_http_app(**({} if path is None else {"streamable_http_path": path}))
    return built


def _inner(application: Starlette) -> Any:
    """The object that answers at the MCP endpoint.

    Raises:
        ConfigurationError: there is not exactly one.
    """
    found = {id(inner): inner for route in application.routes if (inner := _sdk_endpoint(route)) is not None}
    if len(found) != 1:
        routes = ", ".join(f"{getattr(route, 'path', '?')}: {_name(route)}" for route in application.routes)
        raise ConfigurationError(
            f"an application with one MCP endpoint is expected, and {len(found) or 'none'} of these is one: "
            f"{routes or 'there are no routes'}"
        )
    return next(iter(found.values()))


def _sdk_endpoint(route: Any) -> Any:
    endpoint: Any = getattr(route, "app", None)
    if type(endpoint).__name__ == _AUTH:
        endpoint = endpoint.app
    return endpoint if type(endpoint).__name__ == _INNER else None


def _name(route: Any) -> str:
    endpoint = getattr(route, "endpoint", None) or getattr(route, "app", route)
    named: Any = endpoint if hasattr(endpoint, "__qualname__") else type(endpoint)
    return f"{named.__module__}.{named.__qualname__}"


def _server_of(application: Starlette, inner: Any) -> Any:
    """The server behind an application that an SDK has built."""
    manager = inner.session_manager
    server = getattr(application.state, "fastmcp_server", None) if manager is None else manager.app
    if kind_of(server) in (None, Kind.NATIVE):
        raise ConfigurationError(f"the application's MCP endpoint has no server that is known ({server!r})")
    return server


def _defaults(server: Any, inner: Any) -> dict[str, Any]:
    """What the SDK would have served by, as far as it is told here; names and values of docs/http.md."""
    manager = inner.session_manager
    if manager is None:
        import fastmcp

        settings = fastmcp.settings
        return {
            "sessions": not settings.stateless_http,
            "json_response": settings.json_response,
            "allowed_hosts": settings.http_allowed_hosts or [],
            "allowed_origins": settings.http_allowed_origins or [],
        }
    found: dict[str, Any] = {
        "sessions": not manager.stateless,
        "json_response": manager.json_response,
        "max_body_bytes": manager.max_request_body_size,
    }
    if manager.session_idle_timeout is not None:
        found["session_idle_ms"] = round(manager.session_idle_timeout * 1000)
    if manager.max_sessions is not None:
        found["max_sessions"] = manager.max_sessions
    if manager.retry_interval is not None:
        found["retry_ms"] = manager.retry_interval
    security = manager.security_settings
    if security is None or not security.enable_dns_rebinding_protection:
        found["allowed_hosts"] = ["*"]
    else:
        # Ports are not looked at; pages of these hosts are let in.
        found["allowed_hosts"] = [host.rpartition(":")[0] or host for host in security.allowed_hosts]
        origins = [origin for origin in security.allowed_origins if not origin.endswith(":*")]
        found["allowed_origins"] = origins
    return found


def _put(application: Starlette, inner: Any, endpoint: AppEndpoint) -> None:
    """Puts our endpoint in the place of the SDK's, and its life in that of the SDK's.

    Raises:
        ConfigurationError: the lifespan is not the SDK's own, so that who replaces it loses something.
    """
    lifespan = application.router.lifespan_context
    name = getattr(lifespan, "__qualname__", type(lifespan).__qualname__)
    if name not in _LIFESPANS:
        raise ConfigurationError(
            f"the application has a lifespan of its own ({name}): mount it in another one that has it"
        )
    for route in application.routes:
        if _sdk_endpoint(route) is not inner:
            continue
        place: Any = route
        if type(place.app).__name__ == _AUTH:
            place = place.app
        elif getattr(place, "endpoint", None) is inner:
            place.endpoint = endpoint
        place.app = endpoint

    @asynccontextmanager
    async def live(_: Any) -> AsyncIterator[None]:
        await endpoint.running()
        try:
            yield
        finally:
            await endpoint.close()

    application.router.lifespan_context = live


def principal_of(scope: Scope) -> str | None:
    """Who is behind a request. Of an OAuth token that is all that mcp compares before it lets somebody use a
    session, not the client alone.
    """
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context

    user = scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        return user_of(scope)
    components: Mapping[str, Any] = authorization_context(user)
    others = {name: value for name, value in components.items() if name != "client_id" and value is not None}
    return json.dumps(components) if others else str(components["client_id"])


class _Life:
    """One run of the app's server, on one loop."""

    def __init__(self, adapter: Adapter, native: NativeServer, loop: asyncio.AbstractEventLoop) -> None:
        self.adapter = adapter
        self.native = native
        self.loop = loop
        self.ready: asyncio.Future[None] = loop.create_future()
        # Enters the app's lifespan and leaves it: that has to be one task.
        self.task: asyncio.Task[None]


class AppEndpoint(Endpoint):
    """Answers at the MCP endpoint of an app's own application."""

    def __init__(
        self, app: Any, choice: Explanation, holds: bool, options: _run.Options, principal: Principal
    ) -> None:
        super().__init__(options, principal)
        self.app = app
        self.choice = choice
        self._holds = holds
        self._life: _Life | None = None
        # What can't be adapted is said at once.
        adapt(app, choice, holds=holds, http="/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        await self._serve(await self.running(), scope, receive, send, Carried(scope))

    async def running(self) -> NativeServer:
        """The server that runs on this loop; starts it, and enters the app's lifespan, if it does not."""
        loop = asyncio.get_running_loop()
        life = self._life
        if life is not None and (life.loop is not loop or life.native.forked):
            if not life.native.forked:
                if not life.loop.is_closed():
                    raise ConfigurationError(f"this {self.choice.kind} is served by another event loop")
                # The loop was ended under it, as test clients do.
                life.native.stop()
            self._life = life = None
        if life is None:
            life = self._context.run(self._begin, loop)
        if not life.ready.done():
            await asyncio.wait([life.ready])
        life.ready.result()
        return life.native

    async def close(self) -> None:
        """Ends the server, and leaves the app's lifespan."""
        life = self._life
        if life is None or life.native.forked:
            return
        self._life = None
        if not life.ready.done():
            await asyncio.wait([life.ready])
        life.native.stop()
        await asyncio.wait([life.task])
        if life.ready.exception() is None:
            life.task.result()

    def _begin(self, loop: asyncio.AbstractEventLoop) -> _Life:
        adapter = adapt(self.app, self.choice, holds=self._holds, http="/")
        native = NativeServer(adapter.config())
        adapter.bind(native)
        self._hosts.clear()
        self._life = life = _Life(adapter, native, loop)
        life.task = loop.create_task(self._keep(life))
        return life

    async def _keep(self, life: _Life) -> None:
        """From the app's lifespan's beginning to its end."""
        native, options = life.native, self._options
        guard = Guard(native, alone=True)
        try:
            async with life.adapter.lifespan():
                native.start_carrier(life.loop, options.http or b"{}", options.native(owns_process=False))
                life.ready.set_result(None)
                await _run.over(native)
        except BaseException as error:
            # Such as the end of the loop, which ends its tasks.
            native.stop()
            if self._life is life:
                self._life = None
            if life.ready.done():
                raise
            life.ready.set_exception(error)
        finally:
            guard.over()
