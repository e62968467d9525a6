// The types of a server's functions as a module sees them.
import { type } from 'arktype';
import {
  ConfigurationError,
  elicit,
  elicitUrl,
  image,
  listRoots,
  MCPError,
  ResourceNotFound,
  sample,
  serve,
  Server,
  ToolError,
  type Context,
  type ElicitResult,
  type ElicitUrlResult,
  type Root,
  type RunOptions,
  type SampleResult,
  type ServerOptions,
  type TraceContext,
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
server.tool('task', { task: 'optional' }, async (_, context) => {
  same<typeof context.taskId, string | undefined>(true);
  const id = await context.beginTask();
  same<typeof id, string | undefined>(true);
  same<typeof context.traceContext, TraceContext>(true);
  return context.clientExtension('vendor/ext')?.['setting'];
});
// @ts-expect-error there is no such choice
server.tool('task', { task: 'always' }, () => undefined);
server.use(async (context, next) => {
  same<typeof context, Context>(true);
  same<typeof context.name, string | undefined>(true);
  const value = await next();
  same<typeof value, unknown>(true);
  return [context.arguments['a'], value];
});
server.extension('vendor/ext', { depth: 1 }).onNotification('vendor/said', ({ n }) => void n);
const hidden: boolean[] = [server.disableTool('task'), server.enableResource('mem://a'), server.disablePrompt('p')];
void hidden;
const run: RunOptions = { taskStore: 'sqlite:tasks.db', debug: true };
void run;
// @ts-expect-error a store is named by a text
const wrong: RunOptions = { taskStore: 1 };
void wrong;
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

// What a client is asked, and what it says.
server.tool('asks', { reentry: 'held' }, async (_, context) => {
  const who = await context.elicit('Who?', z.object({ name: z.string(), age: z.int().optional() }), { key: 'who', timeoutMs: 1 });
  if (who.action === 'accept') same<typeof who.content, { name: string; age?: number | undefined }>(true);
  // @ts-expect-error who declines has said nothing
  else void who.content;
  const ark = await context.elicit('?', type({ 'color?': "'red' | 'blue'" }));
  if (ark.action === 'accept') same<typeof ark.content.color, 'red' | 'blue' | undefined>(true);
  const plain = await context.elicit('?', { type: 'object', properties: { a: { type: 'string' } } });
  if (plain.action === 'accept') void plain.content['a'];
  same<Awaited<ReturnType<typeof context.elicitUrl>>, ElicitUrlResult>(true);
  const said = await context.sample({ messages: ['Hello', { role: 'assistant', content: 'Hi' }], maxTokens: 5 });
  same<typeof said, SampleResult>(true);
  // @ts-expect-error a model is told how much it may say
  void context.sample({ messages: 'Hello' });
  same<Awaited<ReturnType<typeof context.listRoots>>, readonly Root[]>(true);
  const all = await context.ask({ go: elicitUrl('Go', new URL('https://example.com')), size: elicit('?', z.object({ n: z.number() })), where: listRoots() });
  same<typeof all.go, ElicitUrlResult>(true);
  same<typeof all.size, ElicitResult<{ n: number }>>(true);
  same<typeof all.where, readonly Root[]>(true);
  // @ts-expect-error that was not asked
  void all.other;
});
server.prompt('by-hand', {}, (_, context) => {
  const color = elicit('?', z.object({ color: z.string() }));
  const answer = context.inputResponses?.['color'];
  if (answer === undefined) return context.inputRequired({ color, more: sample({ messages: 'x', maxTokens: 1 }) }, { state: 'one' });
  same<ReturnType<typeof color.read>, Promise<ElicitResult<{ color: string }>>>(true);
  return context.requestState ?? '';
});
// @ts-expect-error no such way
server.resource('mem://wrong', { reentry: 'again' }, () => null);
server.setStateKeys(['text', new Uint8Array(32)]);

// Every server of the official SDKs takes our transports, and serve() takes the servers.
const one = new McpServer1({ name: 'a', version: '1' });
const two = new McpServer2({ name: 'a', version: '1' });
void [one.connect(new Transport1()), two.connect(new Transport2()), serve(one), serve(two), serve(server), serve(() => two, { ask: 'held' })];
void serveStdio(() => two);
// @ts-expect-error that is no server
void serve({});

const codes: [number, number | string] = [new MCPError(1, '').code, new ToolError('').code];
void [codes, new ResourceNotFound('mem://a'), new ConfigurationError('').cause];
