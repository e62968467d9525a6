"""Every exception that this package raises, under one base class.

Decides what each error means to the peer; the text and the codes are chosen by whoever raises it.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CapabilityNotDeclared",
    "ConfigurationError",
    "FerroMCPError",
    "ForkedError",
    "InvalidAnswer",
    "MCPError",
    "NoBackChannel",
    "ResourceNotFound",
    "SerializationError",
    "TaskStoreError",
    "ToolError",
]


class FerroMCPError(Exception):
    """The base of all of them."""


class ConfigurationError(FerroMCPError):
    """A server, tool, resource or prompt was declared in a way that can't be served."""


class ToolError(FerroMCPError):
    """Raised in a tool: the result is marked `isError` and carries this text and nothing else."""


class MCPError(FerroMCPError):
    """A JSON-RPC error. Raised in host code it becomes the answer; raised by us it is the peer's answer.

    `from_peer` says which: what the peer has answered to a question of ours, and host code does not catch, is
    a failure of the function and not the answer of its call.
    """

    from_peer = False

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class ResourceNotFound(FerroMCPError):
    """Raised in a resource function: there is nothing under this URI. The engine picks the code of the
    peer's revision.
    """

    def __init__(self, uri: str | None = None) -> None:
        super().__init__(uri)
        self.uri = uri

    def __str__(self) -> str:
        return "Resource not found" if self.uri is None else f"Resource not found: {self.uri}"


class NoBackChannel(FerroMCPError):
    """This peer can't be asked: its revision has no way to, or it is gone."""


class CapabilityNotDeclared(NoBackChannel):
    """This client did not declare what the request needs, so it is not sent (2025-11-25 `basic/lifecycle`,
    "Operation"). `capability` names it: `"roots"`, `"sampling"`, `"sampling.tools"`, `"elicitation.form"` or
    `"elicitation.url"`.

    Not caught it becomes the error that the peer's revision has for it (2026-07-28: -32021).
    """

    def __init__(self, capability: str) -> None:
        super().__init__(capability)
        self.capability = capability

    def __str__(self) -> str:
        return f"the client did not declare the capability {self.capability!r}"


class InvalidAnswer(FerroMCPError):
    """The client's answer to a request of ours is not what was asked for; the text says why."""


class SerializationError(FerroMCPError, TypeError):
    """A value has no JSON form. The text names the place: `result.items[3].price: NaN is not JSON`."""


class TaskStoreError(FerroMCPError):
    """The store of tasks can't be opened; the text says why."""


class ForkedError(FerroMCPError, RuntimeError):
    """A forked child used a server that its parent runs."""


class CallOver(BaseException):
    """Unwinds a sync function that nobody waits for any more: its client is asked, and the function runs
    again with the answer, or the call was cancelled.

    Like `asyncio.CancelledError` in an async one: `except Exception` passes it by, `finally` runs. Not to be
    raised by host code, and not part of the package's names.
    """
