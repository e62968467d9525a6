"""`ferromcp.asgi` as an ASGI server sees it: lifespan, loops, scopes, what comes late, who has gone away."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.authentication import SimpleUser, UnauthenticatedUser

import ferromcp
from conftest import Serve
from ferromcp import ConfigurationError, Context, Server
from support import DEADLINE, MODERN, Message

LAST = "2025-11-25"

variable = contextvars.ContextVar("variable", default="none")


def make(**options: Any) -> tuple[Server, ferromcp.AsgiApp]:
    """A server and its application."""
    server = Server("tests")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def who(ctx: Context) -> str:
        return str(ctx.principal)

    @server.tool
    async def seen() -> str:
        return variable.get()

    return server, ferromcp.asgi(server, **options)


class Asked:
    """One request to an application, and what it has sent so far."""

    def __init__(self, app: ferromcp.AsgiApp, message: Message, **scope: Any) -> None:
        params = message.get("params", {})
        headers = {"content-type": "application/json", "host": "localhost", **scope.pop("headers", {})}
        if "_meta" in params:
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
            headers |= {"mcp-name": params["name"]} if "name" in params else {}
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "server": ("127.0.0.1", 8000),
            **scope,
        }
        self.body = json.dumps(message).encode()
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[Message] = []
        self.news = asyncio.Event()
        self.app = app

    async def receive(self) -> Message:
        return await self.incoming.get()

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        self.news.set()

    def begin(self, *, whole: bool = True) -> asyncio.Task[None]:
        """Lets the application serve the request."""
        self.incoming.put_nowait({"type": "http.request", "body": self.body, "more_body": not whole})
        return asyncio.get_running_loop().create_task(self.app(self.scope, self.receive, self.send))

    async def answer(self) -> Message:
        """The answer, where it is one object."""
        await asyncio.wait_for(self.begin(), DEADLINE)
        start, body = self.sent
        assert (start["type"], body["type"]) == ("http.response.start", "http.response.body")
        assert not body["more_body"]
        assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
        return {"status": start["status"], "headers": dict(start["headers"]), **json.loads(body["body"])}

    async def text(self) -> str:
        """The text of a tool's result."""
        answer = await self.answer()
        return str(answer["result"]["content"][0]["text"])


def call(name: str, **arguments: Any) -> Message:
    """A call of the modern era."""
    params = {"name": name, "arguments": arguments, "_meta": MODERN}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


ADD = call("add", a=1, b=2)
INITIALIZE: Message = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": LAST, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}


class Lifespan:
    """The lifespan of an application."""

    def __init__(self, app: ferromcp.AsgiApp) -> None:
        self._incoming: asyncio.Queue[Message] = asyncio.Queue()
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        coroutine = app({"type": "lifespan"}, self._incoming.get, self._sent.put)
        self._task = asyncio.get_running_loop().create_task(coroutine)

    async def tell(self, what: str) -> Any:
        """Tells it, and gives what it says."""
        self._incoming.put_nowait({"type": f"lifespan.{what}"})
        return await asyncio.wait_for(self._sent.get(), DEADLINE)


def run(body: Callable[[], Awaitable[None]]) -> None:
    """In a loop of its own."""

    async def main() -> None:
        await body()

    asyncio.run(main())


def test_a_lifespan_starts_and_ends_the_server() -> None:
    server, app = make()

    async def body() -> None:
        for _ in range(2):
            lifespan = Lifespan(app)
            assert await lifespan.tell("startup") == {"type": "lifespan.startup.complete"}
            with pytest.raises(ConfigurationError, match="running already"):
                await server.serve("http", port=0)
            assert await Asked(app, ADD).text() == "3"
            assert await lifespan.tell("shutdown") == {"type": "lifespan.shutdown.complete"}

    run(body)


def test_a_start_that_fails_is_told() -> None:
    _, app = make(session_idle_ms="soon")

    async def body() -> None:
        said = await Lifespan(app).tell("startup")
        assert said["type"] == "lifespan.startup.failed"
        assert "invalid type" in said["message"]
        with pytest.raises(ConfigurationError):
            await Asked(app, ADD).answer()

    run(body)


@pytest.mark.parametrize(
    ("options", "said"), [({"sessionIdleMs": 1}, "no option 'sessionIdleMs'"), ({"prot": 1}, "unknown field")]
)
def test_unknown_options(options: dict[str, Any], said: str) -> None:
    async def body() -> None:
        _, app = make(**options)
        await Asked(app, ADD).answer()

    with pytest.raises(ConfigurationError, match=said):
        run(body)


def test_other_apps_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"a builtins\.object"):
        ferromcp.asgi(object())


def test_without_a_lifespan_it_follows_from_loop_to_loop() -> None:
    """As test clients have it, which make a loop for each request."""
    _, app = make()

    async def body() -> None:
        assert await Asked(app, ADD).text() == "3"

    for _ in range(3):
        run(body)


def test_two_loops_at_once_are_refused() -> None:
    _, app = make()

    async def elsewhere() -> None:
        with pytest.raises(ConfigurationError, match="another event loop"):
            await Asked(app, ADD).answer()

    async def body() -> None:
        assert await Asked(app, ADD).text() == "3"
        await asyncio.to_thread(asyncio.run, elsewhere())
        assert await Asked(app, ADD).text() == "3"
        await app.close()

    run(body)


@pytest.mark.parametrize(
    ("path", "prefix", "asked", "status"),
    [
        (None, "", "/", 200),
        (None, "", "/anything", 200),
        (None, "/api", "/api/mcp", 200),
        ("/mcp", "", "/mcp", 200),
        ("/mcp", "", "/mcp/", 200),
        ("/mcp", "", "/", 404),
        ("/mcp", "/api", "/api/mcp", 200),
        ("/mcp", "/api", "/api/mcp/", 200),
        ("/mcp", "/api", "/mcp", 200),
        ("/mcp", "/mcp", "/mcp", 404),
        ("/mcp", "/mcp", "/mcp/mcp", 200),
        ("/mcp", "/m", "/mcp", 200),
    ],
)
def test_paths(path: str | None, prefix: str, asked: str, status: int) -> None:
    """ASGI: `path` begins with the prefix that the application is mounted at; older servers leave it out."""
    _, app = make(path=path)

    async def body() -> None:
        answer = await Asked(app, ADD, path=asked, root_path=prefix).answer()
        assert answer["status"] == status
        await app.close()

    run(body)


def test_the_address_of_the_server_is_a_host() -> None:
    _, app = make()

    async def body() -> None:
        at = ("192.168.1.5", 80)
        assert (await Asked(app, ADD, server=at, headers={"host": "192.168.1.5"}).answer())["status"] == 200
        assert (await Asked(app, ADD, server=at, headers={"host": "192.168.1.6"}).answer())["status"] == 403
        unix = ("/run/socket", None)
        assert (await Asked(app, ADD, server=unix, headers={"host": "evil.example"}).answer())[
            "status"
        ] == 403
        assert (await Asked(app, ADD, server=None, headers={"host": "localhost"}).answer())["status"] == 200
        await app.close()

    run(body)


def test_principals() -> None:
    """Whom Starlette's authentication has found; a session is for nobody else ("Session Hijacking")."""
    _, app = make()

    async def body() -> None:
        ada, bob = SimpleUser("ada"), SimpleUser("bob")
        assert await Asked(app, call("who"), user=ada).text() == "ada"
        assert await Asked(app, call("who"), user=UnauthenticatedUser()).text() == "None"
        assert await Asked(app, call("who")).text() == "None"
        opened = await Asked(app, INITIALIZE, user=ada).answer()
        headers = {"mcp-session-id": opened["headers"][b"mcp-session-id"].decode()}
        ping: Message = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await Asked(app, ping, user=ada, headers=headers).answer())["status"] == 200
        assert (await Asked(app, ping, user=bob, headers=headers).answer())["status"] == 404
        assert (await Asked(app, ping, headers=headers).answer())["status"] == 404
        await app.close()

    run(body)


def test_a_principal_of_the_programs_own() -> None:
    _, app = make(principal=lambda scope: scope["state"]["tenant"])

    async def body() -> None:
        assert await Asked(app, call("who"), state={"tenant": "north"}).text() == "north"
        await app.close()

    run(body)


def test_variables_of_the_first_request_are_not_the_servers() -> None:
    variable.set("of the program")
    _, app = make()

    async def body() -> None:
        variable.set("of the first request")
        assert await Asked(app, call("seen")).text() == "of the program"
        await app.close()

    run(body)


def test_a_client_that_leaves_before_its_body_is_there_is_sent_nothing() -> None:
    _, app = make()

    async def body() -> None:
        asked = Asked(app, ADD)
        task = asked.begin(whole=False)
        asked.incoming.put_nowait({"type": "http.disconnect"})
        await asyncio.wait_for(task, DEADLINE)
        assert asked.sent == []
        await app.close()

    run(body)


def test_a_body_in_pieces() -> None:
    _, app = make()

    async def body() -> None:
        asked = Asked(app, ADD)
        whole, asked.body = asked.body, b""
        task = asked.begin(whole=False)
        for at in range(len(whole)):
            asked.incoming.put_nowait({"type": "http.request", "body": whole[at : at + 1], "more_body": True})
        asked.incoming.put_nowait({"type": "http.request"})
        await asyncio.wait_for(task, DEADLINE)
        assert json.loads(asked.sent[1]["body"])["result"]["content"][0]["text"] == "3"
        await app.close()

    run(body)


@pytest.mark.parametrize("how", ["disconnect", "broken", "cancelled"])
def test_whoever_is_gone_cancels_the_call(how: str) -> None:
    """`http.disconnect`, a `send` that raises OSError (ASGI 2.4), and the end of the request's task."""
    server, app = make()

    async def body() -> None:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        @server.tool
        async def wait(ctx: Context) -> str:
            ctx.report_progress(1)
            begun.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return ""

        asked = Asked(app, call("wait"))
        json_body = json.loads(asked.body)
        json_body["params"]["_meta"] = {**MODERN, "progressToken": 1}
        asked.body = json.dumps(json_body).encode()

        async def broken(message: Any) -> None:
            raise OSError("the client is gone")

        if how == "broken":
            asked.send = broken  # type: ignore[method-assign]
        task = asked.begin()
        await asyncio.wait_for(begun.wait(), DEADLINE)
        if how == "disconnect":
            asked.incoming.put_nowait({"type": "http.disconnect"})
        elif how == "cancelled":
            await asyncio.wait_for(asked.news.wait(), DEADLINE)
            task.cancel()
        await asyncio.wait_for(cancelled.wait(), DEADLINE)
        await asyncio.wait({task}, timeout=DEADLINE)
        assert task.done()
        await app.close()

    run(body)


def test_a_client_that_reads_slowly_is_waited_for() -> None:
    """One piece at a time: what comes meanwhile waits, and comes in order."""
    server, app = make()

    async def body() -> None:
        begun, reading = asyncio.Event(), asyncio.Event()

        @server.tool
        async def steps(ctx: Context) -> str:
            for at in range(20):
                ctx.report_progress(at + 1)
                await asyncio.sleep(0)
                if at == 0:
                    # The first one is on its way, and is not taken.
                    await begun.wait()
            return "done"

        asked = Asked(app, call("steps"))
        message = json.loads(asked.body)
        message["params"]["_meta"] = {**MODERN, "progressToken": 1}
        asked.body = json.dumps(message).encode()
        inside = 0

        async def slow(message: Any) -> None:
            nonlocal inside
            inside += 1
            assert inside == 1
            begun.set()
            await reading.wait()
            asked.sent.append(message)
            inside -= 1

        asked.send = slow  # type: ignore[method-assign]
        task = asked.begin()
        await asyncio.wait_for(begun.wait(), DEADLINE)
        # Long enough for the tool to be over.
        assert await Asked(app, ADD).text() == "3"
        assert asked.sent == []
        reading.set()
        await asyncio.wait_for(task, DEADLINE)
        text = b"".join(part["body"] for part in asked.sent[1:]).decode()
        events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]
        assert [event["params"]["progress"] for event in events[:-1]] == list(range(1, 21))
        assert events[-1]["result"]["content"][0]["text"] == "done"
        assert not asked.sent[-1]["more_body"]
        await app.close()

    run(body)


def test_websockets_are_closed() -> None:
    _, app = make()
    sent: list[Any] = []

    async def body() -> None:
        asked = Asked(app, ADD)
        await app({"type": "websocket"}, asked.receive, asked.send)
        sent.extend(asked.sent)

    run(body)
    assert sent == [{"type": "websocket.close"}]


@pytest.mark.parametrize("stuck", [False, True])
def test_without_a_lifespan_the_process_ends_all_the_same(run_file: Serve, stuck: bool) -> None:
    """Also while a function does not come back."""
    source = f"""
    import asyncio, json, sys, time
    import ferromcp
    server = ferromcp.Server("tests")
    @server.tool
    def block() -> str:
        print("begun", flush=True)
        time.sleep(600 if {stuck} else 0)
        return ""
    app = ferromcp.asgi(server)
    message = {call("block")!r}
    async def main():
        async def receive():
            if sent: await asyncio.sleep(600)
            sent.append(None)
            return {{"type": "http.request", "body": json.dumps(message).encode()}}
        async def send(message): pass
        sent = []
        headers = [(b"content-type", b"application/json"), (b"mcp-protocol-version", b"2026-07-28"),
                   (b"mcp-method", b"tools/call"), (b"mcp-name", b"block"), (b"host", b"localhost")]
        scope = {{"type": "http", "method": "POST", "path": "/", "headers": headers}}
        try:
            await asyncio.wait_for(app(scope, receive, send), 0.5 if {stuck} else 600)
        except asyncio.TimeoutError:
            pass
    asyncio.run(main())
    """
    process = run_file(source)
    assert process.line() == b"begun\n"
    assert process.ended() == 0
    assert process.stderr == b""
