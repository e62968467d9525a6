"""D4, D5, D6: what a modern request's headers have to say of its body (2026-07-28
`basic/transports/streamable-http`, "Request Metadata", "Server Validation").
"""

from __future__ import annotations

from pathlib import Path

import pytest
from checker import MODERN, Json, Message
from http_peer import STREAM, Endpoint, Peer, encode, refused, sentinel
from http_wire import Response, request_bytes

MISMATCH = -32020
UNSUPPORTED = -32022
VERSION = "MCP-Protocol-Version"
Rows = dict[str, str | bytes | None]


@pytest.fixture
def peer(http_server: Endpoint) -> Peer:
    return http_server.peer("modern")


def echo(peer: Peer) -> Message:
    return peer.call_message("echo", text="x")


def accepted(peer: Peer, response: Response) -> Message:
    """The headers were found in order: the answer is about something else, if it is an error."""
    answer = peer.last(response)
    assert answer.get("error", {}).get("code") != MISMATCH, answer
    return answer


def mismatched(response: Response, message: Message) -> None:
    refused(response, 400, MISMATCH, id=message["id"])


@pytest.mark.parametrize(
    "rows",
    [
        {VERSION: None},
        {VERSION: "2025-11-25"},
        {VERSION: "1900-01-01"},
        {VERSION: ""},
        {VERSION: "2026-07-28, 2026-07-28"},
        {"Mcp-Method": None},
        {"Mcp-Method": ""},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "Tools/Call"},
        {"Mcp-Method": "tools /call"},
        {"Mcp-Method": "tools/call;x"},
        {"Mcp-Method": '"tools/call"'},
        {"Mcp-Method": sentinel(b"tools/call")},
        {"Mcp-Method": b"tools/call\xe4"},
        {"Mcp-Name": None},
        {"Mcp-Name": ""},
        {"Mcp-Name": "add"},
        {"Mcp-Name": "Echo"},
        {"Mcp-Name": "echo, echo"},
        {"Mcp-Name": b"echo\xff"},
        {"Mcp-Name": "\u0435cho"},
    ],
    ids=str,
)
def test_d4_headers_that_do_not_say_what_the_body_says(peer: Peer, rows: Rows) -> None:
    message = echo(peer)
    mismatched(peer.post(message, rows), message)


@pytest.mark.parametrize(
    "rows", [{VERSION: "2025-11-25"}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": "echo"}], ids=str
)
def test_d4_what_is_refused_has_no_effect(peer: Peer, rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    message = peer.call_message("count", path=str(path), ms=10)
    mismatched(peer.post(message, rows), message)
    peer.alive()
    assert not path.exists()


@pytest.mark.parametrize(
    "rows",
    [
        {"mcp-PROTOCOL-version": MODERN},
        {"MCP-METHOD": "tools/call"},
        {"mcp-name": "echo"},
        {"Mcp-Method": " \t tools/call \t "},
        {"Mcp-Name": "  echo  "},
        {"Mcp-Name": sentinel(b"echo")},
        {"Mcp-Other": "unknown", "Mcp-Param-Unknown": "x"},
    ],
    ids=str,
)
def test_d4_headers_that_do(peer: Peer, rows: Rows) -> None:
    """Names have no case, and the space around a value is no part of it (RFC 9110, 5.1 and 5.5)."""
    assert "result" in accepted(peer, peer.post(echo(peer), rows))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "echo", "arguments": {"text": "x"}}),
        ("prompts/get", {"name": "ask", "arguments": {"topic": "x"}}),
        ("resources/read", {"uri": "mem://greeting"}),
    ],
)
def test_d4_methods_that_need_a_name(peer: Peer, method: str, params: Message) -> None:
    assert "result" in accepted(peer, peer.post(peer.message(method, params)))
    for wrong in (None, "other"):
        message = peer.message(method, params)
        mismatched(peer.post(message, {"Mcp-Name": wrong}), message)


@pytest.mark.parametrize("method", ["tools/list", "server/discover", "resources/list", "prompts/list"])
def test_d4_methods_that_need_none(peer: Peer, method: str) -> None:
    message = peer.message(method)
    assert "result" in accepted(peer, peer.post(message))
    mismatched(peer.post(message, {"Mcp-Method": None}), message)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Mcp-Method", ("tools/call", "tools/list")),
        ("Mcp-Method", ("tools/list", "tools/call")),
        ("Mcp-Name", ("echo", "add")),
        ("Mcp-Name", ("add", "echo")),
        (VERSION, (MODERN, "2025-11-25")),
        (VERSION, ("2025-11-25", MODERN)),
    ],
)
def test_d4_two_headers_that_contradict_each_other(
    http_server: Endpoint, peer: Peer, name: str, values: tuple[str, str]
) -> None:
    """Whoever stands before the server may have looked at the one, and so the other must not count."""
    message = echo(peer)
    rows: list[tuple[str, str | bytes]] = [("Host", http_server.host)]
    rows += [
        (key, value) for key, value in peer.headers(message).items() if value is not None and key != name
    ]
    rows += [(name, value) for value in values]
    with http_server.connect() as connection:
        connection.send(request_bytes("POST", http_server.path, rows, encode(message)))
        mismatched(connection.response(), message)


def test_d4_a_version_that_nobody_has(peer: Peer) -> None:
    """Both say it, so it is no mismatch; the answer says which there are."""
    message = echo(peer)
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01"
    error = refused(peer.post(message, {VERSION: "1900-01-01"}), 400, UNSUPPORTED, id=message["id"])
    assert MODERN in error["data"]["supported"]
    assert error["data"]["requested"] == "1900-01-01"


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_d4_a_body_without_what_each_request_carries(peer: Peer, missing: str) -> None:
    """`basic/index`, "_meta": -32602, status 400. Without its version it does not match the header either."""
    message = echo(peer)
    del message["params"]["_meta"][f"io.modelcontextprotocol/{missing}"]
    response = peer.post(message)
    assert response.status == 400
    code = response.json()["error"]["code"]
    assert code == -32602 or (missing == "protocolVersion" and code == MISMATCH)


def test_d3_a_client_need_not_say_who_it_is(peer: Peer) -> None:
    message = echo(peer)
    del message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]
    assert "result" in accepted(peer, peer.post(message))


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("w\u00e4hle", None),
        ("\u4e16\u754c", None),
        (" padded ", None),
        ("line1\nline2", None),
        ("\x7f", None),
        ("=?base64?eA==?=", None),
        ("=?base64??=", None),
        ("inner space", None),
        # The markers have a case, and both have to be there.
        ("=?BASE64?eA==?=", "=?BASE64?eA==?="),
        ("=?base64?eA==", "=?base64?eA=="),
        ("eA==?=", "eA==?="),
    ],
)
def test_d5_names_that_match(peer: Peer, name: str, header: str | None) -> None:
    """No such tool, and no mismatch."""
    response = peer.post(peer.call_message(name), {} if header is None else {"Mcp-Name": header})
    answer = accepted(peer, response)
    assert answer.get("error", {}).get("code") == -32602 or answer["result"]["isError"]


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("x", "=?BASE64?eA==?="),
        ("=?base64?eA==?=", "=?base64?eA==?="),
        ("echo", "=?base64?****?="),
        ("echo", "=?base64?ZWNobw?x?="),
        ("echo", "=?base64??="),
        ("echo", sentinel(b"echo\n")),
        ("echo", sentinel(b"ech\xff")),
        ("\ufffd", sentinel(b"\xff")),
        ("echo", sentinel(sentinel(b"echo").encode())),
        ("w\u00e4hle", "w\u00e4hle".encode()),
        ("w\u00e4hle", "w\u00e4hle".encode("latin-1")),
    ],
)
def test_d5_names_that_do_not(peer: Peer, name: str, header: str | bytes) -> None:
    message = peer.call_message(name)
    mismatched(peer.post(message, {"Mcp-Name": header}), message)


@pytest.mark.parametrize("uri", ["mem://item/\u4e16\u754c", "mem://item/x y", "mem://item/1"])
def test_d5_uris(peer: Peer, uri: str) -> None:
    """The name of a resource is its URI, as the body has it: nothing of it is decoded or made simple."""
    accepted(peer, peer.post(peer.message("resources/read", {"uri": uri})))
    message = peer.message("resources/read", {"uri": uri})
    mismatched(peer.post(message, {"Mcp-Name": uri.encode("ascii", "ignore").decode() + "%20"}), message)


# Parameters.


def test_d6_the_list_says_which_parameters(peer: Peer) -> None:
    (tool,) = [tool for tool in peer.result("tools/list")["tools"] if tool["name"] == "route"]
    assert tool["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"


MATCHING: list[tuple[Json, Rows]] = [
    ({}, {}),
    ({"text": "only"}, {}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
    ({"region": "us-west1"}, {"mcp-param-REGION": "us-west1"}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": sentinel(b"us-west1")}),
    ({"region": "Hello, \u4e16\u754c"}, {"Mcp-Param-Region": "=?base64?SGVsbG8sIOS4lueVjA==?="}),
    ({"region": " padded "}, {"Mcp-Param-Region": "=?base64?IHBhZGRlZCA=?="}),
    ({"region": "line1\nline2"}, {"Mcp-Param-Region": "=?base64?bGluZTEKbGluZTI=?="}),
    ({"region": "=?base64?literal?="}, {"Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}),
    ({"region": ""}, {"Mcp-Param-Region": ""}),
    ({"region": None}, {}),
    ({"count": 42}, {"Mcp-Param-Count": "42"}),
    ({"count": 42}, {"Mcp-Param-Count": "42.0"}),
    ({"count": -7}, {"Mcp-Param-Count": "-7"}),
    ({"count": 9007199254740991}, {"Mcp-Param-Count": "9007199254740991"}),
    ({"dry": True}, {"Mcp-Param-Dry": "true"}),
    ({"dry": False}, {"Mcp-Param-Dry": "false"}),
    (
        {"region": "a", "count": 0, "dry": False},
        {"Mcp-Param-Region": "a", "Mcp-Param-Count": "0", "Mcp-Param-Dry": "false"},
    ),
    ({"text": "x"}, {"Mcp-Param-Text": "y"}),
]


@pytest.mark.parametrize(("arguments", "rows"), MATCHING, ids=str)
def test_d6_parameters_that_match(peer: Peer, arguments: Json, rows: Rows) -> None:
    accepted(peer, peer.post(peer.call_message("route", **arguments), rows))


DIFFERENT: list[tuple[Json, Rows]] = [
    ({"region": "us-west1"}, {}),
    ({"count": 42}, {}),
    ({"dry": False}, {}),
    ({"region": ""}, {}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west2"}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": "US-WEST1"}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": ""}),
    ({"region": "42"}, {"Mcp-Param-Region": "42.0"}),
    ({"region": "true"}, {"Mcp-Param-Region": "True"}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": "=?base64?!!!?="}),
    ({"region": "us-west1"}, {"Mcp-Param-Region": sentinel(b"us-west1\xff")}),
    ({"region": "=?base64?eA==?="}, {"Mcp-Param-Region": "=?base64?eA==?="}),
    ({"region": "w\u00e4hle"}, {"Mcp-Param-Region": "w\u00e4hle".encode()}),
    ({"region": "w\u00e4hle"}, {"Mcp-Param-Region": "w\u00e4hle".encode("latin-1")}),
    ({"region": "a", "count": 1}, {"Mcp-Param-Region": "a"}),
    ({"count": 42}, {"Mcp-Param-Count": "43"}),
    ({"count": 42}, {"Mcp-Param-Count": "forty-two"}),
    ({"count": 42}, {"Mcp-Param-Count": "42.5"}),
    ({"count": 42}, {"Mcp-Param-Count": ""}),
    ({"count": 0}, {"Mcp-Param-Count": "false"}),
    ({"count": 9007199254740991}, {"Mcp-Param-Count": "9007199254740990"}),
    # Equal to a machine that has but doubles.
    ({"count": 9007199254740993}, {"Mcp-Param-Count": "9007199254740992"}),
    ({"dry": True}, {"Mcp-Param-Dry": "True"}),
    ({"dry": True}, {"Mcp-Param-Dry": "1"}),
    ({"dry": True}, {"Mcp-Param-Dry": "false"}),
    ({}, {"Mcp-Param-Region": "us-west1"}),
    ({"region": None}, {"Mcp-Param-Region": "null"}),
]


@pytest.mark.parametrize(("arguments", "rows"), DIFFERENT, ids=str)
def test_d6_parameters_that_do_not(peer: Peer, arguments: Json, rows: Rows) -> None:
    message = peer.call_message("route", **arguments)
    mismatched(peer.post(message, rows), message)


@pytest.mark.carriers("native", "asgi", "handler")
def test_d6_a_parameter_inside_of_another(peer: Peer) -> None:
    accepted(peer, peer.post(peer.call_message("route", place={"zone": "z"}), {"Mcp-Param-Zone": "z"}))
    accepted(peer, peer.post(peer.call_message("route", place={})))
    # A parameter of that name elsewhere is another one.
    accepted(peer, peer.post(peer.call_message("route", zone="z")))
    for rows in ({}, {"Mcp-Param-Zone": "y"}):
        message = peer.call_message("route", place={"zone": "z"})
        mismatched(peer.post(message, rows), message)


def test_d6_a_parameter_twice(http_server: Endpoint, peer: Peer) -> None:
    message = peer.call_message("route", region="a")
    for values in (("a", "b"), ("b", "a")):
        rows: list[tuple[str, str | bytes]] = [("Host", http_server.host)]
        rows += [(key, value) for key, value in peer.headers(message).items() if value is not None]
        rows += [("Mcp-Param-Region", value) for value in values]
        with http_server.connect() as connection:
            connection.send(request_bytes("POST", http_server.path, rows, encode(message)))
            mismatched(connection.response(), message)


def test_d6_legacy_requests_repeat_nothing(http_server: Endpoint) -> None:
    peer = http_server.peer("legacy")
    assert "result" in peer.ask("tools/call", {"name": "route", "arguments": {"region": "a"}})
    for rows in ({"Mcp-Param-Region": "b"}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": "add"}):
        assert "result" in peer.last(peer.post(peer.call_message("route", region="a"), rows))


def test_d4_a_get_of_the_modern_era(http_server: Endpoint) -> None:
    """There are no GET streams in it."""
    rows: Rows = {"Accept": STREAM, VERSION: MODERN}
    assert http_server.send("GET", rows).status in (400, 405)
    assert http_server.send("DELETE", rows).status in (400, 405)


def test_c20_a_session_header_is_nothing_to_a_modern_request(peer: Peer) -> None:
    response = peer.post(echo(peer), {"Mcp-Session-Id": "of-yesterday", "Last-Event-ID": "7"})
    assert response.status == 200
    assert response.header("mcp-session-id") is None
    assert "result" in peer.last(response)
