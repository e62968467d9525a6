"""Forms that a user is asked to fill in: from a class or a JSON Schema to what may be sent, and back.

Decides what of a class' schema a form can say (2026-07-28 `client/elicitation`, "Requested Schema": a flat
object of primitive values). What it can't say, such as a pattern, is checked when the answer is read. Whether
a form is allowed at all is the engine's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ._native import convert
from ._schema import NeedsPydantic, Shape, Shapes
from .errors import ConfigurationError, InvalidAnswer

__all__ = ["Form", "form_of"]

_ABOUT = ("type", "title", "description", "default")
# By type, what `PrimitiveSchemaDefinition` has room for.
_KNOWN = {
    "string": (*_ABOUT, "minLength", "maxLength", "format", "enum", "oneOf"),
    "number": (*_ABOUT, "minimum", "maximum"),
    "integer": (*_ABOUT, "minimum", "maximum"),
    "boolean": _ABOUT,
    "array": (*_ABOUT, "minItems", "maxItems", "items"),
}
_FORMATS = ("email", "uri", "date", "date-time")


class Form(NamedTuple):
    """The schema that is sent, and what turns the content that comes back into the value that is wanted."""

    schema: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], Any]


def form_of(schema: Any) -> Form:
    """The form of a JSON Schema or a class.

    Raises:
        ConfigurationError: it is neither, or the class has no schema.
    """
    if isinstance(schema, Mapping):
        return Form(schema, dict)
    if not isinstance(schema, type):
        raise ConfigurationError(f"{schema!r} is neither a class nor a JSON Schema")
    return _form_of_class(schema)


# As many as a program has forms; one that makes a class for each call does not fill the memory.
@lru_cache(maxsize=256)
def _form_of_class(cls: type) -> Form:
    shape, definitions = _shape(cls)
    schema = _resolved(shape.schema, definitions)
    properties: dict[str, Any] = {}
    nullable: list[str] = []
    for name, described in schema.get("properties", {}).items():
        properties[name], may_be_none = _property(described, definitions, f"{cls.__name__}.{name}")
        if may_be_none:
            nullable.append(name)
    # A form has no null: a field that may be None is one that may be left out.
    required = [name for name in schema.get("required", []) if name not in nullable]
    empty = {name: None for name in schema.get("required", []) if name in nullable}
    form: dict[str, Any] = {"type": schema.get("type"), "properties": properties}
    if required:
        form["required"] = required

    def read(content: Mapping[str, Any]) -> Any:
        try:
            return convert({**empty, **content}, shape.plan)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidAnswer(f"the form's content: {error}") from error

    return Form(form, read)


def _shape(cls: type) -> tuple[Shape, Mapping[str, Any]]:
    plain = Shapes()
    try:
        return plain.of(cls), plain.definitions
    except NeedsPydantic:
        from ._pydantic import shapes_of

        shapes, definitions = shapes_of({cls.__name__: cls}, where="form")
        return shapes[cls.__name__], definitions


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in its place."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name not in definitions:
        return dict(schema)
    return {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}


def _property(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], where: str
) -> tuple[dict[str, Any], bool]:
    """One field of a form, and whether its value may be None."""
    schema = _resolved(schema, definitions)
    choices = schema.get("anyOf", [])
    others = [choice for choice in choices if choice.get("type") != "null"]
    nullable = len(others) < len(choices)
    if nullable and len(others) == 1:
        about = {key: value for key, value in schema.items() if key != "anyOf"}
        schema = {**_resolved(others[0], definitions), **about}
    if schema.get("default", ...) is None:
        del schema["default"]
    return _primitive(schema, definitions, where), nullable


def _primitive(schema: dict[str, Any], definitions: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a form can say of a field. What is no primitive is left as it is, for the engine to refuse."""
    if "const" in schema:
        schema["enum"] = [schema["const"]]
    if not all(isinstance(choice, str) for choice in schema.get("enum", [])):
        raise ConfigurationError(f"{where}: the choices of a form are texts, not {schema['enum']!r}")
    kind = schema.get("type")
    known = _KNOWN.get(kind) if isinstance(kind, str) else None
    if known is None:
        return schema
    field = {key: schema[key] for key in known if key in schema}
    if field.get("format", "email") not in _FORMATS:
        del field["format"]
    if isinstance(field.get("items"), Mapping):
        items = _resolved(field["items"], definitions)
        if "const" in items:
            items["enum"] = [items["const"]]
        field["items"] = {key: items[key] for key in ("type", "enum", "anyOf") if key in items}
    return field
