// Ours over HTTP, on the port that is named: by our own listener or, with `handler`, by Node's.
import { createServer } from 'node:http';

import { Server, toNodeHandler } from 'ferromcp';

const integer = { type: 'integer' };
const inputSchema = { type: 'object', properties: { a: integer, b: integer }, required: ['a', 'b'] };
const server = new Server('bench', { version: '1' });
server.tool('add', { description: 'Add two integers', inputSchema }, ({ a, b }) => String(a + b));

const [port, handler] = process.argv.slice(2);
if (handler === undefined) {
  await server.run('http', { host: '127.0.0.1', port: Number(port) });
} else {
  createServer(toNodeHandler(server)).listen(Number(port), '127.0.0.1');
}
