"""What a form says of a class, and what its content becomes."""

from __future__ import annotations

import datetime
import enum
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import NotRequired, TypedDict

from ferromcp import ConfigurationError, Elicit, ElicitUrl, InvalidAnswer, ListRoots, Sample


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Order(BaseModel):
    mail: Annotated[str, Field(description="Where to", json_schema_extra={"format": "email"})]
    day: datetime.date
    colour: Colour = Colour.RED
    sizes: list[Literal["s", "m"]] = Field(default=["m"], min_length=1)
    count: int = Field(default=1, ge=1, le=9, multiple_of=1)
    note: str | None = Field(default=None, max_length=20, pattern="^[a-z]*$")
    fixed: Literal["only"] = "only"

    @field_validator("count")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 7:
            raise ValueError("not seven")
        return value


@dataclass
class Trip:
    goal: str
    colour: Colour
    days: float = 1.0
    stops: list[Literal["a", "b"]] = field(default_factory=list)
    guide: str | None = None
    hotel: str | None = field(kw_only=True)


class Typed(TypedDict):
    name: Annotated[str, "Yours"]
    sure: NotRequired[bool]


def schema_of(cls: type) -> dict[str, Any]:
    schema = Elicit("?", cls).params()["requestedSchema"]
    assert isinstance(schema, dict)
    return schema


def accepted(request: Elicit[Any], **content: Any) -> Any:
    return request.read({"action": "accept", "content": content}).content


def test_a_pydantic_model() -> None:
    assert schema_of(Order) == {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "title": "Mail", "description": "Where to", "format": "email"},
            "day": {"type": "string", "title": "Day", "format": "date"},
            "colour": {"type": "string", "title": "Colour", "default": "red", "enum": ["red", "blue"]},
            "sizes": {
                "type": "array",
                "title": "Sizes",
                "default": ["m"],
                "minItems": 1,
                "items": {"type": "string", "enum": ["s", "m"]},
            },
            "count": {"type": "integer", "title": "Count", "default": 1, "minimum": 1, "maximum": 9},
            "note": {"type": "string", "title": "Note", "maxLength": 20},
            "fixed": {"type": "string", "title": "Fixed", "default": "only", "enum": ["only"]},
        },
        "required": ["mail", "day"],
    }
    order = accepted(Elicit("?", Order), mail="a@b", day="2020-01-02", colour="blue")
    assert order == Order(mail="a@b", day=datetime.date(2020, 1, 2), colour=Colour.BLUE)


@pytest.mark.parametrize(
    ("content", "reason"), [({"count": 7}, "not seven"), ({"note": "A"}, "pattern"), ({"day": "x"}, "day")]
)
def test_what_a_form_can_not_say_is_checked_when_it_is_read(content: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidAnswer, match=reason):
        accepted(Elicit("?", Order), **{"mail": "a", "day": "2020-01-02", **content})


def test_a_dataclass() -> None:
    assert schema_of(Trip) == {
        "type": "object",
        "properties": {
            "goal": {"type": "string"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "days": {"type": "number", "default": 1.0},
            "stops": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "guide": {"type": "string"},
            "hotel": {"type": "string"},
        },
        "required": ["goal", "colour"],
    }
    trip = accepted(Elicit("?", Trip), goal="x", colour="blue", days=2, stops=["a"])
    # What may be None and has no default is None where the form left it out.
    assert trip == Trip("x", Colour.BLUE, 2.0, ["a"], hotel=None)


def test_a_typed_dict_and_a_schema() -> None:
    assert schema_of(Typed) == {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Yours"}, "sure": {"type": "boolean"}},
        "required": ["name"],
    }
    assert accepted(Elicit("?", Typed), name="a") == {"name": "a"}
    schema = {"type": "object", "properties": {}, "x-mine": 1}
    assert Elicit("?", schema).params()["requestedSchema"] == schema
    assert accepted(Elicit("?", schema), a=1) == {"a": 1}


def test_what_is_no_form() -> None:
    @dataclass
    class Numbers:
        size: Literal[1, 2]

    with pytest.raises(ConfigurationError, match=r"Numbers\.size: the choices of a form are texts"):
        Elicit("?", Numbers)
    with pytest.raises(ConfigurationError, match="neither a class nor a JSON Schema"):
        Elicit("?", "name")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (Elicit("?", Trip), {"action": "maybe"}),
        (Elicit("?", Trip), {"action": "accept", "content": {"goal": "x"}}),
        (Sample("?", max_tokens=1), {"role": "assistant", "content": {}}),
        (ListRoots(), {"roots": [{}]}),
        (ListRoots(), {"roots": 1}),
        (Elicit("?", Trip), 12345),
        (Elicit("?", Trip), {"action": "accept", "content": "x"}),
        (Elicit("?", {"type": "object", "properties": {}}), {"action": "accept", "content": 5}),
        (ElicitUrl("?", "https://example.com"), None),
        (Sample("?", max_tokens=1), ["role"]),
        (ListRoots(), "roots"),
    ],
)
def test_answers_that_are_none(request_: Any, answer: Any) -> None:
    with pytest.raises(InvalidAnswer):
        request_.read(answer)


def test_pydantic_is_not_imported_without_a_model() -> None:
    program = (
        "import sys\nfrom dataclasses import dataclass\nfrom ferromcp import Elicit\n"
        "@dataclass\nclass A:\n    a: int\nElicit('?', A)\nassert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
