"""What belongs to one client and to none of its requests, over HTTP: `_native.Server` as adapters use it."""

from __future__ import annotations

import pytest

from conftest import Serve
from httppeer import Response, reached

PROGRAM = """
import json
from ferromcp import _native, _run

native = _native.Server(json.dumps({
    "info": {"name": "delegated", "version": "1"},
    "catalogue": "delegated",
    "capabilities": {"tools": {}, "logging": {}},
}))

async def serve(call):
    if call.method == "initialize":
        info = {"name": "delegated", "version": "1"}
        return {"protocolVersion": call.protocol_version, "capabilities": {}, "serverInfo": info}
    what = call.name
    if what == "log":
        sent = native.log_stream(call.stream, "info", call.client_info["name"])
    elif what == "notify":
        sent = native.notify_stream(call.stream, "notifications/tools/list_changed")
    else:
        try:
            sent = json.loads(await native.request(call.stream, "roots/list", timeout=20))["roots"]
        except Exception as error:
            sent = type(error).__name__
    return {"content": [{"type": "text", "text": json.dumps(sent)}]}

native.set_delegate(serve)
native.set_stream_handler(lambda stream, what: print(stream, what, flush=True))
native.set_notification_handler(lambda stream, method, params: print(stream, method, flush=True))
_run.run(native, _run.Options(http=b'{"port":0}'), on_loop=True)
"""


def test_each_session_is_told_and_asked_by_itself(run_file: Serve) -> None:
    """2025-11-25 `basic/transports`, "Listening for Messages from the Server": the session's GET stream."""
    process = run_file(PROGRAM)
    peer = reached(process)
    sessions = [peer.session(name, {"roots": {}}) for name in ("one", "two")]
    lines = [process.line() for _ in sessions]
    streams = [line.split()[0] for line in lines if line is not None]
    assert len(set(streams)) == 2
    assert lines == [stream + b" initialized\n" for stream in streams]
    gets = [session.listen().messages() for session in sessions]
    for session, get, name in reversed(list(zip(sessions, gets, ("one", "two"), strict=True))):
        assert session.call("log").text() == "true"
        assert next(get)["params"]["data"] == name
        assert session.call("notify").text() == "true"
        assert next(get)["method"] == "notifications/tools/list_changed"
    calls = [peer.begin("ask", {}, session) for session in sessions]
    for session, get, name in zip(sessions, gets, ("one", "two"), strict=True):
        question = next(get)
        assert question["method"] == "roots/list"
        roots = {"roots": [{"uri": f"file:///{name}"}]}
        assert session.post({"jsonrpc": "2.0", "id": question["id"], "result": roots}).status == 202
    assert [Response(call, call.getresponse()).text() for call in calls] == [
        '[{"uri": "file:///one"}]',
        '[{"uri": "file:///two"}]',
    ]
    notification = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
    assert sessions[1].post(notification).status == 202
    assert process.line() == streams[1] + b" notifications/roots/list_changed\n"


@pytest.mark.parametrize("name", ["log", "notify"])
def test_a_modern_client_is_told_nothing_outside_of_its_requests(run_file: Serve, name: str) -> None:
    peer = reached(run_file(PROGRAM))
    assert peer.call(name).text() == "false"


def test_a_modern_client_is_not_asked_outside_of_its_requests(run_file: Serve) -> None:
    peer = reached(run_file(PROGRAM))
    assert peer.call("ask").text() == '"NoBackChannel"'
