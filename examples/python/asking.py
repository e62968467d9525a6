"""A server whose tools ask their client: by a form, for a message of its model, for its folders.

The tools look the same for clients of every revision: an older client is sent requests, a newer one is
answered with the questions and calls again.

    python examples/python/asking.py        # an MCP client speaks to it on stdin and stdout
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from ferromcp import Context, Elicit, InputRequired, Server

server = Server("asking", version="1.0")


@dataclass
class Booking:
    name: Annotated[str, "On whose name"]
    seats: int = 2
    place: Literal["inside", "outside"] = "inside"


@dataclass
class Consent:
    sure: bool


# Runs from its beginning for each round, and so does nothing before it has been answered.
@server.tool
def book_table(day: str, ctx: Context) -> str:
    """Book a table, for as many as the user says."""
    answer = ctx.elicit(f"A table on {day}", Booking).wait()
    if answer.content is None:
        return f"No table: the user chose to {answer.action}."
    booking = answer.content
    return f"A table for {booking.seats} {booking.place} on {day}, {booking.name}."


# Asked together, and so in one round.
@server.tool
async def describe_folders(ctx: Context) -> str:
    """Describe the folders that the user works on."""
    roots, style = await asyncio.gather(
        ctx.list_roots(),
        ctx.sample("One word for a friendly style of writing", max_tokens=10),
    )
    return f"In a {style.text} style: " + ", ".join(root.name or root.uri for root in roots)


# What happens before the question happens once: the call waits.
@server.tool(reentry="held")
async def delete_drafts(ctx: Context) -> str:
    """Delete the user's drafts, once the user is sure."""
    found = ["a.txt", "b.txt"]
    answer = await ctx.elicit(f"Delete {len(found)} drafts?", Consent)
    if answer.content is None or not answer.content.sure:
        return "Nothing was deleted."
    return f"Deleted {len(found)} drafts."


SIZE = Elicit("How large?", {"type": "object", "properties": {"size": {"type": "integer"}}})


# The same by hand: each call is one step, and says itself what the next one has to know.
@server.tool
def order(what: str, ctx: Context) -> str | InputRequired:
    """Order something in the size that the user says."""
    if ctx.input_responses is None:
        return ctx.input_required({"size": SIZE}, state=what.upper())
    answer = SIZE.read(ctx.input_responses["size"])
    return f"{ctx.request_state}: {answer.content}"


if __name__ == "__main__":
    server.run()
