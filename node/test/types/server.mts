// The types of a server's functions as a module sees them.
import { type } from 'arktype';
import {
  ConfigurationError,
  image,
  MCPError,
  ResourceNotFound,
  serve,
  Server,
  ToolError,
  type Context,
  type ServerOptions,
} from 'ferromcp';
import { StdioServerTransport as Transport1 } from 'ferromcp/sdk';
import { serveStdio, StdioServerTransport as Transport2 } from 'ferromcp/server';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer as McpServer2 } from '@modelcontextprotocol/server';
import * as v from 'valibot';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

const options: ServerOptions = { version: '1.0.0', integers: 'bigint' };
const server = new Server('types', options);

server.tool('zod', { inputSchema: z.object({ a: z.number(), b: z.string().default('x') }) }, (args, context) => {
  same<typeof args, { a: number; b: string }>(true);
  same<typeof context, Context>(true);
  same<typeof context.signal, AbortSignal>(true);
  // @ts-expect-error there is no such argument
  void args.c;
  return args.a;
});
server.tool('arktype', { inputSchema: type({ a: 'number', 'b?': 'string' }) }, ({ a, b }) => {
  same<typeof a, number>(true);
  same<typeof b, string | undefined>(true);
});
const valibot = v.object({ a: v.pipe(v.string(), v.transform(Number)) });
server.tool('valibot', { inputSchema: { schema: valibot, jsonSchema: { type: 'object' } } }, async ({ a }) => {
  same<typeof a, number>(true);
  return image(new Uint8Array(), 'image/png');
});
server.tool('plain', { inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }, ({ a }) => String(a));
server.tool('none', {}, () => undefined);
// @ts-expect-error a tool has a function
server.tool('nothing', {});
// @ts-expect-error no such option
server.tool('wrong', { inputScheme: {} }, () => undefined);

server.resource('mem://{owner}/{name*}{?page,size}', {}, (variables) => {
  same<typeof variables.owner, string>(true);
  same<typeof variables.name, string>(true);
  same<typeof variables.size, string>(true);
  // @ts-expect-error the template has no such variable
  void variables.other;
  return { text: variables.page };
});
server.prompt('record', { arguments: { topic: { required: true }, tone: {} } }, ({ topic, tone }) => {
  same<typeof topic, string>(true);
  same<typeof tone, string | undefined>(true);
  return `${topic} ${tone ?? ''}`;
});
server.prompt('schema', { arguments: z.object({ topic: z.string() }) }, ({ topic }) => ({
  messages: [{ role: 'assistant', content: topic }],
}));
server.completion('record', 'topic', (value, chosen) => [value, chosen['tone'] ?? '']);

// Every server of the official SDKs takes our transports, and serve() takes the servers.
const one = new McpServer1({ name: 'a', version: '1' });
const two = new McpServer2({ name: 'a', version: '1' });
void [one.connect(new Transport1()), two.connect(new Transport2()), serve(one), serve(two), serve(server), serve(() => two)];
void serveStdio(() => two);
// @ts-expect-error that is no server
void serve({});

const codes: [number, number | string] = [new MCPError(1, '').code, new ToolError('').code];
void [codes, new ResourceNotFound('mem://a'), new ConfigurationError('').cause];
