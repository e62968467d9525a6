"""How a call that asks ends: run again, cancelled, or with its client gone."""

from __future__ import annotations

import pytest

from asked import ERAS, Client, accept, everything
from conftest import Serve
from test_asking import EACH_ERA, KINDS, tool

# Says what becomes of a question that nobody answers, where `except Exception` must not see it.
WATCHED = """\
try:
    print('asking', file=sys.stderr)
    <ctx.elicit('Who?', Who)>
    print('answered', file=sys.stderr)
    return 'answered'
except Exception as error:
    print('caught', repr(error), file=sys.stderr)
    return 'caught'
finally:
    print('left', ctx.cancel_reason, file=sys.stderr)"""


@KINDS
def test_a_replayed_function_is_unwound_and_says_nothing(serve: Serve, kind: str) -> None:
    client = Client(serve(tool(kind, WATCHED)), "modern")
    client.peer.answer(client.begin_call("ask"))
    client.peer.hears(b"left the client is asked for input")
    assert client.peer.finish() == 0
    assert client.peer.unasked() == []
    assert client.peer.line() is None, "one answer, and nothing behind it"
    assert client.peer.stderr.count(b"\n") == 2, "asked and left, and no traceback"


@KINDS
def test_a_function_that_swallows_everything_is_not_heard(serve: Serve, kind: str) -> None:
    body = """\
count()
try: <ctx.elicit('Who?', Who)>
except BaseException: return 'swallowed'
return str(runs)"""
    assert Client(serve(tool(kind, body)), "modern").call("ask", accept(name="Ada")).text == "2"


@EACH_ERA
@KINDS
def test_a_call_is_cancelled_while_it_waits(serve: Serve, era: str, kind: str) -> None:
    client = Client(serve(tool(kind, WATCHED, "reentry='held'")), era)
    key = client.begin_call("ask")
    if era == "modern":
        # The request is answered, so that there is none to cancel; the call waits until its time is over.
        assert client.peer.answer(key)["result"]["resultType"] == "input_required"
        client.peer.close()
        client.peer.hears(b"left the client has closed its side")
    else:
        question = client.peer.message()
        client.peer.notify("notifications/cancelled", requestId=key, reason="enough")
        client.peer.hears(b"left enough")
        taken_back = client.peer.message()
        assert taken_back["params"]["requestId"] == question["id"]
        client.peer.close()
    assert client.peer.ended() == 0
    assert b"caught" not in client.peer.stderr
    assert client.peer.line() is None


@KINDS
def test_a_held_call_is_over_when_its_client_does_not_come_back(serve: Serve, kind: str) -> None:
    source = tool(kind, WATCHED, "reentry='held'")
    client = Client(serve(source + "\n    server._config['limits'] = {'heldMs': 50}\n"), "modern")
    round_ = client.peer.answer(client.begin_call("ask"))["result"]
    client.peer.hears(b"left the client was asked for input and did not come back in time")
    assert b"caught" not in client.peer.stderr
    late = client.retry("tools/call", round_, everything, name="ask", arguments={})
    assert client.peer.answer(late)["error"]["code"] == -32602


@KINDS
def test_a_legacy_client_that_is_gone_answers_nothing(serve: Serve, kind: str) -> None:
    client = Client(serve(tool(kind, WATCHED)), "legacy")
    client.begin_call("ask")
    assert client.peer.message()["method"] == "elicitation/create"
    client.peer.close()
    # The call itself may still be answered, and is told that its question can't be.
    assert client.peer.message()["result"]["content"][0]["text"] == "caught"
    assert client.peer.ended() == 0
    assert b"caught NoBackChannel" in client.peer.stderr


def test_a_task_of_its_own_ends_with_the_call(serve: Serve) -> None:
    body = """\
async def helper():
    try: await ctx.elicit('Who?', Who)
    finally: print('helper left', file=sys.stderr)
task = asyncio.create_task(helper())
await asyncio.sleep(60)"""
    client = Client(serve(tool("async", body)), "modern")
    client.peer.answer(client.begin_call("ask"))
    client.peer.hears(b"helper left")
    assert client.peer.finish() == 0


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_what_asks_some_turns_later_is_cancelled_as_well(serve: Serve, turns: int) -> None:
    body = (
        f"turns = {turns}\n"
        + """\
async def late():
    for _ in range(turns): await asyncio.sleep(0)
    try: return await ctx.list_roots()
    except Exception as error: print('caught', repr(error), file=sys.stderr)
count()
who, roots = await asyncio.gather(ctx.elicit('Who?', Who), late())
return f'{who.content.name} {len(roots)} {runs}'"""
    )
    client = Client(serve(tool("async", body)), "modern")
    assert client.call("ask", everything).text == "Ada 2 3"
    assert client.peer.stderr == b""


@pytest.mark.parametrize("era", ERAS)
def test_a_question_that_is_given_up(serve: Serve, era: str) -> None:
    body = """\
try: await asyncio.wait_for(ctx.elicit('Who?', Who), 0.05)
except TimeoutError: pass
except asyncio.TimeoutError: pass
return 'gone on'"""
    client = Client(serve(tool("async", body, "reentry='held'")), era)
    assert client.call("ask", accept(name="Ada")).text == "gone on"


MANY = """
import sys
from ferromcp import Context, Server
server = Server("many")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
@server.tool(reentry="held")
def ask(n: int, ctx: Context) -> str:
    return f"{n} {ctx.elicit(str(n), SCHEMA).wait().content}"
@server.tool
def add(a: int, b: int) -> int: return a + b
server.run(max_threads=110)
"""


@EACH_ERA
def test_a_hundred_wait_and_others_are_served(run_file: Serve, era: str) -> None:
    client = Client(run_file(MANY), era)
    peer = client.peer
    keys = [client.begin_call("ask", n=number) for number in range(100)]
    add = {"name": "add", "arguments": {"a": 1, "b": 2}}
    if era == "modern":
        rounds = [peer.answer(key)["result"] for key in keys]
        assert client.told("tools/call", everything, **add).text == "3"
        # In another order than they were asked.
        for number in reversed(range(100)):
            arguments = {"n": number}
            key = client.retry(
                "tools/call", rounds[number], accept(n=number), name="ask", arguments=arguments
            )
            assert peer.answer(key)["result"]["content"][0]["text"] == f"{number} {{'n': {number}}}"
    else:
        questions = [peer.message() for _ in keys]
        assert {question["method"] for question in questions} == {"elicitation/create"}
        assert client.told("tools/call", everything, **add).text == "3"
        for question in reversed(questions):
            content = {"n": int(question["params"]["message"])}
            result = {"action": "accept", "content": content}
            peer.send({"jsonrpc": "2.0", "id": question["id"], "result": result})
        texts = {peer.answer(key)["result"]["content"][0]["text"] for key in keys}
        assert texts == {f"{number} {{'n': {number}}}" for number in range(100)}
    assert peer.finish() == 0
