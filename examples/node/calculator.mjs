// A server written for FerroMCP: node calculator.mjs
import { Server } from 'ferromcp';
import { z } from 'zod';

const server = new Server('calculator', { version: '1.0.0', instructions: 'Adds numbers and reads SQL.' });

server.tool(
  'add',
  {
    description: 'Add two integers.',
    inputSchema: z.object({ a: z.int(), b: z.int() }),
    outputSchema: z.object({ sum: z.int() }),
  },
  ({ a, b }) => ({ sum: a + b }),
);

server.tool(
  'list_tables',
  {
    description: 'List the tables that an SQL statement reads, in the order in which it names them.',
    inputSchema: { type: 'object', properties: { sql: { type: 'string' } }, required: ['sql'] },
  },
  ({ sql }) => {
    const names = [...sql.matchAll(/\b(?:FROM|JOIN)\s+([\w."`]+)/gi)].map(([, name]) => name.replaceAll(/["`]/g, ''));
    return [...new Set(names)];
  },
);

server.tool('count', { description: 'Count to ten, slowly.' }, async (_, context) => {
  for (let i = 1; i <= 10; i++) {
    if (context.signal.aborted) return;
    context.reportProgress(i, 10);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return 'ten';
});

server.resource('calc://constants/{name}', { description: 'A constant of mathematics.' }, ({ name }) => {
  return String(Math[name.toUpperCase()] ?? 'unknown');
});

await server.run();
