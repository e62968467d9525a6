"""From a function to what the engine lists and the native module calls.

Decides how a declaration is read: name, description, schema, arguments, and which road (plain or pydantic)
its annotations take. What an annotation means is decided in `_schema.py` and `_pydantic.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from ._native import AppView, Handler, Schema, convert, dumps, loads
from ._schema import NeedsPydantic, Plan, Shape, Shapes, structured_output, without_rounds
from ._signature import EMPTY, Parameter, Signature, is_async, signature_of
from .errors import ConfigurationError

__all__ = [
    "Declared",
    "Kind",
    "Reentry",
    "TaskSupport",
    "app_view",
    "completion",
    "method",
    "prompt",
    "resource",
    "tool",
    "variables_of",
]

Kind: TypeAlias = Literal["tool", "resource", "template", "prompt", "completion", "method"]
Reentry: TypeAlias = Literal["replay", "held"]
"""What becomes of a function while a modern client is asked: it ends and runs again, or it waits."""
TaskSupport: TypeAlias = Literal["never", "optional", "required"]
"""Whether calls of a tool are tasks: for clients that take tasks, and whether others are served too."""


class Declared(NamedTuple):
    """One tool, resource, template, prompt or completion, ready for the native server."""

    kind: Kind
    key: str
    definition: bytes
    handler: Handler
    function: Callable[..., Any]
    needs_loop: bool


def tool(
    function: Callable[..., Any],
    *,
    name: str | None,
    title: str | None,
    description: str | None,
    annotations: Mapping[str, Any] | None,
    icons: Sequence[Mapping[str, Any]] | None,
    meta: Mapping[str, Any] | None,
    input_schema: Mapping[str, Any] | None,
    output_schema: Mapping[str, Any] | None,
    structured: bool | None,
    reentry: Reentry,
    task: TaskSupport,
) -> Declared:
    """A tool. A schema that is given wins over the annotations; conversion follows the annotations all the
    same.
    """
    signature = signature_of(function)
    name = name or _name_of(function)
    where = f"tool '{name}'"
    schema, plans, defaults = _arguments(signature, where)
    returns = without_rounds(signature.returns)
    if structured is None:
        structured = output_schema is not None or structured_output(returns)
    if structured and output_schema is None:
        output_schema = _result_schema(returns, where)
    definition = {
        "name": name,
        "title": title,
        "description": _described(function, description),
        "inputSchema": schema if input_schema is None else input_schema,
        "outputSchema": output_schema if structured else None,
        "annotations": annotations,
        "execution": _execution(task, where),
        "icons": icons,
        "_meta": meta,
    }
    return _declared(
        "tool",
        name,
        definition,
        function,
        signature,
        plans,
        defaults,
        structured=bool(structured),
        reentry=reentry,
    )


def resource(
    function: Callable[..., Any],
    uri: str,
    *,
    name: str | None,
    title: str | None,
    description: str | None,
    mime_type: str | None,
    size: int | None,
    annotations: Mapping[str, Any] | None,
    icons: Sequence[Mapping[str, Any]] | None,
    meta: Mapping[str, Any] | None,
    reentry: Reentry,
) -> Declared:
    """A resource, or a template when the URI has variables; the function's parameters are those variables."""
    signature = signature_of(function)
    name = name or _name_of(function)
    variables = variables_of(uri)
    parameters = {parameter.name for parameter in signature.parameters}
    needed = {parameter.name for parameter in signature.parameters if parameter.default is EMPTY}
    if not needed <= set(variables) or not (signature.open or set(variables) <= parameters):
        raise ConfigurationError(
            f"resource '{uri}': the parameters {sorted(parameters)} are not the variables {sorted(variables)}"
        )
    kind: Kind = "template" if variables else "resource"
    key = "uriTemplate" if variables else "uri"
    schema, plans, defaults = _arguments(signature, f"resource '{uri}'")
    definition = {
        key: uri,
        "name": name,
        "title": title,
        "description": _described(function, description),
        "mimeType": mime_type,
        "size": None if variables else size,
        "annotations": annotations,
        "icons": icons,
        "_meta": meta,
    }
    plans = _from_text(plans, schema)
    return _declared(
        kind, uri, definition, function, signature, plans, defaults, mime_type=mime_type, reentry=reentry
    )


def app_view(view: AppView) -> Declared:
    """A page of MCP Apps, as the resource that it is."""
    from .content import TextResource

    [page] = loads(view.contents)

    def show() -> object:
        return TextResource(page["text"], page["uri"], page["mimeType"], page.get("_meta"))

    handler = _handler("resource", page["uri"], show, signature_of(show), {})
    return Declared("resource", page["uri"], view.definition.encode(), handler, show, False)


def prompt(
    function: Callable[..., Any],
    *,
    name: str | None,
    title: str | None,
    description: str | None,
    icons: Sequence[Mapping[str, Any]] | None,
    meta: Mapping[str, Any] | None,
    reentry: Reentry,
) -> Declared:
    """A prompt. Its arguments come as text; one whose annotation is not `str` is read as JSON where it is
    JSON.
    """
    signature = signature_of(function)
    name = name or _name_of(function)
    schema, plans, defaults = _arguments(signature, f"prompt '{name}'")
    required: list[str] = schema.get("required", [])
    arguments = []
    for key, shape in schema["properties"].items():
        argument = {"name": key, "title": shape.get("title"), "description": shape.get("description")}
        arguments.append({**_without_none(argument), "required": key in required})
    definition = {
        "name": name,
        "title": title,
        "description": _described(function, description),
        "arguments": arguments,
        "icons": icons,
        "_meta": meta,
    }
    plans = _from_text(plans, schema)
    return _declared("prompt", name, definition, function, signature, plans, defaults, reentry=reentry)


def completion(function: Callable[..., Any], ref: str, argument: str) -> Declared:
    """Completion of one argument: the function takes `value`, and `arguments` (those chosen so far) if it
    wants.
    """
    signature = signature_of(function)
    names = [parameter.name for parameter in signature.parameters]
    if not names or len(names) > 2:
        raise ConfigurationError(
            f"completion of '{argument}' in '{ref}': takes value and, if it wants, arguments"
        )
    key = f"{ref}\n{argument}"
    handler = _handler("completion", f"{ref}/{argument}", function, signature, {}, names=names)
    return Declared(
        "completion", key, dumps({"ref": ref, "argument": argument}), handler, function, is_async(function)
    )


def method(function: Callable[..., Any], name: str) -> Declared:
    """A method of an extension: the function's parameters are those of the request, whose `_meta` it finds in
    its context.
    """
    signature = signature_of(function)
    schema, plans, defaults = _arguments(signature, f"method '{name}'")
    checker = Schema(dumps(schema))

    def read(params: dict[str, Any]) -> None:
        params.pop("_meta", None)
        for where, finding in checker.validate(dumps(params, "params")):
            raise ValueError(f"{where}: {finding}" if where else finding)
        for key, plan in plans.items():
            if key in params and plan is not None:
                params[key] = convert(params[key], plan)
        if defaults is not None:
            defaults(params)

    handler = _handler("method", name, function, signature, {}, defaults=read)
    return Declared("method", name, dumps({"method": name}), handler, function, is_async(function))


def variables_of(uri: str) -> list[str]:
    """The variables of a URI template, in order (RFC 6570: operators and modifiers are no part of a name)."""
    names: list[str] = []
    rest = uri
    while "{" in rest:
        expression, closed, rest = rest.partition("{")[2].partition("}")
        if not closed:
            raise ConfigurationError(f"resource '{uri}': a brace is not closed")
        names.extend(part.partition(":")[0].rstrip("*") for part in expression.lstrip("+#./;?&").split(","))
    return names


def _execution(task: TaskSupport, where: str) -> dict[str, str] | None:
    """What a definition says of tasks; nothing means that there are none."""
    if task not in ("never", "optional", "required"):
        raise ConfigurationError(f"{where}: task {task!r}: one of 'never', 'optional', 'required'")
    return None if task == "never" else {"taskSupport": task}


def _declared(
    kind: Kind,
    key: str,
    definition: dict[str, Any],
    function: Callable[..., Any],
    signature: Signature,
    plans: dict[str, Plan],
    defaults: Callable[[dict[str, Any]], dict[str, Any]] | None,
    *,
    reentry: Reentry,
    mime_type: str | None = None,
    structured: bool = False,
) -> Declared:
    handler = _handler(
        kind,
        key,
        function,
        signature,
        plans,
        structured=structured,
        defaults=defaults,
        mime_type=mime_type,
        reentry=reentry,
    )
    return Declared(kind, key, dumps(_without_none(definition), key), handler, function, is_async(function))


def _handler(
    kind: Kind,
    name: str,
    function: Callable[..., Any],
    signature: Signature,
    plans: dict[str, Plan],
    *,
    structured: bool = False,
    defaults: Callable[[dict[str, Any]], object] | None = None,
    mime_type: str | None = None,
    names: Sequence[str] = (),
    reentry: Reentry = "replay",
) -> Handler:
    return Handler(
        kind,
        name,
        function,
        is_async=is_async(function),
        context=signature.context,
        plans={key: plan for key, plan in plans.items() if plan is not None},
        structured=structured,
        defaults=defaults,
        mime_type=mime_type,
        names=list(names),
        reentry=reentry,
    )


def _arguments(
    signature: Signature, where: str
) -> tuple[dict[str, Any], dict[str, Plan], Callable[[dict[str, Any]], dict[str, Any]] | None]:
    """Input schema, plans, and what fills in defaults that Python can't fill in itself."""
    plain = Shapes()
    shapes: dict[str, Shape] = {}
    fields: dict[str, Any] = {}
    others: dict[str, Any] = {}
    required: list[str] = []
    for parameter in signature.parameters:
        default = parameter.default
        annotation = parameter.annotation
        if _is_pydantic_field(default):
            from ._pydantic import default_of, with_field

            fields[parameter.name] = default
            annotation = with_field(annotation, default)
            default = default_of(default)
        if default is EMPTY:
            required.append(parameter.name)
        try:
            shapes[parameter.name] = plain.of(annotation)
        except NeedsPydantic:
            others[parameter.name] = annotation
    definitions = plain.definitions
    if others:
        from ._pydantic import shapes_of

        more, shared = shapes_of(others, where=where)
        shapes.update(more)
        definitions = {**definitions, **shared}
    properties = {
        parameter.name: _property(parameter, shapes[parameter.name], fields)
        for parameter in signature.parameters
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not signature.open:
        schema["additionalProperties"] = False
    if definitions:
        schema["$defs"] = definitions
    plans = {name: shape.plan for name, shape in shapes.items()}
    return schema, plans, _filler(fields)


def _property(parameter: Parameter, shape: Shape, fields: Mapping[str, Any]) -> dict[str, Any]:
    if parameter.default is EMPTY or parameter.name in fields:
        return shape.schema
    try:
        return {**shape.schema, "default": loads(dumps(parameter.default))}
    except (TypeError, ValueError):  # a default that JSON can't show is still a default
        return shape.schema


def _filler(fields: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """pydantic's `Field(...)` defaults stand where Python's would, so Python can't fill them in."""
    if not fields:
        return None
    from ._pydantic import default_of

    def fill(arguments: dict[str, Any]) -> dict[str, Any]:
        for name, field in fields.items():
            if name not in arguments:
                arguments[name] = default_of(field)
        return arguments

    return fill


def _result_schema(annotation: Any, where: str) -> Mapping[str, Any] | None:
    shapes = Shapes(output=True)
    try:
        shape = shapes.of(annotation)
        definitions = shapes.definitions
    except NeedsPydantic:
        from ._pydantic import shapes_of

        found, definitions = shapes_of({"result": annotation}, where=where, output=True)
        shape = found["result"]
    if not shape.schema:
        return None
    return _with_definitions(shape.schema, definitions)


def _with_definitions(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to. A reference at the root is written out: older peers want to see
    an object.
    """
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        schema = {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        rest = {key: value for key, value in definitions.items() if key != name}
        if f'"#/$defs/{name}"'.encode() not in dumps([schema, rest]):
            definitions = rest
    return {**schema, "$defs": definitions} if definitions else schema


def _from_text(plans: dict[str, Plan], schema: Mapping[str, Any]) -> dict[str, Plan]:
    """Plans for values that come as text: read as JSON where the parameter's schema takes no text."""

    def reader(name: str, plan: Plan) -> Plan:
        own = {**schema["properties"][name], "$defs": schema.get("$defs", {})}
        checker = Schema(dumps(own))

        def read(text: Any) -> Any:
            value = text
            if not checker.is_valid(dumps(text)):
                try:
                    value = loads(text)
                except ValueError:
                    raise ValueError(f"{text!r} is not what is asked for") from None
                for _, finding in checker.validate(dumps(value)):
                    raise ValueError(finding)
            return convert(value, plan)

        return read

    properties = schema["properties"]
    return {
        name: reader(name, plan)
        for name, plan in plans.items()
        if properties[name].get("type") != "string" or plan
    }


def _is_pydantic_field(default: Any) -> bool:
    return type(default).__module__ == "pydantic.fields"


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    if name is None:
        name = type(function).__name__
    if name == "<lambda>":
        raise ConfigurationError("a lambda has no name; give one with name=")
    return str(name)


def _described(function: Callable[..., Any], description: str | None) -> str | None:
    """The description given, else the docstring with its indentation taken off."""
    if description is not None:
        return description
    if type(function).__name__ == "partial":  # its own text describes functools
        function = function.func  # type: ignore[attr-defined]
    text = getattr(function, "__doc__", None)
    if not isinstance(text, str) or not text.strip():
        return None
    first, *rest = text.expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip()


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}
