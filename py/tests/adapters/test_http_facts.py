"""What apps of other SDKs see of HTTP: their request, their session, who asks; and headers that repeat
arguments. Beside the stock servers, by the listener of our own and under uvicorn.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rawpeer import SERVERS, Message
from test_same_over_http import command

from httppeer import HttpPeer, Response, Session, reached
from support import Peer

OWN = {"X-Own": "mine", "Authorization": "Bearer secret"}
FASTMCP, MCPSERVER = (
    [(app, by) for by in ("stock", "native", "asgi")] for app in ("facts_fastmcp.py", "facts_mcpserver.py")
)


@pytest.fixture(scope="module", params=FASTMCP + MCPSERVER, ids=str)
def peer(request: pytest.FixtureRequest) -> Iterator[HttpPeer]:
    """A client of one app, carried in one of the ways."""
    app, by = request.param
    road = None if by != "native" else "direct" if "fastmcp" in app else "handler"
    with Peer(*command(app, by, road), cwd=SERVERS) as process:
        yield reached(process)


def value(response: Response) -> object:
    """What a tool has returned."""
    return response.result()["structuredContent"].get("result")


def called(peer: HttpPeer, session: Session | None, tool: str, **arguments: str) -> Message:
    """The result of a call that has headers of its own."""
    params: Message = {"name": tool, "arguments": arguments}
    if session is None:
        return dict(peer.modern("tools/call", params, OWN).result())
    headers = {**session.headers, **OWN}
    return dict(peer.post(peer.request("tools/call", params), headers).result())


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_request_that_a_call_came_in(peer: HttpPeer, era: str) -> None:
    session = peer.session() if era == "legacy" else None
    for _ in range(2):
        assert called(peer, session, "headers")["structuredContent"] == {"x-own": "mine"}
        seen = called(peer, session, "request")["structuredContent"]["result"]
        assert seen == ["POST", "/mcp", "mine", "Bearer secret"]
        *_, known = called(peer, session, "session")["structuredContent"]["result"]
        assert known
        assert called(peer, session, "token")["structuredContent"] == {"result": None}


@pytest.mark.parametrize("peer", FASTMCP, ids=str, indirect=True)
def test_state_belongs_to_a_session(peer: HttpPeer) -> None:
    """Of an app that keeps some."""
    one, two = peer.session(), peer.session()
    one.call("remember", {"value": "1"}).result()
    two.call("remember", {"value": "2"}).result()
    assert [value(session.call("recall")) for session in (one, two, one)] == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Param-Region": "eu"}, 200),
        ({"Mcp-Param-Region": "us"}, 400),
        ({}, 400),
    ],
)
def test_headers_that_repeat_arguments(peer: HttpPeer, headers: dict[str, str], status: int) -> None:
    """2026-07-28 `basic/transports/streamable-http`, "Server Behavior for Custom Headers"."""
    for _ in range(2):
        answer = peer.call("place", {"region": "eu"}, headers=headers)
        assert answer.status == status
        if status == 200:
            assert answer.text() == "eu"
        else:
            assert answer.json()["error"]["code"] == -32020
    # Nothing has to be repeated in the other era.
    assert peer.session().call("place", {"region": "eu"}).text() == "eu"
