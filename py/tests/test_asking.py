"""Asking the client in the middle of a call, in both eras (2026-07-28 `basic/patterns/mrtr`; 2025-11-25
`client/elicitation`, `client/sampling`, `client/roots`).
"""

from __future__ import annotations

from typing import Any

import pytest

from asked import ALL, ERAS, Client, accept, everything, say
from conftest import Serve
from ferromcp import ConfigurationError, Server

EACH_ERA = pytest.mark.parametrize("era", ERAS)
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])

FORM = """
    import asyncio, sys
    from dataclasses import dataclass
    from ferromcp import Elicit, ElicitUrl, InputRequired, ListRoots, Sample
    @dataclass
    class Who:
        name: str
        age: int = 3
    runs = 0
    def count():
        global runs
        runs += 1
"""


def tool(kind: str, body: str, options: str = "") -> str:
    """A tool `ask` whose body asks with `<...>`, which waits as the kind does."""
    prefix, before, after = ("async ", "(await ", ")") if kind == "async" else ("", "(", ").wait()")
    body = body.replace("<", before).replace(">", after)
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{FORM}\n    @server.tool({options})\n    {prefix}def ask(ctx: Context) -> str:\n{lines}\n"


@EACH_ERA
@KINDS
@pytest.mark.parametrize("reentry", ["replay", "held"])
def test_a_form_is_filled(serve: Serve, era: str, kind: str, reentry: str) -> None:
    body = "count()\nwho = <ctx.elicit('Who?', Who)>\nreturn f'{who.action} {who.content} {runs}'"
    client = Client(serve(tool(kind, body, f"reentry={reentry!r}")), era)
    told = client.call("ask", accept(name="Ada"))
    # A replayed function runs once for the question and once with the answer.
    runs = 2 if (era, reentry) == ("modern", "replay") else 1
    assert told.text == f"accept Who(name='Ada', age=3) {runs}"
    (request,) = told.asked
    assert request["method"] == "elicitation/create"
    assert request["params"]["message"] == "Who?"
    assert request["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 3}},
        "required": ["name"],
    }
    assert client.peer.finish() == 0


@EACH_ERA
@KINDS
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_to_decline_and_to_cancel_are_answers(serve: Serve, era: str, kind: str, action: str) -> None:
    body = "who = <ctx.elicit('Who?', Who)>\nreturn f'{who.action} {who.content}'"
    assert Client(serve(tool(kind, body)), era).call("ask", say(action)).text == f"{action} None"


@EACH_ERA
@KINDS
def test_a_question_after_the_other(serve: Serve, era: str, kind: str) -> None:
    body = """\
count()
first = <ctx.elicit('First?', Who)>
second = <ctx.elicit('Second?', Who)>
third = <ctx.elicit('Third?', Who, key='third')>
return f'{first.content.name} {second.content.name} {third.content.name} {runs}'"""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": request["params"]["message"]}}

    told = Client(serve(tool(kind, body)), era).call("ask", answer)
    assert told.text == f"First? Second? Third? {4 if era == 'modern' else 1}"
    assert [request["params"]["message"] for request in told.asked] == ["First?", "Second?", "Third?"]
    if era == "modern":
        assert list(told.rounds[2]) == ["third"]


@EACH_ERA
@KINDS
def test_a_schema_by_hand_goes_as_it_is(serve: Serve, era: str, kind: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "plain": {"type": "string", "enum": ["a", "b"], "default": "b"},
            "titled": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}]},
            "many": {
                "type": "array",
                "items": {"anyOf": [{"const": "p", "title": "P"}]},
                "minItems": 1,
            },
            "mail": {"type": "string", "format": "email", "maxLength": 90},
            "yes": {"type": "boolean", "default": True},
        },
        "required": ["plain"],
    }
    body = f"found = <ctx.elicit('Which?', {schema})>\nreturn str(found.content)"
    told = Client(serve(tool(kind, body)), era).call("ask", accept(plain="a", many=["p"]))
    assert told.text == "{'plain': 'a', 'many': ['p']}"
    (request,) = told.asked
    assert request["params"]["requestedSchema"] == schema


@EACH_ERA
@KINDS
def test_url_model_and_roots(serve: Serve, era: str, kind: str) -> None:
    body = """\
visit = <ctx.elicit_url('Sign in', 'https://example.com/in')>
poem = <ctx.sample(
    ['a', {'role': 'assistant', 'content': ['b', 'c']}, PromptMessage('d')],
    max_tokens=9, system_prompt='s', temperature=0.5, stop_sequences=['x'], metadata={'k': 1},
    model_preferences={'hints': [{'name': 'm'}]}, tools=[{'name': 't', 'inputSchema': {'type': 'object'}}],
    tool_choice={'mode': 'none'},
)>
roots = <ctx.list_roots()>
return f'{visit.action} {visit.content} {poem.text} {poem.role} {poem.model} {poem.stop_reason} {roots}'"""
    source = tool(kind, "from ferromcp import PromptMessage\n" + body)
    told = Client(serve(source), era).call("ask", everything)
    roots = "[Root(uri='file:///a', name='A'), Root(uri='file:///b', name=None)]"
    assert told.text == f"accept None a poem assistant m-1 endTurn {roots}"
    visit, sample, listing = told.asked
    assert visit["params"]["url"] == "https://example.com/in"
    assert sample["params"] == {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "a"}},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
            {"role": "user", "content": {"type": "text", "text": "d"}},
        ],
        "maxTokens": 9,
        "systemPrompt": "s",
        "temperature": 0.5,
        "stopSequences": ["x"],
        "metadata": {"k": 1},
        "modelPreferences": {"hints": [{"name": "m"}]},
        "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
        "toolChoice": {"mode": "none"},
    }
    assert listing["method"] == "roots/list"


@EACH_ERA
@KINDS
@pytest.mark.parametrize("reentry", ["replay", "held"])
def test_several_in_one_round(serve: Serve, era: str, kind: str, reentry: str) -> None:
    body = """\
found = <ctx.ask({'who': Elicit('Who?', Who), 'poem': Sample('A poem', max_tokens=5), 'where': ListRoots()})>
return f"{list(found)} {found['who'].content.name} {found['poem'].text} {len(found['where'])}\""""
    told = Client(serve(tool(kind, body, f"reentry={reentry!r}")), era).call("ask", everything)
    assert told.text == "['who', 'poem', 'where'] Ada a poem 2"
    (round_,) = told.rounds
    methods = ["elicitation/create", "sampling/createMessage", "roots/list"]
    assert [request["method"] for request in round_.values()] == methods
    if era == "modern":
        assert list(round_) == ["who", "poem", "where"]


GATHER = """\
async def helper():
    return await ctx.sample('A poem', max_tokens=5)
count()
who, poem, roots = await asyncio.gather(ctx.elicit('Who?', Who), helper(), ctx.list_roots(key='where'))
return f'{who.content.name} {poem.text} {len(roots)} {runs}'"""


@EACH_ERA
@pytest.mark.parametrize("reentry", ["replay", "held"])
def test_what_is_gathered_is_one_round(serve: Serve, era: str, reentry: str) -> None:
    told = Client(serve(tool("async", GATHER, f"reentry={reentry!r}")), era).call("ask", everything)
    runs = 2 if (era, reentry) == ("modern", "replay") else 1
    assert told.text == f"Ada a poem 2 {runs}"
    (round_,) = told.rounds
    assert len(round_) == 3


def test_only_what_is_missing_is_asked_again(serve: Serve) -> None:
    client = Client(serve(tool("async", GATHER)), "modern")
    begun = client.peer.answer(client.begin_call("ask"))["result"]
    asked = dict(begun["inputRequests"])
    where = {"where": asked.pop("where")}
    part = {**begun, "inputRequests": asked}
    params = {"name": "ask", "arguments": {}}
    second = client.peer.answer(client.retry("tools/call", part, everything, **params))["result"]
    assert second["inputRequests"] == where
    final = client.peer.answer(client.retry("tools/call", second, everything, **params))
    assert final["result"]["content"][0]["text"] == "Ada a poem 2 3"


BY_HAND = """
    WHO = Elicit("Who?", Who)
    def step(ctx):
        if ctx.request_state is None:
            assert ctx.input_responses is None
            return ctx.input_required({"who": WHO}, state="step 1")
        who = WHO.read(ctx.input_responses["who"])
        return f"{who.content} {ctx.request_state}"
    @server.tool
    def sync(ctx: Context) -> str | InputRequired: return step(ctx)
    @server.tool
    async def aio(ctx: Context) -> str | InputRequired: return step(ctx)
    @server.resource("mem://who")
    def read(ctx: Context): return step(ctx)
    @server.prompt
    def prompt(ctx: Context): return step(ctx)
"""


@EACH_ERA
def test_a_round_by_hand(serve: Serve, era: str) -> None:
    client = Client(serve(FORM + BY_HAND), era)
    filled = "Who(name='Ada', age=3) step 1"
    for name in ("sync", "aio"):
        told = client.call(name, accept(name="Ada"))
        assert told.text == filled
        assert len(told.asked) == 1
    read = client.told("resources/read", accept(name="Ada"), uri="mem://who").answer
    assert read["result"]["contents"][0]["text"] == filled
    got = client.told("prompts/get", accept(name="Ada"), name="prompt").answer
    assert got["result"]["messages"][0]["content"]["text"] == filled


def test_a_result_beside_a_round_keeps_its_schema(serve: Serve) -> None:
    peer = serve(
        FORM
        + """
    @server.tool
    def who(ctx: Context) -> Who | InputRequired:
        if ctx.request_state: return Who(ctx.request_state)
        return ctx.input_required(state="Ada")
    """
    )
    (listed,) = peer.result("tools/list")["tools"]
    assert listed["outputSchema"]["properties"]["name"] == {"type": "string"}
    told = Client(peer, "modern").call("who", everything)
    assert told.answer["result"]["structuredContent"] == {"name": "Ada", "age": 3}
    assert told.asked == []


@EACH_ERA
def test_prompts_and_resources_ask_too(serve: Serve, era: str) -> None:
    client = Client(
        serve(
            FORM
            + """
    @server.resource("mem://{name}", reentry="held")
    def read(name: str, ctx: Context) -> str:
        return name + ctx.elicit("Who?", Who).wait().content.name
    @server.prompt(reentry="held")
    async def prompt(ctx: Context) -> str:
        return (await ctx.elicit("Who?", Who)).content.name
    """
        ),
        era,
    )
    read = client.told("resources/read", accept(name="Ada"), uri="mem://x").answer
    assert read["result"]["contents"][0]["text"] == "xAda"
    got = client.told("prompts/get", accept(name="Ada"), name="prompt").answer
    assert got["result"]["messages"][0]["content"]["text"] == "Ada"


@KINDS
def test_a_capability_that_is_not_declared(serve: Serve, kind: str) -> None:
    source = tool(kind, "return <ctx.sample('x', max_tokens=1)>.text")
    caught = f"""
    from ferromcp import CapabilityNotDeclared
    @server.tool
    {"async " if kind == "async" else ""}def caught(ctx: Context):
        try: {"await ctx.list_roots()" if kind == "async" else "ctx.list_roots().wait()"}
        except CapabilityNotDeclared as error: return error.capability
    """
    client = Client(serve(source + caught), "modern", {})
    error = client.call("ask", everything).answer["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert client.call("caught", everything).text == "roots"
    legacy = Client(serve(source + caught), "legacy", {})
    assert "sampling" in legacy.call("ask", everything).failure
    assert legacy.call("caught", everything).text == "roots"


def test_a_round_by_hand_of_what_is_not_declared(serve: Serve) -> None:
    client = Client(serve(FORM + BY_HAND), "modern", {})
    error = client.call("sync", everything).answer["error"]
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_who_can_not_be_asked_is_not_waited_for(serve: Serve) -> None:
    peer = serve(
        """
    from ferromcp import NoBackChannel, current_context
    @server.prompt
    def greeting(style: str) -> str: return style
    @server.completion("greeting", "style")
    def styles(value: str) -> list[str]:
        try: current_context().list_roots().wait()
        except NoBackChannel as error: return [type(error).__name__]
    """
    )
    # 2026-07-28 has rounds for tools, resources and prompts alone.
    result = peer.result(
        "completion/complete",
        {"io.modelcontextprotocol/clientCapabilities": ALL},
        ref={"type": "ref/prompt", "name": "greeting"},
        argument={"name": "style", "value": ""},
    )
    assert result["completion"]["values"] == ["NoBackChannel"]


@KINDS
def test_answers_that_are_none(serve: Serve, kind: str) -> None:
    body = """\
from ferromcp import FerroMCPError
try: <ctx.elicit('Who?', Who, timeout=0.05)>
except (FerroMCPError, TimeoutError) as error: return f'{type(error).__name__}: {error}'"""
    client = Client(serve(tool(kind, body)), "legacy")
    wrong = client.call("ask", accept(age=1)).text
    assert wrong.startswith("InvalidAnswer: ")
    assert "name" in wrong
    refused = client.call("ask", lambda _: {"error": {"code": -32603, "message": "no screen"}}).text
    assert refused == "MCPError: no screen (-32603)"
    key = client.begin_call("ask")
    answer = client.peer.answer(key)
    assert answer["result"]["content"][0]["text"].startswith("TimeoutError: ")
    question, taken_back = client.peer.unasked()
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == question["id"]


@KINDS
def test_a_clients_error_is_no_answer_of_the_call(serve: Serve, kind: str) -> None:
    client = Client(serve(tool(kind, "return <ctx.list_roots()>")), "legacy")
    failure = client.call("ask", lambda _: {"error": {"code": -32602, "message": "no roots"}}).failure
    assert failure == "Error calling tool 'ask': MCPError: no roots (-32602)"


@EACH_ERA
@KINDS
def test_a_question_that_is_not_allowed(serve: Serve, era: str, kind: str) -> None:
    schema = {"type": "object", "properties": {"deep": {"type": "object"}}}
    source = tool(kind, f"return <ctx.elicit('?', {schema})>.action")
    failure = Client(serve(source), era).call("ask", everything).failure
    assert "ConfigurationError" in failure
    assert "deep" in failure


def test_waiting_on_a_loop_is_refused(serve: Serve) -> None:
    source = tool("async", "return ctx.elicit('Who?', Who).wait().action")
    told = Client(serve(source), "modern").call("ask", everything)
    assert "RuntimeError: wait() would block" in told.failure


@EACH_ERA
def test_an_async_function_may_wait_on_a_thread(serve: Serve, era: str) -> None:
    body = "who = await asyncio.to_thread(lambda: ctx.elicit('Who?', Who).wait())\nreturn who.content.name"
    client = Client(serve(tool("async", body)), era)
    assert client.call("ask", accept(name="Ada")).text == "Ada"
    assert client.peer.finish() == 0
    assert client.peer.stderr == b""


def test_keys_are_shared_between_servers_and_changed_at_run_time(serve: Serve) -> None:
    source = (
        tool("sync", "return ctx.elicit('Who?', Who).wait().content.name")
        + """
    server.set_state_keys([b"k" * 32])
    @server.tool
    def rotate(keep: bool): server.set_state_keys([b"n" * 32, *([b"k" * 32] if keep else [])])
    """
    )
    one, two = Client(serve(source), "modern"), Client(serve(source), "modern")

    def retried() -> dict[str, Any]:
        # Each state opens once.
        round_ = one.peer.answer(one.begin_call("ask"))["result"]
        key = two.retry("tools/call", round_, accept(name="Ada"), name="ask", arguments={})
        return two.peer.answer(key)

    two.peer.call("rotate", keep=True)
    assert retried()["result"]["content"][0]["text"] == "Ada"
    two.peer.call("rotate", keep=False)
    assert retried()["error"]["code"] == -32602


def test_a_key_that_is_none_is_refused() -> None:
    server = Server("s", state_keys=[b"short"])
    with pytest.raises(ConfigurationError, match="stateKeys"):
        server._start()
