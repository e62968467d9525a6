"""JSON Schema and a conversion plan from a plain annotation, without pydantic.

Decides which annotations are plain; `NeedsPydantic` says that one is not, and `_pydantic.py` takes it over. A
plan says what turns the decoded JSON into what the annotation promises, and is carried out by the native
module:

* `None`: keep the value as it is,
* `"int"`: a float without fraction becomes an int; `"float"`: an int becomes a float,
* `("list", plan)`, `("dict", plan)`: the plan for each item or value,
* a callable: is given the value.

The engine has checked the arguments against the schema before a plan runs, so a plan checks nothing twice.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ._native import InputRequired, convert
from ._signature import EMPTY

__all__ = ["NeedsPydantic", "Plan", "Shape", "Shapes", "structured_output", "without_rounds"]

Plan: typing.TypeAlias = Any
"""See the module's text; a recursive type that mypy can't spell usefully."""


class NeedsPydantic(Exception):
    """This annotation is not a plain one."""

    def __init__(self, annotation: Any) -> None:
        super().__init__(annotation)
        self.annotation = annotation


class Shape(NamedTuple):
    """What an annotation means on the wire and in Python."""

    schema: dict[str, Any]
    plan: Plan = None


_NOTHING = type(None)
_SCALARS: dict[Any, Shape] = {
    Any: Shape({}),
    object: Shape({}),
    EMPTY: Shape({}),
    None: Shape({"type": "null"}),
    _NOTHING: Shape({"type": "null"}),
    str: Shape({"type": "string"}),
    int: Shape({"type": "integer"}, "int"),
    float: Shape({"type": "number"}, "float"),
    bool: Shape({"type": "boolean"}),
}
# What the serializer writes as text. As parameters these need pydantic's parsers.
_WRITTEN_AS_TEXT = {
    ("datetime", "datetime"): {"type": "string", "format": "date-time"},
    ("datetime", "date"): {"type": "string", "format": "date"},
    ("datetime", "time"): {"type": "string", "format": "time"},
    ("uuid", "UUID"): {"type": "string", "format": "uuid"},
    ("decimal", "Decimal"): {"type": "string"},
    ("pathlib", "Path"): {"type": "string", "format": "path"},
    ("pathlib", "PurePath"): {"type": "string", "format": "path"},
}
_MARKERS = {"Required": True, "NotRequired": False, "ReadOnly": None}
_ARRAYS = {"Sequence", "MutableSequence", "Collection", "Iterable"}
_OBJECTS = {"Mapping", "MutableMapping"}
_TYPE_OF_VALUE = {str: "string", bool: "boolean", int: "integer", float: "number", _NOTHING: "null"}


class Shapes:
    """Makes shapes for the annotations of one function; recursive types end up in `definitions`."""

    def __init__(self, *, output: bool = False) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self._output = output
        # Types being described, with the name under which a use inside themselves refers to them.
        self._open: dict[type, str] = {}
        self._recursive: set[type] = set()
        self._plans: dict[type, Plan] = {}

    def of(self, annotation: Any) -> Shape:
        """The shape of one annotation; raises `NeedsPydantic`."""
        try:
            scalar = _SCALARS.get(annotation)
        except TypeError:  # unhashable, so none of them
            scalar = None
        if scalar is not None:
            return Shape(dict(scalar.schema), None if self._output else scalar.plan)
        if getattr(annotation, "__metadata__", None) is not None:
            return self._annotated(annotation)
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self._generic(annotation, origin, typing.get_args(annotation))
        if hasattr(annotation, "__supertype__"):
            return self.of(annotation.__supertype__)
        if type(annotation).__name__ == "TypeAliasType":
            return self.of(annotation.__value__)
        if isinstance(annotation, type):
            return self._type(annotation)
        raise NeedsPydantic(annotation)

    def _annotated(self, annotation: Any) -> Shape:
        """`Annotated[T, "description"]`; markers that neither we nor pydantic know are passed over."""
        shape = self.of(annotation.__origin__)
        for marker in annotation.__metadata__:
            text = marker if isinstance(marker, str) else getattr(marker, "documentation", None)
            if isinstance(text, str):
                shape = Shape({**shape.schema, "description": text}, shape.plan)
            elif _belongs_to_pydantic(marker):
                raise NeedsPydantic(annotation)
        return shape

    def _generic(self, annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Shape:
        if origin is typing.Union or origin is types.UnionType:
            return self._union(annotation, arguments)
        if origin is typing.Literal:
            return self._literal(annotation, arguments)
        if origin is tuple:
            return self._tuple(arguments)
        if origin in (list, set, frozenset) or _is_abstract(origin, _ARRAYS):
            item = self.of(arguments[0])
            schema: dict[str, Any] = {"type": "array"}
            if item.schema:
                schema["items"] = item.schema
            plan = None if item.plan is None else ("list", item.plan)
            if origin in (set, frozenset):
                schema["uniqueItems"] = True
                return Shape(schema, _then(plan, origin))
            return Shape(schema, plan)
        if origin is dict or _is_abstract(origin, _OBJECTS):
            if arguments[0] not in (str, Any):
                raise NeedsPydantic(annotation)
            value = self.of(arguments[1])
            schema = {"type": "object"}
            if value.schema:
                schema["additionalProperties"] = value.schema
            return Shape(schema, None if value.plan is None else ("dict", value.plan))
        if getattr(origin, "_name", None) in _MARKERS:
            return self.of(arguments[0])
        raise NeedsPydantic(annotation)

    def _tuple(self, arguments: tuple[Any, ...]) -> Shape:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            item = self.of(arguments[0])
            schema: dict[str, Any] = {"type": "array"}
            if item.schema:
                schema["items"] = item.schema
            return Shape(schema, _then(None if item.plan is None else ("list", item.plan), tuple))
        items = [self.of(argument) for argument in arguments if argument != ()]
        size = len(items)
        schema = {"type": "array", "minItems": size, "maxItems": size}
        if items:
            schema["prefixItems"] = [item.schema for item in items]
        plans = [item.plan for item in items]
        return Shape(
            schema, lambda value: tuple(convert(part, plan) for part, plan in zip(value, plans, strict=True))
        )

    def _literal(self, annotation: Any, values: tuple[Any, ...]) -> Shape:
        if any(type(value) not in _TYPE_OF_VALUE for value in values):
            raise NeedsPydantic(annotation)
        plan = "int" if any(type(value) is int for value in values) else None
        return Shape(_enumeration(values), plan)

    def _union(self, annotation: Any, members: tuple[Any, ...]) -> Shape:
        shapes = [self.of(member) for member in members]
        kinds = [_kinds(shape.schema) for shape in shapes]
        schema = {"anyOf": [shape.schema for shape in shapes]}
        numbers = {shape.plan for shape in shapes if isinstance(shape.plan, str)}
        built = [
            (shape.plan, kind) for shape, kind in zip(shapes, kinds, strict=True) if _is_built(shape.plan)
        ]
        # An int is an int where the union has one, else a float where it has that.
        plan: Plan = None if len(numbers) == 2 else next(iter(numbers), None)
        if not built:
            return Shape(schema, plan)
        wanted = built[0][1]
        overlaps = sum(1 for kind in kinds if kind is None or wanted is None or kind & wanted) > 1
        if len(built) > 1 or wanted is None or overlaps:
            raise NeedsPydantic(annotation)
        if isinstance(built[0][0], tuple) and plan is None:  # it passes over everything else by itself
            return Shape(schema, built[0][0])
        return Shape(schema, _only_for(built[0][0], wanted, plan))

    def _type(self, annotation: type) -> Shape:
        if annotation in (list, set, frozenset, tuple):
            schema: dict[str, Any] = {"type": "array"}
            if annotation in (set, frozenset):
                schema["uniqueItems"] = True
            return Shape(schema, None if annotation is list else annotation)
        if annotation is dict or _is_abstract(annotation, _OBJECTS):
            return Shape({"type": "object"})
        if _is_abstract(annotation, _ARRAYS):
            return Shape({"type": "array"})
        if self._output:
            text = _WRITTEN_AS_TEXT.get((annotation.__module__, annotation.__name__))
            if text is not None:
                return Shape(dict(text))
        if _belongs_to_pydantic(annotation):
            raise NeedsPydantic(annotation)
        if _is_enum(annotation):
            return self._enum(annotation)
        if hasattr(annotation, "__dataclass_fields__"):
            return self._once(annotation, self._dataclass)
        if issubclass(annotation, dict) and hasattr(annotation, "__required_keys__"):
            return self._once(annotation, self._typed_dict)
        raise NeedsPydantic(annotation)

    def _once(self, annotation: type, describe: Callable[[type], Shape]) -> Shape:
        """Describe a type in place; one that contains itself goes to `$defs` and is referred to."""
        name = self._open.get(annotation)
        if name is not None:
            self._recursive.add(annotation)
            plans = self._plans
            return Shape({"$ref": f"#/$defs/{name}"}, lambda value: convert(value, plans[annotation]))
        if annotation in self._recursive:
            return Shape({"$ref": f"#/$defs/{annotation.__name__}"}, self._plans[annotation])
        self._open[annotation] = annotation.__name__
        try:
            shape = describe(annotation)
        finally:
            del self._open[annotation]
        self._plans[annotation] = shape.plan
        if annotation in self._recursive:
            self.definitions[annotation.__name__] = shape.schema
            return Shape({"$ref": f"#/$defs/{annotation.__name__}"}, shape.plan)
        return shape

    def _enum(self, annotation: type) -> Shape:
        members: Iterable[Any] = annotation  # type: ignore[assignment]
        by_value = {member.value: member for member in members}
        if any(type(value) not in _TYPE_OF_VALUE for value in by_value):
            raise NeedsPydantic(annotation)
        return Shape(_enumeration(tuple(by_value)), by_value.__getitem__)

    def _dataclass(self, annotation: type) -> Shape:
        from dataclasses import MISSING, fields

        hints = typing.get_type_hints(annotation, include_extras=True)
        properties: dict[str, Any] = {}
        required: list[str] = []
        plans: dict[str, Plan] = {}
        for field in fields(annotation):
            if not field.init and not self._output:
                continue
            shape = self.of(hints[field.name])
            if self._output or (field.default is MISSING and field.default_factory is MISSING):
                required.append(field.name)
            if field.default is not MISSING and _is_plain(field.default):
                shape.schema["default"] = field.default
            properties[field.name] = shape.schema
            plans[field.name] = shape.plan

        def build(value: dict[str, Any]) -> Any:
            return annotation(**{key: convert(part, plans.get(key)) for key, part in value.items()})

        return Shape(_object(annotation, properties, required), build)

    def _typed_dict(self, annotation: type) -> Shape:
        hints = typing.get_type_hints(annotation, include_extras=True)
        shapes = {name: self.of(hint) for name, hint in hints.items()}
        required_keys: frozenset[str] = annotation.__required_keys__  # type: ignore[attr-defined]
        # Annotations that are text hide the markers from the class itself, but not from us.
        marks = {name: _marker(hint) for name, hint in hints.items()}
        required = [
            name for name in hints if (marks[name] or name in required_keys) and marks[name] is not False
        ]
        schema = _object(annotation, {name: shape.schema for name, shape in shapes.items()}, required)
        plans = {name: shape.plan for name, shape in shapes.items() if shape.plan is not None}
        if not plans:
            return Shape(schema)
        return Shape(
            schema, lambda value: {key: convert(part, plans.get(key)) for key, part in value.items()}
        )


def without_rounds(annotation: Any) -> Any:
    """A return annotation without `InputRequired`, which asks and is no result."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    parts = typing.get_args(annotation)
    results = tuple(part for part in parts if part is not InputRequired)
    return annotation if len(results) == len(parts) else typing.Union[results]  # noqa: UP007


def structured_output(annotation: Any) -> bool:
    """Whether a return annotation promises a value that goes into `structuredContent`.

    Text, bytes, nothing, content blocks, `Any` and a missing annotation do not.
    """
    if annotation in (EMPTY, None, _NOTHING, str, bytes, bytearray, memoryview, Any, object):
        return False
    if getattr(annotation, "__metadata__", None) is not None:
        return structured_output(annotation.__origin__)
    origin = typing.get_origin(annotation)
    if origin is typing.Union or origin is types.UnionType:
        return all(part is _NOTHING or structured_output(part) for part in typing.get_args(annotation))
    if origin is not None:
        # A list of blocks is content; a list of texts is a value.
        parts = [part for part in typing.get_args(annotation) if part is not Ellipsis]
        return not any(_is_content(part) for part in parts)
    return not _is_content(annotation)


def _marker(hint: Any) -> bool | None:
    """Whether a key is marked as required or not; None when it is not marked."""
    name = getattr(typing.get_origin(hint), "_name", None)
    if name == "ReadOnly":
        return _marker(typing.get_args(hint)[0])
    return None if name is None else _MARKERS.get(name)


def _is_content(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return any(_is_content(part) for part in typing.get_args(annotation))
    return getattr(annotation, "__module__", None) in ("ferromcp.content", "ferromcp._native")


def _object(annotation: type, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "title": annotation.__name__, "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def _enumeration(values: tuple[Any, ...]) -> dict[str, Any]:
    kinds = list(dict.fromkeys(_TYPE_OF_VALUE[type(value)] for value in values))
    return {"enum": list(values), "type": kinds[0] if len(kinds) == 1 else kinds}


def _then(first: Plan, build: Callable[[Any], Any]) -> Plan:
    if first is None:
        return build
    return lambda value: build(convert(value, first))


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "object": (dict,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (_NOTHING,),
}


def _only_for(plan: Plan, kinds: frozenset[str], otherwise: Plan) -> Plan:
    taken = tuple(kind for name in kinds for kind in _PYTHON_TYPES[name])
    return lambda value: convert(value, plan if isinstance(value, taken) else otherwise)


def _is_built(plan: Plan) -> bool:
    return plan is not None and not isinstance(plan, str)


def _kinds(schema: dict[str, Any]) -> frozenset[str] | None:
    """The JSON types that a schema lets in; None when it does not say."""
    if "anyOf" in schema:
        parts = [_kinds(part) for part in schema["anyOf"]]
        return (
            None
            if any(part is None for part in parts)
            else frozenset().union(*(part or () for part in parts))
        )
    kind = schema.get("type")
    if kind is None:
        return frozenset(("object",)) if "$ref" in schema else None
    names = frozenset((kind,)) if isinstance(kind, str) else frozenset(kind)
    return names | {"integer"} if "number" in names else names


def _is_abstract(annotation: Any, names: set[str]) -> bool:
    return getattr(annotation, "__module__", None) == "collections.abc" and annotation.__name__ in names


def _is_enum(annotation: type) -> bool:
    return hasattr(annotation, "__members__") and hasattr(annotation, "_member_map_")


def _is_plain(value: Any) -> bool:
    """Whether a default can stand in a schema as it is."""
    return value is None or type(value) in (str, int, bool) or (type(value) is float and value - value == 0)


def _belongs_to_pydantic(thing: Any) -> bool:
    if hasattr(thing, "__get_pydantic_core_schema__") or hasattr(thing, "__pydantic_core_schema__"):
        return True
    return type(thing).__module__.partition(".")[0] in ("pydantic", "annotated_types")
