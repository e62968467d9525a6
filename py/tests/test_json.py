"""JSON in and out: what has a form, what it is, and how what has none is named."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections import OrderedDict, UserDict
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferromcp import Json, SerializationError
from ferromcp._native import Schema, dumps, loads, validate


class Colour(enum.Enum):
    RED = "red"


class Word(str, enum.Enum):
    ONE = "one"


@dataclasses.dataclass
class Point:
    x: float
    label: str = "p"


class Pair(NamedTuple):
    a: int
    b: int


class Text(str):
    pass


WRITTEN: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (0, "0"),
    (-9223372036854775808, "-9223372036854775808"),
    (9223372036854775808, "9223372036854775808"),
    (10**60, str(10**60)),
    (1.0, "1.0"),
    (-0.0, "-0.0"),
    (0.1, "0.1"),
    (1e300, "1e300"),
    (5e-324, "5e-324"),
    ('a"b\\c\n\r\t\x00\x1f\x7f', r'"a\"b\\c\n\r\t\u0000\u001f' + '\x7f"'),
    ("é€😀\u2028", '"é€😀\u2028"'),
    ("x" * 31 + '"' + "y" * 40, '"' + "x" * 31 + r"\"" + "y" * 40 + '"'),
    ("\ud83d", r'"\ud83d"'),
    ("a\udc00é\n", r'"a\udc00é\n"'),
    ([1, [2.5, "x"], {}], '[1,[2.5,"x"],{}]'),
    ((1, 2), "[1,2]"),
    ({"a": 1, "\ud800": [None]}, r'{"a":1,"\ud800":[null]}'),
    (Text("sub"), '"sub"'),
    (Word.ONE, '"one"'),
    (Colour.RED, '"red"'),
    (Point(1), '{"x":1,"label":"p"}'),
    ([Point(1.5)], '[{"x":1.5,"label":"p"}]'),
    (Pair(1, 2), "[1,2]"),
    ({3}, "[3]"),
    (OrderedDict(a=1), '{"a":1}'),
    (UserDict(a=1), '{"a":1}'),
    (datetime.datetime(2026, 1, 2, 3, 4, 5), '"2026-01-02T03:04:05"'),
    (datetime.date(2026, 1, 2), '"2026-01-02"'),
    (uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (pathlib.PurePosixPath("/a/b"), '"/a/b"'),
    (b"\x00\xff", '"AP8="'),
    (Json('{"a" : [1,\n2]}'), '{"a" : [1, 2]}'),
    ({"raw": Json(b"1.10")}, '{"raw":1.10}'),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_what_is_written(value: Any, text: str) -> None:
    written = dumps(value).decode("utf-8")
    assert written == text
    assert "\n" not in written


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Hidden:
    pass


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


REFUSED: list[tuple[Any, str]] = [
    (math.nan, "result: NaN is not JSON"),
    (-math.inf, "result: -Infinity is not JSON"),
    ({"items": [1, 2, 3, {"price": math.nan}]}, "result.items[3].price: NaN is not JSON"),
    ({"a b": [math.inf]}, 'result["a b"][0]: Infinity is not JSON'),
    ({1: "x"}, "result: key 1 is not a string"),
    ({"k": {None: 1}}, "result.k: key None is not a string"),
    ([Hidden()], "result[0]: Hidden is not JSON"),
    ({"p": Point(math.nan)}, "result.p.x: NaN is not JSON"),
    (decimal.Decimal("NaN"), "result: NaN is not JSON"),
    (1j, "result: complex is not JSON"),
    (deep(121), "nested deeper than 120 levels"),
    (cycle(), "nested deeper than 120 levels"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED)
def test_what_has_no_form_is_named(value: Any, text: str) -> None:
    with pytest.raises(SerializationError) as caught:
        dumps(value, "result")
    assert str(caught.value).endswith(text)
    assert str(caught.value).startswith("result")


def test_a_dict_that_changes_meanwhile() -> None:
    data: dict[str, Any] = {}

    class Grows:
        def model_dump(self, **_: Any) -> int:
            data["more"] = 1
            return 1

    data["a"] = Grows()
    with pytest.raises(SerializationError, match="changed while it was written"):
        dumps(data)


def test_the_deepest_that_is_written() -> None:
    assert loads(dumps(deep(120))) == deep(120)


READ: list[tuple[str, Any]] = [
    ("1.0", 1.0),
    ("1e400", math.inf),
    (str(10**50), 10**50),
    (r'"\ud83d\ude00"', "😀"),
    (r'"a\ud83d"', "a\ud83d"),
    (r'{"\udc00": "\ud800x"}', {"\udc00": "\ud800x"}),
    ("[" * 150 + "]" * 150, None),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_what_is_read(text: str, value: Any) -> None:
    read = loads(text)
    if value is not None:
        assert read == value
        assert type(read) is type(value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{'a':1}", "", "[1,]", "01", "\ufeff1"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)
# Python's own text type has unpaired surrogates; st.text() leaves them out.
ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_categories=()))


@given(JSON_VALUES)
def test_round_trip_and_agreement_with_the_standard_library(value: Any) -> None:
    written = dumps(value)
    assert loads(written) == value
    assert json.loads(written) == value


@given(ANY_TEXT)
def test_any_text(text: str) -> None:
    written = dumps(text).decode("utf-8")
    assert json.loads(written) == json.loads(json.dumps(text))


@given(JSON_VALUES)
def test_reading_agrees_with_the_standard_library(value: Any) -> None:
    text = json.dumps(value)
    assert loads(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", "nan", '{"a":1} x', b"\xff"])
def test_json_that_is_none(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        Json(text)


def test_json_is_a_value() -> None:
    assert bytes(Json("[1]")) == b"[1]"
    assert Json("[1]") == Json(b"[1]")
    assert len({Json("1"), Json("1"), Json("2")}) == 2


SCHEMA = b'{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}'


def test_schemas() -> None:
    schema = Schema(SCHEMA)
    assert schema.is_valid(b'{"a":1}')
    assert schema.validate(b'{"a":1.0}') == []
    ((pointer, sentence),) = schema.validate(b'{"a":"x"}')
    assert pointer == "/a"
    assert "integer" in sentence
    assert validate(SCHEMA, b"{}")[0][0] == ""
    with pytest.raises(ValueError):
        Schema(b'{"type":"nothing"}')
    assert validate(SCHEMA, b"{")[0][0] == ""


def test_schemas_fetch_nothing() -> None:
    with pytest.raises(ValueError):
        Schema(b'{"$ref":"http://127.0.0.1:9/schema.json"}')
