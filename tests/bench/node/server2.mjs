// An ordinary server of @modelcontextprotocol/server 2.x.
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A server with all three tools. */
export function factory() {
  const server = new McpServer({ name: 'bench', version: '1' });
  const inputSchema = z.object({ text: z.string() });
  const answer = (text) => ({ content: [{ type: 'text', text }] });
  server.registerTool('echo', { description: 'Echo', inputSchema }, ({ text }) => answer(text));
  server.registerTool('aecho', { description: 'Echo from an async function', inputSchema }, async ({ text }) => answer(text));
  const numbers = z.object({ a: z.int(), b: z.int() });
  server.registerTool('add', { description: 'Add two integers', inputSchema: numbers }, ({ a, b }) => answer(String(a + b)));
  return server;
}
