"""A server with one of everything: what the official conformance suite calls, and a place to look things up.

python examples/python/everything_server.py --port 8000    # http://127.0.0.1:8000/mcp
python examples/python/everything_server.py                # on stdin and stdout
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
from typing import Any

from ferromcp import (
    AudioContent,
    BlobResource,
    Context,
    Elicit,
    EmbeddedResource,
    ImageContent,
    InputRequired,
    InvalidAnswer,
    ListRoots,
    MCPError,
    PromptMessage,
    Sample,
    Server,
    TextResource,
    ToolError,
)

server = Server(
    "everything",
    version="1.0.0",
    tasks={"pollMs": 100},
    config={"cache": {"ttlMs": 60_000, "cacheScope": "public"}},
)

# One red pixel, and a wave file of one sample.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SOUND = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")


def form(**properties: Any) -> dict[str, Any]:
    """The schema of a form whose fields are all required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


NAME_FORM = form(name={"type": "string"})
OK_FORM = form(ok={"type": "boolean"})
CONFIRM_FORM = form(confirm={"type": "boolean"})


# --- Tools: kinds of content ---


@server.tool
def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> ImageContent:
    """An image."""
    return ImageContent(PIXEL, "image/png")


@server.tool
def test_audio_content() -> AudioContent:
    """A sound."""
    return AudioContent(SOUND, "audio/wav")


@server.tool
def test_embedded_resource() -> EmbeddedResource:
    """A resource, whole."""
    text = "This is an embedded resource content."
    return EmbeddedResource(TextResource(text, "test://embedded-resource", "text/plain"))


@server.tool
def test_multiple_content_types() -> list[str | ImageContent | EmbeddedResource]:
    """A text, an image and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    resource = TextResource(data, "test://mixed-content-resource", "application/json")
    return ["Multiple content types test:", ImageContent(PIXEL, "image/png"), EmbeddedResource(resource)]


@server.tool
def test_error_handling() -> str:
    """Fails each time."""
    raise ToolError("This tool intentionally returns an error for testing")


# --- Tools: what is told while they run ---


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    ctx.info("Tool execution started")
    await asyncio.sleep(0.05)
    ctx.info("Tool processing data")
    await asyncio.sleep(0.05)
    ctx.info("Tool execution completed")
    return "Tool with logging executed successfully"


@server.tool
def test_logging_tool(ctx: Context) -> str:
    """Logs, for clients that want it."""
    ctx.info("Diagnostic trace")
    return "Logging evaluated"


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Reports its progress three times."""
    for done in (0, 50, 100):
        ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Progress reported"


@server.tool
async def test_reconnection(ctx: Context) -> str:
    """Cuts its client off, which comes back for the answer."""
    # Over stdio, and with modern clients, there is nothing that could be closed: they just wait.
    ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return "Reconnection test completed successfully"


# --- Tools: schemas ---


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Takes what a schema of 2020-12 with all its means describes."""
    return f"JSON Schema 2020-12 tool called with: {json.dumps(arguments)}"


# Its argument is mirrored into the header Mcp-Param-Region, where what routes requests can see it.
@server.tool(
    input_schema={
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    }
)
def test_x_mcp_header(region: str) -> str:
    """Takes a region, which its client also says in a header."""
    return f"Region: {region}"


# --- Tools: asking the client, whichever revision it speaks ---


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Has the client's model answer."""
    answer = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {answer.text}"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit(message, form(username={"type": "string"}, email={"type": "string"}))
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks by a form with defaults."""
    fields = {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    }
    answer = await ctx.elicit("Please review the form", {"type": "object", "properties": fields})
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


def titled(*names: str) -> list[dict[str, str]]:
    """Choices with titles: value1 is shown as the first name, and so on."""
    return [{"const": f"value{n}", "title": name} for n, name in enumerate(names, 1)]


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks by a form with every kind of choice."""
    options = ["option1", "option2", "option3"]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
        },
    }
    answer = await ctx.elicit("Please choose", {"type": "object", "properties": fields})
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Can't do without the client's model."""
    return (await ctx.sample("Say something", max_tokens=10)).text


@server.tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Reports progress, and asks."""
    ctx.report_progress(50, 100)
    answer = await ctx.elicit("What is your name?", NAME_FORM)
    return f"Streaming complete: {answer.action}"


NAME = Elicit("What is your name?", NAME_FORM)


# By hand: it takes an answer whenever there is one, and asks where there is none that fits.
@server.tool
def test_input_required_result_elicitation(ctx: Context) -> str | InputRequired:
    """Greets the user by name."""
    try:
        answer = NAME.read((ctx.input_responses or {})["user_name"])
    except (KeyError, InvalidAnswer):
        return ctx.input_required({"user_name": NAME})
    return f"Hello, {answer.content['name']}!" if answer.content else "Hello!"


@server.tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Has the client's model answer a question."""
    answer = await ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return f"Sampling result: {answer.text}"


@server.tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Counts the client's roots."""
    roots = await ctx.list_roots(key="client_roots")
    return f"Found {len(roots)} root(s): {', '.join(root.uri for root in roots)}"


@server.tool
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks, and remembers in the request's state that it did."""
    await ctx.elicit("Please confirm", OK_FORM, key="confirm")
    return "state-ok: requestState validated"


@server.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """The same: a state that its client has changed is refused before this runs."""
    await ctx.elicit("Please confirm", OK_FORM, key="confirm")
    return "integrity-ok: state verified"


@server.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three things at once."""
    greeting = Sample("Generate a greeting", max_tokens=50)
    answers = await ctx.ask({"user_name": NAME, "greeting": greeting, "client_roots": ListRoots()})
    name, text, roots = answers["user_name"].content, answers["greeting"].text, answers["client_roots"]
    return f"Name: {name}; Greeting: {text}; Roots: {len(roots)}"


@server.tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks one thing after the other."""
    name = await ctx.elicit("Step 1: What is your name?", NAME_FORM, key="step1")
    color_form = form(color={"type": "string"})
    color = await ctx.elicit("Step 2: What is your favorite color?", color_form, key="step2")
    return f"Multi-round complete for {name.content} who likes {color.content}"


@server.tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks by what the client has declared."""
    if "elicitation" in ctx.client_capabilities:
        return (await ctx.elicit("Elicitation input", form(value={"type": "string"}))).action
    if "sampling" in ctx.client_capabilities:
        return (await ctx.sample("Sample request", max_tokens=50)).text
    return "No supported capabilities declared"


# --- Tools: what changes ---

shown = {"tool": True, "prompt": True}


@server.tool
def test_dynamic_tool() -> str:
    """Comes and goes."""
    return "here"


@server.prompt
def test_dynamic_prompt() -> str:
    """Comes and goes."""
    return "here"


@server.tool
def test_trigger_tool_change() -> str:
    """Hides a tool, or shows it again; clients that listen are told."""
    shown["tool"] = not shown["tool"]
    (server.enable_tool if shown["tool"] else server.disable_tool)("test_dynamic_tool")
    return "Mutation triggered"


@server.tool
def test_trigger_prompt_change() -> str:
    """Hides a prompt, or shows it again; clients that listen are told."""
    shown["prompt"] = not shown["prompt"]
    (server.enable_prompt if shown["prompt"] else server.disable_prompt)("test_dynamic_prompt")
    return "Mutation triggered"


# --- Tools: tasks ---


@server.tool
def greet(name: str) -> str:
    """Greets, at once."""
    return f"Hello, {name}!"


@server.tool(task="optional")
async def slow_compute(seconds: float, label: str = "") -> str:
    """Takes so many seconds."""
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds} s"


@server.tool(task="required")
async def failing_job() -> str:
    """Fails after a while, as tools fail."""
    await asyncio.sleep(1)
    raise ToolError("The job failed")


@server.tool(task="required")
async def protocol_error_job() -> str:
    """Fails with an error of the protocol."""
    raise MCPError(-32603, "The job broke")


@server.tool(task="required")
async def confirm_delete(filename: str, ctx: Context) -> str:
    """Deletes a file, if the user is sure."""
    answer = await ctx.elicit(f"Delete {filename}?", CONFIRM_FORM, key="confirm")
    return f"Deleted {filename}" if answer.content and answer.content["confirm"] else f"Kept {filename}"


@server.tool(task="required")
async def multi_input(ctx: Context) -> str:
    """Asks two things at once, which may be answered one by one."""
    answers = await ctx.ask({"first": NAME, "second": Elicit("Sure?", CONFIRM_FORM)})
    return f"{answers['first'].action}, {answers['second'].action}"


# Asks first, and is a task from then on.
@server.tool
async def test_tool_with_task(ctx: Context) -> str:
    """Asks for a name, and goes on as a task."""
    answer = await ctx.elicit("What is your name?", NAME_FORM, key="user_name")
    await ctx.begin_task()
    return f"Hello, {answer.content['name']}!" if answer.content else "Hello!"


# --- Resources ---


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> BlobResource:
    """An image."""
    return BlobResource(PIXEL)


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that clients may watch."""
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> dict[str, Any]:
    """The data of an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# --- Prompts and completions ---


@server.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
def arg1_values(typed: str) -> list[str]:
    return [value for value in ("paris", "park", "party") if value.startswith(typed)]


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:
    """A prompt with a resource in it."""
    resource = TextResource("Embedded resource content for testing.", resourceUri, "text/plain")
    return [
        PromptMessage(EmbeddedResource(resource)),
        PromptMessage("Please process the embedded resource above."),
    ]


@server.prompt
def test_prompt_with_image() -> list[PromptMessage]:
    """A prompt with an image in it."""
    image = ImageContent(PIXEL, "image/png")
    return [PromptMessage(image), PromptMessage("Please analyze the image above.")]


@server.prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks the user."""
    context_form = form(context={"type": "string"})
    answer = await ctx.elicit("What context should the prompt use?", context_form, key="user_context")
    return f"Prompt with context: {answer.content['context'] if answer.content else 'none'}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    port = parser.parse_args().port
    if port is None:
        server.run()
    else:
        server.run("http", port=port)
