"""A function's parameters, without `inspect` where the function is a plain one.

Decides what of a callable is a parameter for the peer: everything but the one that asks for the `Context`.
What an annotation means is left to `_schema.py`. `inspect` costs a third of a small server's start, so it is
imported only for callables that wrap others, carry a signature of their own, or are no functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

from .errors import ConfigurationError

__all__ = ["EMPTY", "Parameter", "Signature", "is_async", "signature_of"]


class _Empty:
    """Stands for "not given"; `None` is a value."""

    def __repr__(self) -> str:
        return "<empty>"


EMPTY: Any = _Empty()

# From CPython's code objects: what inspect.CO_* name.
_VARARGS = 0x04
_VARKEYWORDS = 0x08
_GENERATOR = 0x20
_COROUTINE = 0x80
_ITERABLE_COROUTINE = 0x100
_ASYNC_GENERATOR = 0x200


class Parameter(NamedTuple):
    """One parameter that can be passed by keyword."""

    name: str
    annotation: Any
    default: Any


class Signature(NamedTuple):
    """What the door has to know of a callable."""

    parameters: list[Parameter]
    returns: Any
    context: str | None
    """Name of the parameter that takes the `Context`."""
    open: bool
    """There is a `**kwargs`: arguments beyond the parameters are allowed."""


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call gives a coroutine. Generators are refused: a result is one value."""
    code = getattr(_unwrapped(function), "__code__", None)
    flags: int = getattr(code, "co_flags", 0)
    if flags & (_GENERATOR | _ASYNC_GENERATOR) and not flags & _ITERABLE_COROUTINE:
        raise ConfigurationError(f"{_name(function)} is a generator; a result is one value")
    if flags & (_COROUTINE | _ITERABLE_COROUTINE):
        return True
    if isinstance(function, FunctionType):
        return False
    return bool(getattr(_call_of(function), "co_flags", 0) & _COROUTINE)


def signature_of(function: Callable[..., Any]) -> Signature:
    """Parameters, return annotation and context parameter of a callable."""
    plain = not hasattr(function, "__wrapped__")
    if plain and isinstance(function, FunctionType) and not hasattr(function, "__signature__"):
        parameters, open_ended = _from_code(function)
        hints = _hints(function)
    else:
        parameters, open_ended = _from_inspect(function)
        hints = _hints(_unwrapped(function))
    context = None
    taken: list[Parameter] = []
    for parameter in parameters:
        annotation = hints.get(parameter.name, parameter.annotation)
        if _is_context(annotation):
            context = parameter.name
        else:
            taken.append(parameter._replace(annotation=annotation))
    return Signature(taken, hints.get("return", EMPTY), context, open_ended)


def _from_code(function: FunctionType) -> tuple[list[Parameter], bool]:
    code = function.__code__
    if code.co_posonlyargcount:
        raise ConfigurationError(f"{_name(function)} has positional-only parameters; arguments come by name")
    if code.co_flags & _VARARGS:
        raise ConfigurationError(f"{_name(function)} has *args; arguments come by name")
    positional = code.co_varnames[: code.co_argcount]
    keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(function.__kwdefaults__ or {})
    given = function.__defaults__ or ()
    defaults.update(zip(positional[len(positional) - len(given) :], given, strict=True))
    parameters = [Parameter(name, EMPTY, defaults.get(name, EMPTY)) for name in positional + keyword]
    return parameters, bool(code.co_flags & _VARKEYWORDS)


def _from_inspect(function: Callable[..., Any]) -> tuple[list[Parameter], bool]:
    import inspect

    parameters: list[Parameter] = []
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind is parameter.VAR_POSITIONAL:
            raise ConfigurationError(f"{_name(function)} has *args; arguments come by name")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"{_name(function)} has positional-only parameters; arguments come by name"
            )
        else:
            annotation = EMPTY if parameter.annotation is parameter.empty else parameter.annotation
            default = EMPTY if parameter.default is parameter.empty else parameter.default
            parameters.append(Parameter(parameter.name, annotation, default))
    return parameters, open_ended


def _hints(function: Any) -> dict[str, Any]:
    """Annotations as objects. Text (`from __future__ import annotations`) is evaluated by typing."""
    if not isinstance(function, FunctionType):
        function = getattr(function, "__func__", None) or vars(type(function)).get("__call__")
    annotations: dict[str, Any] = getattr(function, "__annotations__", None) or {}
    if any(_has_text(value) for value in annotations.values()):
        from typing import get_type_hints

        try:
            # Of the annotations alone: Python 3.10 makes types optional where a default is None.
            bare = SimpleNamespace(__annotations__=annotations, __globals__=function.__globals__)
            return get_type_hints(bare, include_extras=True)
        except NameError as error:
            raise ConfigurationError(
                f"{_name(function)}: an annotation can't be evaluated: {error}"
            ) from error
    return dict(annotations)


def _has_text(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return True
    if getattr(annotation, "__metadata__", None) is not None:
        return _has_text(annotation.__origin__)
    if type(annotation).__name__ == "ForwardRef":
        return True
    if type(annotation).__name__ == "_LiteralGenericAlias":
        return False
    return any(_has_text(part) for part in getattr(annotation, "__args__", ()))


def _is_context(annotation: Any) -> bool:
    """Whether an annotation is `Context`, a subclass, or that or None."""
    module = sys.modules.get("ferromcp.context")
    if module is None:
        return False
    wanted: type = module.Context
    if isinstance(annotation, type):
        return issubclass(annotation, wanted)
    arguments = getattr(annotation, "__args__", ())
    return bool(arguments) and all(part is type(None) or _is_context(part) for part in arguments)


def _call_of(instance: Any) -> Any:
    """The code of an instance's `__call__`."""
    method = next((vars(cls)["__call__"] for cls in type(instance).__mro__ if "__call__" in vars(cls)), None)
    return getattr(method, "__code__", None)


def _unwrapped(function: Any) -> Any:
    while True:
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif type(function).__name__ == "partial" and hasattr(function, "func"):
            function = function.func
        else:
            return function


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or function)
