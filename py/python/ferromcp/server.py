"""`Server`: what a user declares and runs.

Decides what a server says of itself, how it is started, and what it serves beside its catalogue
(`_catalogue.py`). The native server is made by `run()`, so that a `Server` made before a fork can run in the
child.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _declare
from ._catalogue import Catalogue, F, Icons, Json
from ._native import Server as NativeServer
from ._native import dumps
from .errors import ConfigurationError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._extensions import Notified
    from ._http import HttpOptions
    from ._middleware import Middleware
    from ._run import Options
    from .apps import AppView

__all__ = ["Server"]

Told = TypeVar("Told", bound=Callable[[str], object])
Notice = TypeVar("Notice", bound=Callable[[dict[str, Any]], object])
Wrapper = TypeVar("Wrapper", bound="Middleware")


class Server(Catalogue):
    """An MCP server: declare tools, resources and prompts with its decorators, then `run()` it."""

    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Icons | None = None,
        instructions: str | None = None,
        output_validation: Literal["strict", "warn", "off"] = "strict",
        state_keys: Sequence[bytes | str] | None = None,
        tasks: Json | None = None,
        policy: Json | None = None,
        config: Json | None = None,
    ) -> None:
        """`config` is merged over the engine's configuration: page size, cache hints, limits, revisions
        ... `state_keys`: see `set_state_keys`. `tasks` says how tasks are kept: `ttlMs`, `maxTtlMs`, `pollMs`
        ... `policy` has rate limits, limits of calls at once, timeouts and the audit log.
        """
        info = {
            "name": name,
            "version": version,
            "title": title,
            "description": description,
            "websiteUrl": website_url,
            "icons": icons,
        }
        super().__init__()
        self.name = name
        self._config: dict[str, Any] = {
            "info": {key: value for key, value in info.items() if value is not None},
            "outputValidation": output_validation,
            # Any function may log; the lists are declared by the engine when they hold something.
            "capabilities": {"logging": {}},
        }
        if instructions is not None:
            self._config["instructions"] = instructions
        if state_keys is not None:
            self._config["stateKeys"] = _in_base64(state_keys)
        if tasks is not None:
            self._config["tasks"] = tasks
        self._config.update(config or {})
        self._policy = policy
        # By whether it is told of a subscription or of its end.
        self._told: dict[bool, Callable[[str], object]] = {}
        self._notified: Notified | None = None

    def resource_updated(self, uri: str) -> None:
        """Tell the peers that watch this resource that it has changed."""
        if self._running is not None:
            self._running.resource_updated(uri)

    def complete_elicitation(self, elicitation_id: str) -> bool:
        """Tell the client that was asked for a visit to a URL under this `elicitationId`, by a question or by
        an error -32042, that the visit is complete (2025-11-25 `client/elicitation`, "Completion
        Notifications for URL Mode Elicitation"). The call that asked may be over.

        False: no client was asked under it, or it was told before; a modern client is never told.
        """
        return self._running is not None and self._running.complete_elicitation(elicitation_id)

    def on_subscribed(self, function: Told, /) -> Told:
        """Call the decorated function with a resource's URI when its first watcher is there: from then on
        `resource_updated` has somebody to tell.

        A sync function runs on the main thread, or where the loop runs, and should return soon; the task of
        an async one runs on the loop. What it returns is not used; an error goes to the `ferromcp` logger.

        Raises:
            ConfigurationError: there is such a function already.
        """
        return self._tell(True, function)

    def on_unsubscribed(self, function: Told, /) -> Told:
        """Call the decorated function with a resource's URI when its last watcher is gone, be it with the
        connection. Otherwise as `on_subscribed`.
        """
        return self._tell(False, function)

    def _tell(self, subscribed: bool, function: Told) -> Told:
        if subscribed in self._told:
            name = "on_subscribed" if subscribed else "on_unsubscribed"
            raise ConfigurationError(f"{name} has a function already")
        self._told[subscribed] = function
        if self._running is not None:
            self._running.set_subscription_handler(self._subscription)
        return function

    def _subscription(self, uri: str, subscribed: bool) -> object:
        function = self._told.get(subscribed)
        return None if function is None else function(uri)

    # Round the functions

    def middleware(self, function: Wrapper, /) -> Wrapper:
        """Put the decorated function round every call of a tool, resource, prompt, completion or method; the
        first one is the outermost.

        It takes the call's `Context` and `call_next`, and returns what is to be the function's value: what
        `call_next()` gives (an async one awaits it), or something else. What it raises is as if the function
        had raised it. A sync one runs on a thread, and so does a sync function inside of an async one.

        Raises:
            ConfigurationError: the server is running.
        """
        self.add_middleware(function)
        return function

    def add_middleware(self, function: Middleware) -> None:
        """The same without a decorator."""
        self._only_before("middleware")
        self._middleware.append(function)

    # Extensions

    def extension(self, name: str, settings: Json | None = None) -> None:
        """Declare an extension with its settings (2026-07-28 `basic/versioning`, "Extension Negotiation").
        Older clients know no extensions and are not told of it; its methods are there for them.

        Raises:
            ConfigurationError: the server is running.
        """
        self._only_before("an extension")
        capabilities = self._config["capabilities"]
        extensions = {**capabilities.get("extensions", {}), name: settings or {}}
        self._config["capabilities"] = {**capabilities, "extensions": extensions}

    def app_view(self, view: AppView) -> None:
        """Add a page of MCP Apps, and declare the extension unless it is declared.

        Raises:
            ConfigurationError: the server is running, or there is a resource of this URI already.
        """
        from ._native import app_extension

        self._only_before("a page")
        if app_extension not in self._config["capabilities"].get("extensions", {}):
            self.extension(app_extension)
        self._add(_declare.app_view(view._native))

    def method(self, name: str, /) -> Callable[[F], F]:
        """Serve the decorated function as a method that is none of MCP. Its parameters are those of the
        request, what it returns is the result, an object.
        """
        return self._decorator(self.add_method, name=name)

    def add_method(self, function: Callable[..., Any], name: str) -> None:
        """The same without a decorator.

        Raises:
            ConfigurationError: the server is running, or there is such a method already.
        """
        self._only_before("a method")
        self._add(_declare.method(function, name))

    def on_notification(self, method: str, /) -> Callable[[Notice], Notice]:
        """Call the decorated function with the parameters of each notification of an extension. Otherwise as
        `on_subscribed`.
        """
        from ._extensions import Notified

        def decorate(function: Notice) -> Notice:
            if self._notified is None:
                self._notified = Notified()
                if self._running is not None:
                    self._running.set_notification_handler(self._notified)
            if method in self._notified.functions:
                raise ConfigurationError(f"notification {method!r} has a function already")
            self._notified.functions[method] = function
            return function

        return decorate

    # Asking

    def set_state_keys(self, keys: Sequence[bytes | str]) -> None:
        """Secret keys for what a modern client carries while it is asked, also while the server is running:
        32 bytes each, or those in base64.

        The first one seals, all of them open, so that a new key is put in front of the old one. Servers that
        share them serve each other's retries; without any this process has one of its own.

        Raises:
            ConfigurationError: a key is none.
        """
        encoded = _in_base64(keys)
        if self._running is not None:
            self._running.set_state_keys(encoded)
        self._config["stateKeys"] = encoded

    def set_policy(self, policy: Json) -> None:
        """The policy of a server that was made without one.

        Raises:
            ConfigurationError: the server is running, or has a policy.
        """
        self._only_before("a policy")
        if self._policy is not None:
            raise ConfigurationError(f"server {self.name!r} has a policy of its own")
        self._policy = policy

    # Running

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        drain: float | None = None,
        debug: bool | None = None,
        max_threads: int = 64,
        loop: Literal["auto", "asyncio", "uvloop"] = "auto",
        task_store: str = "memory",
        **http: Unpack[HttpOptions],
    ) -> None:
        """Serve on stdin and stdout until the input ends, or over HTTP:
        `run("http", host="127.0.0.1", port=8000, path="/mcp")`, with further options as in docs/http.md.

        `drain` is the number of seconds that running calls get after the end of the input: 5, unless the
        limits in `config` say otherwise. `debug` (or `MCP_DEBUG=1`) writes every message to stderr;
        `max_threads` bounds the threads that blocked sync functions may hold. `task_store` is where tasks are
        kept: "memory" (they end with the process), "sqlite:PATH" or "redis://HOST:PORT/DATABASE".
        SIGTERM and SIGINT end the process in good order with 143 and 130.

        Raises:
            ConfigurationError: an option is wrong.
            OSError: the address can't be listened on.
        """
        from . import _run

        options = self._options(transport, drain, debug, max_threads, loop, task_store, http)
        native, needs_loop = self._start(stdio=options.http is None)
        try:
            _run.run(native, options, on_loop=needs_loop)
        finally:
            self._running = None

    async def serve(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        drain: float | None = None,
        debug: bool | None = None,
        max_threads: int = 64,
        task_store: str = "memory",
        **http: Unpack[HttpOptions],
    ) -> None:
        """`run()` inside a loop that is running already; returns when the input has ended and calls are
        done. Over HTTP it serves until its task is cancelled.
        """
        from . import _run

        options = self._options(transport, drain, debug, max_threads, "auto", task_store, http)
        native, _ = self._start(stdio=options.http is None)
        try:
            await _run.serve(native, options)
        finally:
            self._running = None

    @property
    def local_addr(self) -> str | None:
        """Address and port that are listened on, such as `127.0.0.1:8000`; None where nothing is."""
        return None if self._running is None else self._running.local_addr

    def _options(
        self,
        transport: str,
        drain: float | None,
        debug: bool | None,
        max_threads: int,
        loop: str,
        task_store: str,
        http: Mapping[str, Any],
    ) -> Options:
        from . import _run

        encoded = _run.http_options(transport, http)
        return _run.Options(drain, debug, max_threads, loop, task_store, self._policy, encoded)

    def _start(self, *, stdio: bool = False) -> tuple[NativeServer, bool]:
        """The native server with all that is declared, and whether some of it needs a loop."""
        from . import _run

        if self._running is not None and not self._running.forked:
            raise ConfigurationError(f"server {self.name!r} is running already")
        if stdio:
            _run.refuse_closed_streams()
        methods = [key for kind, key in self._declared if kind == "method"]
        extra = [*self._config.get("extraMethods", []), *methods]
        native = NativeServer(dumps({**self._config, "extraMethods": extra}))
        needs_loop = self._hand_over(native)
        if self._told:
            native.set_subscription_handler(self._subscription)
        if self._notified is not None:
            native.set_notification_handler(self._notified)
        self._running = native
        return native, needs_loop

    def _only_before(self, what: str) -> None:
        if self._running is not None and not self._running.forked:
            raise ConfigurationError(f"{what} is declared before the server runs")


def _in_base64(keys: Sequence[bytes | str]) -> list[str]:
    from base64 import b64encode

    return [key if isinstance(key, str) else b64encode(key).decode("ascii") for key in keys]
