"""`ferromcp.asgi` for apps of other SDKs, as an ASGI server sees it, and what the listener refuses."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.server.auth import StaticTokenVerifier
from fastmcp.server.dependencies import get_access_token
from mcp.server.mcpserver import Context, MCPServer
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import ferromcp
from ferromcp import ConfigurationError
from ferromcp.adapters.asgi import AppEndpoint
from support import Message
from test_asgi import INITIALIZE, LAST, Asked, Lifespan, call, run

variable = contextvars.ContextVar("variable", default="none")
lived: list[str] = []


@contextlib.asynccontextmanager
async def lifespan(_: Any) -> AsyncIterator[dict[str, str]]:
    lived.append("begun")
    try:
        yield {"from": "lifespan"}
    finally:
        lived.append("over")


def fastmcp(**options: Any) -> FastMCP[Any]:
    app = FastMCP("tests", lifespan=lifespan, **options)

    @app.tool
    def add(a: int, b: int) -> int:
        return a + b

    @app.tool
    def seen() -> str:
        return variable.get()

    @app.tool
    def who() -> str | None:
        token = get_access_token()
        return None if token is None else token.client_id

    return app


def mcpserver(**options: Any) -> MCPServer[Any]:
    app = MCPServer("tests", lifespan=lifespan, **options)

    @app.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @app.tool()
    async def seen() -> str:
        return variable.get()

    @app.tool()
    async def ask(ctx: Context[Any]) -> str:
        return str(ctx.request_context.lifespan_context["from"])

    return app


Make = Callable[..., Any]


@pytest.fixture(params=[fastmcp, mcpserver])
def make(request: pytest.FixtureRequest) -> Make:
    lived.clear()
    maker: Make = request.param
    return maker


def endpoint(application: Starlette, path: str = "/mcp") -> AppEndpoint:
    """Ours, in an application."""
    (found,) = (route for route in application.routes if getattr(route, "path", None) == path)
    placed: Any = getattr(found, "app", None)
    placed = placed if isinstance(placed, AppEndpoint) else placed.app
    assert isinstance(placed, AppEndpoint)
    return placed


def asked(app: Any, message: Message, **scope: Any) -> Asked:
    return Asked(app, message, **{"path": "/mcp", **scope})


async def opened(app: Any) -> dict[str, str]:
    """Shakes hands; the headers of what follows in the session."""
    answer = await asked(app, INITIALIZE).answer()
    return {"mcp-session-id": answer["headers"][b"mcp-session-id"].decode(), "mcp-protocol-version": LAST}


async def status(app: Any, **scope: Any) -> int:
    request = asked(app, {}, **scope)
    await request.begin()
    return int(request.sent[0]["status"])


def test_a_lifespan_is_that_of_the_app(make: Make) -> None:
    app: Any = ferromcp.asgi(make())

    async def body() -> None:
        live = Lifespan(app)
        assert await live.tell("startup") == {"type": "lifespan.startup.complete"}
        assert lived == ["begun"]
        assert await asked(app, call("add", a=1, b=2)).text() == "3"
        assert await live.tell("shutdown") == {"type": "lifespan.shutdown.complete"}
        assert lived == ["begun", "over"]

    run(body)


def test_mounted_it_starts_with_the_first_request(make: Make) -> None:
    inner = ferromcp.asgi(make())
    app: Any = Starlette(routes=[Mount("/api", app=inner)])

    async def body() -> None:
        assert lived == []
        answers = (asked(app, call("add", a=n, b=2), path="/api/mcp").text() for n in range(5))
        assert await asyncio.gather(*answers) == ["2", "3", "4", "5", "6"]
        assert lived == ["begun"]
        await endpoint(inner).close()
        assert lived == ["begun", "over"]
        # And once more.
        assert await asked(app, call("add", a=1, b=2), path="/api/mcp").text() == "3"
        await endpoint(inner).close()

    run(body)


def test_without_a_lifespan_it_follows_from_loop_to_loop(make: Make) -> None:
    """As test clients have it. The app's lifespan is over when its loop is."""
    app: Any = ferromcp.asgi(make())

    async def body() -> None:
        assert await asked(app, call("add", a=1, b=2)).text() == "3"

    for n in range(1, 4):
        run(body)
        assert lived == ["begun", "over"] * n


def test_it_can_be_closed_while_it_starts(make: Make) -> None:
    app: Any = ferromcp.asgi(make())

    async def body() -> None:
        starting = asyncio.get_running_loop().create_task(endpoint(app).running())
        await asyncio.sleep(0)
        await asyncio.wait_for(endpoint(app).close(), 10)
        await starting
        assert lived == ["begun", "over"]

    run(body)


def test_a_lifespan_that_fails_is_told() -> None:
    @contextlib.asynccontextmanager
    async def broken(_: Any) -> AsyncIterator[None]:
        raise RuntimeError("there is no database")
        yield

    app: Any = ferromcp.asgi(FastMCP("tests", lifespan=broken))

    async def body() -> None:
        said = await Lifespan(app).tell("startup")
        assert said["type"] == "lifespan.startup.failed"
        assert "there is no database" in said["message"]

    run(body)


def test_nothing_is_left_of_requests_and_sessions(make: Make) -> None:
    """The adapter keeps one peer for each session, as long as that lasts."""
    app: Any = ferromcp.asgi(make())
    ours = endpoint(app)

    async def body() -> None:
        await ours.running()
        assert ours._life is not None
        adapter: Any = ours._life.adapter
        for n in range(3):
            await asked(app, call("add", a=n, b=2)).text()
        assert adapter._peers == {}
        sessions = [await opened(app) for _ in range(3)]
        add = call("add", a=1, b=2)
        del add["params"]["_meta"]
        for headers in sessions:
            assert await asked(app, add, headers=headers).text() == "3"
        assert len(adapter._peers) == 3
        tasks = [peer.task for peer in adapter._peers.values()]
        for headers in sessions:
            assert await status(app, method="DELETE", headers=headers) == 204
        await asyncio.wait_for(asyncio.wait(tasks), 10)
        assert adapter._peers == {}
        assert (await asked(app, add, headers=sessions[0]).answer())["status"] == 404
        assert adapter._peers == {}
        await ours.close()

    run(body)


def test_without_sessions_legacy_requests_stand_for_themselves(make: Make) -> None:
    app: Any = ferromcp.asgi(make(), sessions=False)
    ours = endpoint(app)
    add = call("add", a=1, b=2)
    del add["params"]["_meta"]

    async def body() -> None:
        for _ in range(2):
            assert await asked(app, add, headers={"mcp-protocol-version": LAST}).text() == "3"
        assert ours._life is not None
        adapter: Any = ours._life.adapter
        while adapter._peers:
            await asyncio.sleep(0)
        await ours.close()

    run(body)


class Setting:
    """Middleware of the application's, which leaves something for those inside."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        token = variable.set(headers.get(b"x-variable", b"none").decode())
        try:
            await self.app(scope, receive, send)
        finally:
            variable.reset(token)


def test_context_variables_are_those_of_the_request(make: Make) -> None:
    app: Any = Starlette(routes=[Mount("/", app=ferromcp.asgi(make()))], middleware=[Middleware(Setting)])

    async def body() -> None:
        for value in ("one", "two"):
            assert await asked(app, call("seen"), headers={"x-variable": value}).text() == value
        assert await asked(app, call("seen")).text() == "none"

    run(body)


def test_routes_of_the_app(make: Make) -> None:
    server = make()

    @server.custom_route("/health", methods=["GET"])
    async def health(_: Request) -> PlainTextResponse:
        return PlainTextResponse("fine")

    app: Any = ferromcp.asgi(server)

    async def body() -> None:
        assert await status(app, method="GET", path="/health") == 200
        assert await asked(app, call("add", a=1, b=2)).text() == "3"
        await endpoint(app).close()

    run(body)
    assert "custom routes" in str(ferromcp.explain(server))
    with pytest.raises(ConfigurationError, match=r"custom routes.*ferromcp\.asgi\(app\)"):
        ferromcp.run(server, "http", port=0)


def test_authentication_of_the_app() -> None:
    tokens = {name: {"client_id": name, "scopes": []} for name in ("ann", "bob")}
    server = fastmcp(auth=StaticTokenVerifier(tokens=tokens))
    app: Any = ferromcp.asgi(server)

    def bearer(name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {name}"}

    async def body() -> None:
        assert await status(app) == 401
        for name in tokens:
            assert await asked(app, call("who"), headers=bearer(name)).text() == name
        opening = await asked(app, INITIALIZE, headers=bearer("ann")).answer()
        session = {
            "mcp-session-id": opening["headers"][b"mcp-session-id"].decode(),
            "mcp-protocol-version": LAST,
        }
        who = call("who")
        del who["params"]["_meta"]
        assert await asked(app, who, headers={**session, **bearer("ann")}).text() == "ann"
        # A session is there for who has opened it.
        assert (await asked(app, who, headers={**session, **bearer("bob")}).answer())["status"] == 404
        await endpoint(app).close()

    run(body)
    with pytest.raises(ConfigurationError, match=r"has auth.*ferromcp\.asgi\(app\)"):
        ferromcp.run(server, "http", port=0)


def test_an_application_that_the_sdk_has_built() -> None:
    built = [
        fastmcp().http_app(path="/other"),
        mcpserver().streamable_http_app(streamable_http_path="/other", stateless_http=True),
    ]

    async def body() -> None:
        for application in built:
            app: Any = ferromcp.asgi(application)
            assert app is application
            assert await asked(app, call("add", a=1, b=2), path="/other").text() == "3"
            await endpoint(app, "/other").close()

    run(body)


def _twice() -> Starlette:
    one, two = fastmcp().http_app(), fastmcp().http_app(path="/two")
    return Starlette(routes=[*one.routes, *two.routes])


def _lives_otherwise() -> Starlette:
    application = fastmcp().http_app()
    application.router.lifespan_context = lifespan
    return application


@pytest.mark.parametrize(
    ("application", "said"),
    [
        (lambda: Starlette(routes=[Route("/x", PlainTextResponse)]), "none of these is one: /x: starlette"),
        (_twice, "2 of these is one"),
        (_lives_otherwise, "a lifespan of its own"),
    ],
)
def test_applications_of_another_shape(application: Callable[[], Starlette], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ferromcp.asgi(application())


def test_roads_that_http_has_not() -> None:
    for serve in (
        lambda: ferromcp.run(fastmcp(), "http", road="streams"),
        lambda: ferromcp.asgi(fastmcp(), road="streams"),
    ):
        with pytest.raises(ConfigurationError, match="not to be had on this road"):
            serve()


def test_road_and_ask_are_for_others() -> None:
    options: list[dict[str, Any]] = [{"road": "handler"}, {"ask": "held"}]
    for option in options:
        with pytest.raises(ConfigurationError, match="other SDKs"):
            ferromcp.asgi(ferromcp.Server("tests"), **option)
