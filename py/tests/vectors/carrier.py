"""What a server of a vector is reached by over HTTP: the listener of our own, or an ASGI server.

Decides how a server is started and ended there, and how host code is reached. What is sent and expected is
decided in `web.py`.
"""

from __future__ import annotations

import asyncio
import re
import socket
from typing import Any

import uvicorn

import ferromcp

from .door import Catalogue, turns
from .host import DEADLINE
from .script import SILENCE
from .text import as_python, write

__all__ = ["Asgi", "Listener", "Uvicorn"]


class _Endpoint:
    """Host code of this door, as `web.Served` has it."""

    principal: str | None = None
    silence = SILENCE

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._host = catalogue.host
        self._loop = catalogue.loop
        self.release = self._host.release

    def settle(self) -> None:
        """Returns when functions have done all that they can do without the client."""
        self._turn()
        self._host.settle()
        self._turn()

    def take_called(self, wanted: list[str]) -> list[str]:
        """The handlers called since the last time."""
        self._turn()
        return self._host.take_called(wanted)

    def take_cancelled(self, name: str, _reason: str | None) -> None:
        """A call of this handler was told that nobody waits for it; functions here are told no reason."""
        self._host.take_cancelled(name)

    def change(self, operand: dict[str, Any]) -> None:
        """Adds and removes entries."""
        self._catalogue.add(operand.get("add", {}))
        self._catalogue.remove(operand.get("remove", {}))

    def _turn(self) -> None:
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(turns(), self._loop).result(DEADLINE)


class Listener(_Endpoint):
    """The listener of our own, on a loop or without one."""

    def __init__(self, catalogue: Catalogue, http: dict[str, Any]) -> None:
        super().__init__(catalogue)
        self._native = catalogue.start()
        self.stop = self._native.stop
        options = write({**http, "port": 0, "announce": False})
        if self._loop is None:
            self._native.start_http(None, options)
        else:
            starting = asyncio.run_coroutine_threadsafe(self._start(options), self._loop)
            self._finished = starting.result(DEADLINE)
        assert self._native.local_addr is not None
        host, _, port = self._native.local_addr.rpartition(":")
        self.address = host, int(port)

    async def _start(self, options: str) -> Any:
        self._native.start_http(self._loop, options)
        return asyncio.ensure_future(self._native.finished())

    def close(self) -> None:
        """No thread of the server is left in Python."""
        self._host.release_all()
        if self._loop is None:
            assert self._native.wait() == "over"
        else:
            waiting = asyncio.wait_for(asyncio.shield(self._finished), DEADLINE)
            asyncio.run_coroutine_threadsafe(waiting, self._loop).result(2 * DEADLINE)
        assert not self._native.stuck(DEADLINE), "a thread of the server's is left in host code"


class Uvicorn:
    """An ASGI server on the loop, for one application after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.app: Any = None
        listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = listening.getsockname()
        config = uvicorn.Config(self._serve, interface="asgi3", log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._served = asyncio.run_coroutine_threadsafe(self._server.serve(sockets=[listening]), loop)

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)

    def close(self) -> None:
        """Returns when it has ended."""
        self._server.should_exit = True
        self._served.result(DEADLINE)


class Asgi(_Endpoint):
    """`ferromcp.asgi` under an ASGI server that runs."""

    def __init__(self, catalogue: Catalogue, http: dict[str, Any], carrier: Uvicorn) -> None:
        super().__init__(catalogue)
        self._carrier = carrier
        self.address = carrier.address
        options = {_snake(name): value for name, value in as_python(http).items()}
        self._app = ferromcp.asgi(
            catalogue.server, principal=lambda _: self.principal, **{"path": "/mcp", **options}
        )
        carrier.app = self._app

    def stop(self) -> None:
        """The application is told to end; the ASGI server goes on."""
        self._ending = asyncio.run_coroutine_threadsafe(self._app.close(), self._carrier.loop)

    def close(self) -> None:
        """Waits for it."""
        self._host.release_all()
        self._ending.result(DEADLINE)


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
