// A server whose tools ask their client: by a form, for a message of its model, for its folders.
//
// The tools look the same for clients of every revision: an older client is sent requests, a newer one is answered with the
// questions and calls again.
//
//     node examples/node/asking.mjs        an MCP client speaks to it on stdin and stdout
import { elicit, Server } from 'ferromcp';
import { z } from 'zod';

const server = new Server('asking', { version: '1.0' });

const Booking = z.object({
  name: z.string().describe('On whose name'),
  seats: z.int().default(2),
  place: z.enum(['inside', 'outside']).default('inside'),
});

// Runs from its beginning for each round, and so does nothing before it has been answered.
server.tool(
  'book_table',
  { description: 'Book a table, for as many as the user says.', inputSchema: z.object({ day: z.string() }) },
  async ({ day }, context) => {
    const answer = await context.elicit(`A table on ${day}`, Booking);
    if (answer.action !== 'accept') return `No table: the user chose to ${answer.action}.`;
    const { name, seats, place } = answer.content;
    return `A table for ${seats} ${place} on ${day}, ${name}.`;
  },
);

// Asked together, and so in one round.
server.tool('describe_folders', { description: 'Describe the folders that the user works on.' }, async (_, context) => {
  const [roots, style] = await Promise.all([
    context.listRoots(),
    context.sample({ messages: 'One word for a friendly style of writing', maxTokens: 10 }),
  ]);
  return `In a ${style.content.text} style: ${roots.map(({ name, uri }) => name ?? uri).join(', ')}`;
});

// What happens before the question happens once: the call waits.
server.tool(
  'delete_drafts',
  { description: "Delete the user's drafts, once the user is sure.", reentry: 'held' },
  async (_, context) => {
    const found = ['a.txt', 'b.txt'];
    const answer = await context.elicit(`Delete ${found.length} drafts?`, z.object({ sure: z.boolean() }));
    if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing was deleted.';
    return `Deleted ${found.length} drafts.`;
  },
);

const size = elicit('How large?', { type: 'object', properties: { size: { type: 'integer' } } });

// The same by hand: each call is one step, and says itself what the next one has to know.
server.tool(
  'order',
  { description: 'Order something in the size that the user says.', inputSchema: z.object({ what: z.string() }) },
  async ({ what }, context) => {
    if (context.inputResponses === undefined) return context.inputRequired({ size }, { state: what.toUpperCase() });
    const answer = await size.read(context.inputResponses.size);
    return `${context.requestState}: ${JSON.stringify(answer.content)}`;
  },
);

await server.run();
