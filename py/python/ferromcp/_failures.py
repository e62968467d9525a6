"""What an exception in host code tells the peer.

Decides which exceptions become JSON-RPC errors and what a failed tool's result says; the native module sends
it. A traceback goes to the `ferromcp` logger for everything that host code did not raise on purpose; with
logging not set up, that is stderr.
"""

from __future__ import annotations

import sys
from typing import Any

from ._native import dumps
from .errors import CapabilityNotDeclared, MCPError, ResourceNotFound, SerializationError, ToolError

__all__ = ["Failure", "failure"]

Failure = tuple[int | str, str, bytes | None]
"""What it is, the text, and the error's data as JSON text.

What it is: a JSON-RPC code of host code's own choice, or one of `tool` (a result with isError),
`invalid_params`, `internal`, `unknown_resource` (the text is its URI; empty: the one asked for) and
`capability` (the text names what the client has not declared), whose codes only the engine knows.
"""


def failure(kind: str, name: str, error: BaseException, argument: str | None) -> Failure:
    """The answer for an exception out of the function `name`; `argument` is set when its conversion
    failed.
    """
    if isinstance(error, MCPError) and not error.from_peer:
        return error.code, error.message, None if error.data is None else dumps(error.data, "data")
    if isinstance(error, CapabilityNotDeclared):
        return "capability", error.capability, None
    if argument is not None:
        what = "params" if kind == "method" else f"arguments for {kind} '{name}': {argument}"
        text = f"Invalid {what}: {error}"
        return ("tool" if kind == "tool" else "invalid_params"), text, None
    if kind == "tool":
        if isinstance(error, ToolError):
            return "tool", str(error), None
        if isinstance(error, SerializationError):
            return "tool", f"Error calling tool '{name}': {error}", None
        report(f"Error calling tool '{name}'", error)
        return "tool", f"Error calling tool '{name}': {_described(error)}", None
    if isinstance(error, ResourceNotFound):
        return "unknown_resource", error.uri or "", None
    report(f"Error in {kind} '{name}'", error)
    return "internal", f"Error in {kind} '{name}': {_described(error)}", None


def _described(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def report(message: str, error: BaseException) -> None:
    """A traceback to the `ferromcp` logger, or to stderr where logging was never imported."""
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return  # on its way out of the program, where it shows itself
    logging: Any = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("ferromcp").error(message, exc_info=error)
        return
    import traceback

    text = "".join(traceback.format_exception(error))
    if sys.stderr is not None:
        sys.stderr.write(f"{message}\n{text}")
