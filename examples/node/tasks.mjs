// A server whose tool is a task: it takes a while, asks in the middle, and its result is fetched later.
//
// Tasks are kept in a file, so that a client finds them again after this process has ended or was killed: what had ended with its
// result, what still ran as failed.
//
//     node examples/node/tasks.mjs [FILE]        an MCP client speaks to it on stdin and stdout
import { setTimeout as sleep } from 'node:timers/promises';

import { Server, ToolError } from 'ferromcp';
import { z } from 'zod';

const server = new Server('reports', { version: '1.0' });

// A task for clients that take tasks; others wait for the answer.
server.tool(
  'write_report',
  {
    description: 'Write a report of some pages, with a title of the model and as the user likes it.',
    inputSchema: z.object({ topic: z.string(), pages: z.int().positive().default(3) }),
    task: 'optional',
  },
  async ({ topic, pages }, context) => {
    const style = await context.elicit('How shall the report be written?', z.object({ style: z.enum(['short', 'long']) }));
    if (style.action !== 'accept') throw new ToolError('No report: the user did not say how.');
    const title = await context.sample({ messages: `A title for a report about ${topic}`, maxTokens: 20 });
    for (let page = 1; page <= pages; page++) {
      // What a client is shown while the task runs.
      context.reportProgress(page, pages, `page ${page} of ${pages}`);
      await sleep(100, undefined, { signal: context.signal });
    }
    return `${title.content.text}: a ${style.content.style} report of ${pages} pages`;
  },
);

// Becomes a task only where there is much to do.
server.tool(
  'count_words',
  { description: 'Count the words of a text.', inputSchema: z.object({ text: z.string() }) },
  async ({ text }, context) => {
    if (text.length > 100_000) await context.beginTask();
    return text.split(/\s+/).filter(Boolean).length;
  },
);

await server.run({ taskStore: `sqlite:${process.argv[2] ?? 'tasks.db'}` });
