"""A tool's run, with its parts in the order of `FunctionTool.run`, and nothing made twice.

Every function raises what fastmcp's would.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import ValidationError
from fastmcp.server.providers.prefab_payload import payload_has_identities
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from fastmcp.tools.function_tool import (
    FunctionTool,
    _strict_input_validation,
    _ToolBodyError,
    _validate_input,
)
from mcp_types import InputRequiredResult
from pydantic import ValidationError as PydanticValidationError

if TYPE_CHECKING:
    from .plain import Plan

__all__ = ["converted", "finished", "is_coming", "is_ordinary", "started"]


def started(plan: Plan, arguments: dict[str, Any]) -> Any:
    """Checks the arguments and calls the function: its value, or what is to be awaited for it."""
    assert plan.adapter is not None  # else the tool's own `run` is the way
    try:
        return _validate_input(plan.adapter, arguments, strict=_strict_input_validation())
    except PydanticValidationError as error:
        # The function's own have been given another type.
        raise ValidationError(str(error), log_level=logging.WARNING) from error


def is_coming(value: Any) -> bool:
    """Whether a value is to be waited for on the loop."""
    return inspect.isawaitable(value) or inspect.isasyncgen(value)


async def finished(tool: FunctionTool, value: Any) -> Any:
    """The part of a run that waits: for the function, and for what it yields."""
    try:
        if inspect.isawaitable(value):
            value = await value
        return await tool._materialize_generator(value)
    except PydanticValidationError as error:
        raise _ToolBodyError(str(error)) from error


def converted(tool: FunctionTool, value: Any) -> ToolResult:
    """The result that fastmcp makes of a function's value."""
    if isinstance(value, InputRequiredResult):
        return InputRequiredToolResult(value)
    return tool._mark_non_object_result(tool.convert_result(value))


def is_ordinary(result: Any) -> bool:
    """Whether a result has one form for all eras, which is that of its fields."""
    if type(result) is not ToolResult or result._raw_mcp_result is not None:
        return False
    structured = result.structured_content
    return structured is None or (type(structured) is dict and not payload_has_identities(structured))
