"""Both eras on one process: who speaks which is read from the request alone, and each gets what its revision
has.

The modern revision's own cases D1 (server side) and D8 are here, and what the specification says of `_meta`,
`server/discover`, removed methods and unsupported versions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from checker import MODERN, modern_meta
from conftest import Start
from wire import Wire, text_of

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def raw_request(wire: Wire, method: str, params: dict[str, Any] | None, id: str) -> dict[str, Any]:
    """A request that is not dressed for any era."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    wire.raw(json.dumps(message))
    return wire.answer(id)


@pytest.mark.eras("modern")
@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "server/discover", "resources/list", "logging/setLevel"]
)
@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}])
def test_requests_without_meta_before_initialize(wire: Wire, method: str, params: Any) -> None:
    response = raw_request(wire, method, params, "bare")
    assert response["error"]["code"] == -32602, response


@pytest.mark.engine
@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
def test_meta_with_a_required_field_missing(start: Start, server: str, missing: str) -> None:
    wire = start(server, "modern", open=False)
    meta = {name: value for name, value in modern_meta().items() if name != missing}
    response = raw_request(wire, "tools/list", {"_meta": meta}, "part")
    assert response["error"]["code"] == -32602, response


@pytest.mark.eras("modern")
@pytest.mark.parametrize(
    "wrong", [{VERSION: 5}, {VERSION: None}, {CAPABILITIES: []}, {CAPABILITIES: "none"}, {CAPABILITIES: None}]
)
def test_meta_of_a_wrong_type(wire: Wire, wrong: dict[str, Any]) -> None:
    response = raw_request(wire, "tools/list", {"_meta": {**modern_meta(), **wrong}}, "wrong")
    assert response["error"]["code"] == -32602, response


@pytest.mark.eras("modern")
def test_client_info_is_optional(wire: Wire) -> None:
    meta = modern_meta()
    del meta["io.modelcontextprotocol/clientInfo"]
    assert "result" in raw_request(wire, "tools/list", {"_meta": meta}, "anonymous")


@pytest.mark.parametrize("version", ["2099-01-01", "1900-01-01", "", "DRAFT"])
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "tools/call"])
def test_d2_unsupported_version_names_what_is_supported(wire: Wire, version: str, method: str) -> None:
    params = {"_meta": {**modern_meta(), VERSION: version}, "name": "echo", "arguments": {"text": "x"}}
    response = raw_request(wire, method, params, "future")
    error = response["error"]
    assert error["code"] == -32022, error
    assert MODERN in error["data"]["supported"]
    assert error["data"]["requested"] == version


REMOVED = {
    "ping": {},
    "logging/setLevel": {"level": "info"},
    "resources/subscribe": {"uri": "mem://greeting"},
    "resources/unsubscribe": {"uri": "mem://greeting"},
    "tasks/list": {},
}


@pytest.mark.eras("modern")
@pytest.mark.parametrize("method", REMOVED)
def test_methods_that_left_the_modern_revision(wire: Wire, method: str) -> None:
    assert wire.error(method, REMOVED[method], valid=False)["code"] == -32601


@pytest.mark.eras("legacy")
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_methods_that_legacy_revisions_lack(wire: Wire, method: str) -> None:
    assert wire.error(method, {"notifications": {}}, valid=False)["code"] == -32601


@pytest.mark.eras("modern")
def test_d1_discover(wire: Wire) -> None:
    result = wire.result("server/discover")
    assert MODERN in result["supportedVersions"]
    assert {"tools", "resources", "prompts"} <= set(result["capabilities"])
    assert result["instructions"] == "A small server for tests."
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"


@pytest.mark.engine
def test_d1_unknown_first_request_is_answered(server: str, start: Start) -> None:
    """A client that probes with something unheard of gets an error and a living process."""
    wire = start(server, open=False)
    response = raw_request(wire, "future/probe", {"x": 1}, "probe")
    assert response["error"]["code"] in (-32601, -32602)
    wire.open()
    assert text_of(wire.call("echo", text="x")) == "x"


def test_d8_results_are_dressed_for_their_era(wire: Wire) -> None:
    """`resultType`, cache hints and server info for modern peers only. The harness holds every line to that
    too.
    """
    cacheable = [
        wire.result("tools/list"),
        wire.result("prompts/list"),
        wire.result("resources/list"),
        wire.result("resources/templates/list"),
        wire.result("resources/read", {"uri": "mem://greeting"}),
    ]
    others = [
        wire.call("echo", text="x"),
        wire.result("prompts/get", {"name": "ask", "arguments": {"topic": "x"}}),
    ]
    for result in cacheable + others:
        if wire.modern:
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"
        else:
            assert "io.modelcontextprotocol/serverInfo" not in result.get("_meta", {})
    for result in cacheable:
        if wire.modern:
            assert type(result["ttlMs"]) is int
            assert result["ttlMs"] >= 0
            assert result["cacheScope"] in ("public", "private")


def test_both_eras_at_once_on_one_process(server: str, start: Start) -> None:
    """A modern request amid a legacy session, and the other way round."""
    legacy = start(server, "legacy", open=False)
    modern = Wire(legacy.process, MODERN)
    modern._last_id = 1_000_000
    modern.checker = legacy.checker
    assert text_of(modern.call("echo", text="before the handshake")) == "before the handshake"
    legacy.open()
    assert "resultType" not in legacy.call("echo", text="legacy")
    assert modern.call("echo", text="modern")["resultType"] == "complete"
    assert legacy.result("ping") == {}
    assert modern.error("ping", valid=False)["code"] == -32601
    ids = [(wire, wire.start("slow", ms=30)) for wire in (legacy, modern, legacy, modern)]
    answers = {}
    for _ in ids:
        response = legacy.receive()
        answers[response["id"]] = response["result"]
    for wire, id in ids:
        assert ("resultType" in answers[id]) == wire.modern


@pytest.mark.engine
def test_capabilities_are_read_from_each_request(server: str, start: Start) -> None:
    """Nothing is inferred from an earlier request on the same connection."""
    wire = start(server, "modern")
    wire.capabilities = {"elicitation": {}, "sampling": {}}
    wire.call("echo", text="x")
    wire.capabilities = {}
    assert text_of(wire.call("echo", text="x")) == "x"
