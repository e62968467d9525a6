"""The road for annotations that are not plain: schema, validation and conversion by pydantic.

Imported by `_declare.py` at the first such annotation and never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from ._schema import Plan, Shape
from ._signature import EMPTY
from .errors import ConfigurationError

try:
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
    from pydantic.fields import FieldInfo
except ImportError:
    raise ConfigurationError(
        "this annotation is not a plain one and needs pydantic (pip install 'ferromcp[pydantic]')"
    ) from None

__all__ = ["default_of", "is_field", "shapes_of"]


def is_field(default: Any) -> bool:
    """Whether a parameter's default is pydantic's `Field(...)`."""
    return isinstance(default, FieldInfo)


def default_of(field: Any) -> Any:
    """What a `Field(...)` default gives for an argument that is absent."""
    return EMPTY if field.is_required() else field.get_default(call_default_factory=True)


def shapes_of(
    annotations: Mapping[str, Any], *, where: str, output: bool = False
) -> tuple[dict[str, Shape], dict[str, Any]]:
    """The shape of each annotation, and the definitions that they share."""
    mode: Literal["validation", "serialization"] = "serialization" if output else "validation"
    adapters: dict[str, TypeAdapter[Any]] = {}
    for name, annotation in annotations.items():
        try:
            adapters[name] = TypeAdapter(annotation)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ConfigurationError(f"{where}, {name}: no schema for {annotation!r}: {error}") from error
    inputs = [(name, mode, adapter) for name, adapter in adapters.items()]
    schemas, shared = TypeAdapter.json_schemas(inputs)
    shapes = {name: Shape(dict(schemas[name, mode]), _plan(adapter)) for name, adapter in adapters.items()}
    return shapes, dict(shared.get("$defs", {}))


def with_field(annotation: Any, field: Any) -> Any:
    """The annotation with the `Field(...)` that stands as the parameter's default."""
    return Annotated[Any if annotation is EMPTY else annotation, field]


def _plan(adapter: TypeAdapter[Any]) -> Plan:
    validate = adapter.validate_python

    def plan(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            raise ValueError(_explain(error)) from None

    return plan


def _explain(error: ValidationError) -> str:
    """The findings in one line each, with the path but without the input, which the peer knows."""
    findings = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(": ".join(filter(None, [_path(finding["loc"]), finding["msg"]])) for finding in findings)


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
