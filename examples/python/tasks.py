"""A server whose tool takes its time: it asks the user, has the client's model write, and its result can be
fetched later, by another client or after the server was started again.

Clients that take tasks get one at once. Others wait for the answer, from the same function.

    python examples/python/tasks.py tasks.db    # an MCP client speaks to it on stdin and stdout
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

from ferromcp import Context, Server, ToolError

server = Server("reports", version="1.0", tasks={"ttlMs": 86_400_000, "pollMs": 200})


@dataclass
class Order:
    pages: int = 3


@server.tool(task="optional", reentry="held")
async def write_report(topic: str, ctx: Context) -> str:
    """Write a report, page by page, as long as the user wants it."""
    answer = await ctx.elicit(f"How long a report on {topic}?", Order, key="pages")
    if answer.content is None:
        raise ToolError(f"No report: the user chose to {answer.action}.")
    pages = []
    for page in range(1, answer.content.pages + 1):
        # What a task asks has a key of its own each time.
        text = await ctx.sample(f"Page {page} on {topic}", max_tokens=500, key=f"page-{page}")
        pages.append(text.text)
        ctx.report_progress(page, answer.content.pages, f"page {page} is written")
    return "\n".join(pages)


# Becomes a task only where there is much to do, and where its client takes tasks.
@server.tool
async def count(to: int, ctx: Context) -> str:
    """Count."""
    if to > 100:
        await ctx.begin_task()
    for _ in range(to):
        await asyncio.sleep(0)
    return f"counted to {to}"


if __name__ == "__main__":
    server.run(task_store=f"sqlite:{sys.argv[1]}" if len(sys.argv) > 1 else "memory")
