"""Cases E5 to E7 and E10 to E12: what becomes of arguments and results, their schemas and their numbers."""

from __future__ import annotations

from typing import Any

import pytest
from wire import Wire, failed, text_of

jsonschema = pytest.importorskip("jsonschema")


def tool(wire: Wire, name: str) -> dict[str, Any]:
    (found,) = [tool for tool in wire.result("tools/list")["tools"] if tool["name"] == name]
    result: dict[str, Any] = found
    return result


def test_e5_recursive_schema_keeps_its_definitions(wire: Wire) -> None:
    schema = tool(wire, "tree")["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"node": {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}}
    jsonschema.Draft202012Validator(schema).validate(good)
    assert text_of(wire.result("tools/call", {"name": "tree", "arguments": good})) == "6"
    bad = {"node": {"value": 1, "children": [{"value": 2, "children": [{"value": "three"}]}]}}
    assert failed(wire.result("tools/call", {"name": "tree", "arguments": bad}))


def test_e5_recursion_in_the_data_ends(wire: Wire) -> None:
    """As deep as a message may be and no deeper: a result or an error, and the connection lives."""
    node: dict[str, Any] = {"value": 1}
    for _ in range(60):
        node = {"value": 1, "children": [node]}
    response = wire.ask("tools/call", {"name": "tree", "arguments": {"node": node}})
    assert "error" in response or failed(response["result"]) or text_of(response["result"]) == "61"
    wire.alive()


@pytest.mark.parametrize(
    ("arguments", "expected"), [({}, None), ({"text": None}, None), ({"text": "x"}, "x"), ({"text": ""}, "")]
)
def test_e6_optional_and_null(wire: Wire, arguments: dict[str, Any], expected: str | None) -> None:
    declared = tool(wire, "optional")
    jsonschema.Draft202012Validator(declared["inputSchema"]).validate(arguments)
    result = wire.result("tools/call", {"name": "optional", "arguments": arguments})
    assert not failed(result)
    if "structuredContent" in result:
        assert result["structuredContent"] == {"text": expected}


def test_e6_structured_content_fits_the_schema_that_announces_it(wire: Wire) -> None:
    """For each tool that declares an output schema and can be called simply."""
    calls: dict[str, dict[str, Any]] = {
        "add": {"a": 1, "b": 2},
        "echo": {"text": "x"},
        "optional": {},
        "bigint": {},
        "noargs": {},
        "person": {"user": {"name": "Ada"}},
        "tree": {"node": {"value": 1}},
        "same": {"value": [1, None, "x"]},
    }
    for name, arguments in calls.items():
        declared = tool(wire, name).get("outputSchema")
        result = wire.result("tools/call", {"name": name, "arguments": arguments})
        assert not failed(result), (name, result)
        assert ("structuredContent" in result) >= (declared is not None), (name, result)
        if declared is not None:
            jsonschema.Draft202012Validator(declared).validate(result["structuredContent"])


def test_e7_result_that_its_own_schema_forbids(wire: Wire, server: str) -> None:
    """A server has to conform: what does not is a tool error. Another library's server may do as that library
    does.
    """
    result = wire.call("mismatch")
    if server == "native":
        assert failed(result)
        assert "n" in text_of(result)
    assert failed(result) or "usable text" in text_of(result)


NUMBERS = [
    "2047948614742839297",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "123456789012345678901234567890",
    "0",
    "-0.0",
    "0.1",
    "1.0",
    "1e-7",
    "3.141592653589793",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_e10_numbers_keep_their_digits(wire: Wire, server: str, number: str) -> None:
    frame = wire.call_frame("same", {"value": "PLACE"}, id="number")
    wire.tamper(frame, b'"PLACE"', number.encode())
    response = wire.answer("number")
    got = response["result"]["structuredContent"]["value"]
    expected = float(number) if any(mark in number for mark in ".e") else int(number)
    if server == "node" and expected == int(expected):
        # JavaScript has one kind of number, in which 1.0 and 1 are the same.
        expected, got = int(expected), int(got)
    assert (type(got), repr(got)) == (type(expected), repr(expected))


def test_e10_a_number_beyond_every_float(wire: Wire) -> None:
    """JSON has 1e400, IEEE has not: an error or the number itself, never `Infinity`, which the harness would
    refuse.
    """
    frame = wire.call_frame("same", {"value": "PLACE"}, id="number")
    wire.tamper(frame, b'"PLACE"', b"1e400")
    wire.answer("number")
    wire.alive()


def test_e10_integer_beyond_64_bits_as_a_result(wire: Wire) -> None:
    result = wire.call("bigint")
    assert text_of(result) == str(2**80)
    # Bare, as the modern revision allows, or wrapped into an object, as the older ones want it.
    assert result.get("structuredContent", 2**80) in (2**80, {"result": 2**80})


@pytest.mark.parametrize("text", ['{"a":1}', "[1,2]", "null", "true", "42", '"quoted"', "1e3", ""])
def test_e11_text_that_looks_like_json_stays_text(wire: Wire, text: str) -> None:
    assert text_of(wire.call("echo", text=text)) == text


def test_e11_stringified_object(wire: Wire, server: str) -> None:
    result = wire.call("person", user='{"name":"Ada","age":36}')
    # MCPServer decodes such strings for clients that send them; nobody else guesses.
    assert failed(result) or ("mcpserver" in server and text_of(result) == "Ada is 36")
    assert text_of(wire.call("person", user={"name": "Ada", "age": 36})) == "Ada is 36"


def test_e12_arguments_missing_or_null(wire: Wire) -> None:
    assert text_of(wire.result("tools/call", {"name": "noargs"})) == "nothing"
    assert text_of(wire.result("tools/call", {"name": "noargs", "arguments": {}})) == "nothing"
    response = wire.ask("tools/call", {"name": "noargs", "arguments": None}, valid=False)
    assert response.get("error", {}).get("code") == -32602 or text_of(response["result"]) == "nothing"


@pytest.mark.parametrize(
    "value", [None, True, [], {}, "", [[[]]], {"": {"": ""}}, "\x00\x1f\x7f", "\u2028\u2029"]
)
def test_values_come_back_as_they_went(wire: Wire, value: Any) -> None:
    result = wire.call("same", value=value)
    assert result["structuredContent"] == {"value": value}
    # One line, whatever separators the text holds: the harness has already split at newlines only.
    assert wire.last_line.count(b"\n") == 0


def test_large_objects_in_both_directions(wire: Wire) -> None:
    value = {f"key {i}": [i, str(i), {"deep": [None, True, i / 7]}] for i in range(3000)}
    assert wire.call("same", value=value)["structuredContent"] == {"value": value}
