"""What a server serves: tools, resources, templates, prompts and completions, before and while it runs.

Decides when things are handed to the native server: declarations are kept here until it starts, and go
straight through while one is running. What a declaration is made from is decided in `_declare.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _declare
from ._declare import Declared, Kind, Reentry, TaskSupport
from .errors import ConfigurationError

if TYPE_CHECKING:
    from ._middleware import Middleware
    from ._native import Server as NativeServer

__all__ = ["Catalogue"]

F = TypeVar("F", bound=Callable[..., Any])
Json = Mapping[str, Any]
Icons = Sequence[Mapping[str, Any]]


class Catalogue:
    """The declarations of a server."""

    def __init__(self) -> None:
        self._declared: dict[tuple[str, str], Declared] = {}
        self._disabled: set[tuple[str, str]] = set()
        self._middleware: list[Middleware] = []
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
        task: TaskSupport = "never",
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
        task: TaskSupport = "never",
    ) -> Any:
        """Serve the decorated function as a tool: `@server.tool`, with options in parentheses.

        `reentry` says what becomes of the function while a modern client is asked (`Context.elicit` ...):
        with "replay" it ends, and runs again with the answers; with "held" it waits in this process. `task`
        says whether calls are tasks for clients that take tasks ("optional"), and others are refused
        ("required").
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
                task=task,
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
        task: TaskSupport = "never",
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
                task=task,
            )
        )

    def remove_tool(self, name: str) -> bool:
        """Stop serving a tool; False when there is none of this name."""
        return self._remove("tool", name)

    def enable_tool(self, name: str) -> bool:
        """Show a tool again that was hidden; False when there is none of this name."""
        return self._enable("tool", name, True)

    def disable_tool(self, name: str) -> bool:
        """Hide a tool, also while the server is running: it is in no list, and calling it is calling nothing.
        Calls that run go on. False when there is none of this name.
        """
        return self._enable("tool", name, False)

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

    def enable_resource(self, uri: str) -> bool:
        """Show a resource or template again that was hidden; False when there is none under this URI."""
        return self._enable("resource", uri, True) or self._enable("template", uri, True)

    def disable_resource(self, uri: str) -> bool:
        """Hide a resource or template, as `disable_tool` does with a tool."""
        return self._enable("resource", uri, False) or self._enable("template", uri, False)

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

    def enable_prompt(self, name: str) -> bool:
        """Show a prompt again that was hidden; False when there is none of this name."""
        return self._enable("prompt", name, True)

    def disable_prompt(self, name: str) -> bool:
        """Hide a prompt, as `disable_tool` does with a tool."""
        return self._enable("prompt", name, False)

    def completion(self, ref: str, argument: str, /) -> Callable[[F], F]:
        """Complete one argument of a prompt (by name) or of a resource template (by its URI template)."""
        return self._decorator(self.add_completion, ref=ref, argument=argument)

    def add_completion(self, function: Callable[..., Any], ref: str, argument: str) -> None:
        """Complete an argument with a function from the text so far to the values that fit."""
        self._add(_declare.completion(function, ref, argument))

    def _hand_over(self, native: NativeServer) -> bool:
        """Gives a native server all that is declared; whether some of it needs a loop."""
        declared = [self._wrapped(item) for item in self._declared.values()]
        for item in declared:
            native.add(item.kind, item.definition, item.handler)
            if (item.kind, item.key) in self._disabled:
                native.enable(item.kind, item.key, False)
        return any(item.needs_loop for item in declared)

    def _add(self, item: Declared) -> None:
        place = item.kind, item.key
        if place in self._declared:
            raise ConfigurationError(f"{item.kind} {item.key!r} is declared already")
        if self._running is not None:
            self._running.add(item.kind, item.definition, self._wrapped(item).handler)
        self._declared[place] = item

    def _remove(self, kind: Kind, key: str) -> bool:
        known = self._declared.pop((kind, key), None) is not None
        self._disabled.discard((kind, key))
        if known and self._running is not None:
            self._running.remove(kind, key)
        return known

    def _enable(self, kind: Kind, key: str, enabled: bool) -> bool:
        place = kind, key
        if place not in self._declared:
            return False
        if enabled:
            self._disabled.discard(place)
        else:
            self._disabled.add(place)
        if self._running is not None:
            self._running.enable(kind, key, enabled)
        return True

    def _wrapped(self, item: Declared) -> Declared:
        if not self._middleware:
            return item
        from ._middleware import around

        return around(item, self._middleware)

    @staticmethod
    def _decorator(add: Callable[..., None], **options: Any) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            add(function, **options)
            return function

        return decorate
