"""`Server`: what a user declares and runs.

Decides when things are handed to the native server: declarations are kept here until `run()`, so that a
`Server` made before a fork can run in the child, and go straight through while one is running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _declare
from ._declare import Declared, Kind, Reentry
from ._native import Server as NativeServer
from ._native import dumps
from .errors import ConfigurationError

if TYPE_CHECKING:
    from ._run import Options

__all__ = ["Server"]

F = TypeVar("F", bound=Callable[..., Any])
Told = TypeVar("Told", bound=Callable[[str], object])
Json = Mapping[str, Any]
Icons = Sequence[Mapping[str, Any]]


class Server:
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
        config: Json | None = None,
    ) -> None:
        """`config` is merged over the engine's configuration: page size, cache hints, limits, revisions
        ... `state_keys`: see `set_state_keys`.
        """
        info = {
            "name": name,
            "version": version,
            "title": title,
            "description": description,
            "websiteUrl": website_url,
            "icons": icons,
        }
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
        self._config.update(config or {})
        self._declared: dict[tuple[str, str], Declared] = {}
        # By whether it is told of a subscription or of its end.
        self._told: dict[bool, Callable[[str], object]] = {}
        self._running: NativeServer | None = None

    # Tools

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        function: str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Json | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        structured: bool | None = None,
        reentry: Reentry = "replay",
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        function: Callable[..., Any] | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Json | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        structured: bool | None = None,
        reentry: Reentry = "replay",
    ) -> Any:
        """Serve the decorated function as a tool: `@server.tool`, with options in parentheses.

        `reentry` says what becomes of the function while a modern client is asked (`Context.elicit` ...):
        with "replay" it ends, and runs again with the answers; with "held" it waits in this process.
        """

        def decorate(function: F) -> F:
            self.add_tool(
                function,
                name=name,
                title=title,
                description=description,
                annotations=annotations,
                icons=icons,
                meta=meta,
                input_schema=input_schema,
                output_schema=output_schema,
                structured=structured,
                reentry=reentry,
            )
            return function

        if function is not None and not isinstance(function, str):
            return decorate(function)
        name = name or function
        return decorate

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Json | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        input_schema: Json | None = None,
        output_schema: Json | None = None,
        structured: bool | None = None,
        reentry: Reentry = "replay",
    ) -> None:
        """Serve a function as a tool, also while the server is running."""
        self._add(
            _declare.tool(
                function,
                name=name,
                title=title,
                description=description,
                annotations=annotations,
                icons=icons,
                meta=meta,
                input_schema=input_schema,
                output_schema=output_schema,
                structured=structured,
                reentry=reentry,
            )
        )

    def remove_tool(self, name: str) -> bool:
        """Stop serving a tool; False when there is none of this name."""
        return self._remove("tool", name)

    # Resources

    def resource(
        self,
        uri: str,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Json | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        reentry: Reentry = "replay",
    ) -> Callable[[F], F]:
        """Serve the decorated function's value under a URI, or under every URI of a template such as
        `mem://{id}`.
        """
        if callable(uri):
            raise ConfigurationError('a resource needs its URI: @server.resource("mem://notes")')
        return self._decorator(
            self.add_resource,
            uri=uri,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            annotations=annotations,
            icons=icons,
            meta=meta,
            reentry=reentry,
        )

    def add_resource(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Json | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        reentry: Reentry = "replay",
    ) -> None:
        """Serve a function as a resource or template, also while the server is running."""
        self._add(
            _declare.resource(
                function,
                uri,
                name=name,
                title=title,
                description=description,
                mime_type=mime_type,
                size=size,
                annotations=annotations,
                icons=icons,
                meta=meta,
                reentry=reentry,
            )
        )

    def remove_resource(self, uri: str) -> bool:
        """Stop serving a resource or template; False when there is none under this URI."""
        return self._remove("resource", uri) or self._remove("template", uri)

    def resource_updated(self, uri: str) -> None:
        """Tell the peers that watch this resource that it has changed."""
        if self._running is not None:
            self._running.resource_updated(uri)

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

    # Prompts

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(
        self,
        function: str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        reentry: Reentry = "replay",
    ) -> Callable[[F], F]: ...

    def prompt(
        self,
        function: Callable[..., Any] | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        reentry: Reentry = "replay",
    ) -> Any:
        """Serve the decorated function as a prompt: `@server.prompt`, with options in parentheses."""

        def decorate(function: F) -> F:
            self.add_prompt(
                function,
                name=name,
                title=title,
                description=description,
                icons=icons,
                meta=meta,
                reentry=reentry,
            )
            return function

        if function is not None and not isinstance(function, str):
            return decorate(function)
        name = name or function
        return decorate

    def add_prompt(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Icons | None = None,
        meta: Json | None = None,
        reentry: Reentry = "replay",
    ) -> None:
        """Serve a function as a prompt, also while the server is running."""
        self._add(
            _declare.prompt(
                function,
                name=name,
                title=title,
                description=description,
                icons=icons,
                meta=meta,
                reentry=reentry,
            )
        )

    def remove_prompt(self, name: str) -> bool:
        """Stop serving a prompt; False when there is none of this name."""
        return self._remove("prompt", name)

    def completion(self, ref: str, argument: str, /) -> Callable[[F], F]:
        """Complete one argument of a prompt (by name) or of a resource template (by its URI template)."""
        return self._decorator(self.add_completion, ref=ref, argument=argument)

    def add_completion(self, function: Callable[..., Any], ref: str, argument: str) -> None:
        """Complete an argument with a function from the text so far to the values that fit."""
        self._add(_declare.completion(function, ref, argument))

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

    # Running

    def run(
        self,
        transport: Literal["stdio"] = "stdio",
        *,
        drain: float | None = None,
        debug: bool | None = None,
        max_threads: int = 64,
        loop: Literal["auto", "asyncio", "uvloop"] = "auto",
    ) -> None:
        """Serve on stdin and stdout until the input ends.

        `drain` is the number of seconds that running calls get after that: 5, unless the limits in `config`
        say otherwise. `debug` (or `MCP_DEBUG=1`) writes every message to stderr; `max_threads` bounds the
        threads that blocked sync functions may hold.
        SIGTERM and SIGINT end the process in good order with 143 and 130.
        """
        from . import _run

        options = self._options(transport, drain, debug, max_threads, loop)
        native = self._start()
        try:
            _run.run(native, options, on_loop=any(item.needs_loop for item in self._declared.values()))
        finally:
            self._running = None

    async def serve(
        self,
        transport: Literal["stdio"] = "stdio",
        *,
        drain: float | None = None,
        debug: bool | None = None,
        max_threads: int = 64,
    ) -> None:
        """`run()` inside a loop that is running already; returns when the input has ended and calls are
        done.
        """
        from . import _run

        options = self._options(transport, drain, debug, max_threads, "auto")
        native = self._start()
        try:
            await _run.serve(native, options)
        finally:
            self._running = None

    def _options(
        self, transport: str, drain: float | None, debug: bool | None, max_threads: int, loop: str
    ) -> Options:
        from . import _run

        if transport != "stdio":
            raise ConfigurationError(f"transport {transport!r}: only 'stdio' is served")
        return _run.Options(drain=drain, debug=debug, max_threads=max_threads, loop=loop)

    def _start(self) -> NativeServer:
        from . import _run

        if self._running is not None and not self._running.forked:
            raise ConfigurationError(f"server {self.name!r} is running already")
        _run.refuse_closed_streams()
        native = NativeServer(dumps(self._config))
        for item in self._declared.values():
            native.add(item.kind, item.definition, item.handler)
        if self._told:
            native.set_subscription_handler(self._subscription)
        self._running = native
        return native

    def _add(self, item: Declared) -> None:
        place = item.kind, item.key
        if place in self._declared:
            raise ConfigurationError(f"{item.kind} {item.key!r} is declared already")
        if self._running is not None:
            self._running.add(item.kind, item.definition, item.handler)
        self._declared[place] = item

    def _remove(self, kind: Kind, key: str) -> bool:
        known = self._declared.pop((kind, key), None) is not None
        if known and self._running is not None:
            self._running.remove(kind, key)
        return known

    @staticmethod
    def _decorator(add: Callable[..., None], **options: Any) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            add(function, **options)
            return function

        return decorate


def _in_base64(keys: Sequence[bytes | str]) -> list[str]:
    from base64 import b64encode

    return [key if isinstance(key, str) else b64encode(key).decode("ascii") for key in keys]
