"""Every road gives the answers of the stock server, in both eras.

The same file is run by its own SDK and by us, asked the same requests in the same order, and everything that
comes back is compared as JSON.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from rawpeer import Message, RawPeer, ours, stock
from table import BUNDLED, FASTMCP, LOWLEVEL, MCPSERVER, MIDDLEWARE, WATCHING, Row

TABLES: dict[str, list[Row]] = {
    "compared_mcpserver.py": MCPSERVER,
    "compared_fastmcp.py": FASTMCP,
    "compared_middleware.py": MIDDLEWARE,
    "compared_watching.py": WATCHING,
    "compared_bundled.py": BUNDLED,
    "compared_lowlevel.py": LOWLEVEL,
}
# Codes that the modern era has retired (2026-07-28 basic/index, "Error Codes"). The stock servers send them;
# the engine puts the general one in their place.
RETIRED = range(-32019, -31999)
INTERNAL_ERROR = -32603
CASES = [
    (server, road, era)
    for server, roads in {
        "compared_mcpserver.py": ("handler", "dispatcher", "streams"),
        "compared_fastmcp.py": ("direct", "middleware", "handler", "dispatcher", "streams"),
        "compared_middleware.py": ("middleware", "handler", "dispatcher", "streams"),
        "compared_watching.py": ("middleware", "handler"),
        "compared_bundled.py": ("middleware", "handler"),
        "compared_lowlevel.py": ("handler", "dispatcher", "streams"),
    }.items()
    for road in roads
    for era in ("legacy", "modern")
]


def transcript(command: list[str], era: str, table: list[Row]) -> dict[str, list[Message]]:
    """What a server answers to each row, opening first."""
    with RawPeer(command, era) as peer:
        if era == "legacy":
            found = {"opening": peer.handshake()}
        else:
            found = {"opening": peer.request("server/discover", None, 0)}
        for number, (label, method, params) in enumerate(table, 1):
            found[f"{number} {label}"] = peer.request(method, params, number)
        return found


@cache
def expected(server: str, era: str) -> dict[str, list[Message]]:
    return transcript(stock(server), era, TABLES[server])


def comparable(messages: list[Message], era: str) -> list[Any]:
    """A transcript without what differs from run to run, and what the specification forbids."""
    found = []
    for message in messages:
        # The stock servers send these to modern peers that did not subscribe; the specification forbids it.
        if era == "modern" and str(message.get("method")).endswith("/list_changed"):
            continue
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict) and "requestState" in result:
            message = {**message, "result": {**result, "requestState": "sealed"}}
        if era == "modern" and isinstance(error, dict) and error["code"] in RETIRED:
            message = {**message, "error": {**error, "code": INTERNAL_ERROR}}
        found.append(message)
    return found


@pytest.mark.parametrize(("server", "road", "era"), CASES)
def test_answers_are_those_of_the_stock_server(server: str, road: str, era: str) -> None:
    found = transcript(ours(server, "--road", road), era, TABLES[server])
    wanted = expected(server, era)
    assert list(found) == list(wanted)
    different = {
        label: (comparable(wanted[label], era), comparable(found[label], era))
        for label in wanted
        if comparable(wanted[label], era) != comparable(found[label], era)
    }
    assert different == {}
