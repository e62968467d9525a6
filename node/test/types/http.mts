// The types of what serves over HTTP.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:http2';

import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer as McpServer2 } from '@modelcontextprotocol/server';
import { fastify } from 'fastify';
import { HttpServer, Server, serve, toFetchHandler, toNodeHandler, type HttpConfig, type ListenOptions } from 'ferromcp';
import { StreamableHTTPServerTransport, WebStandardStreamableHTTPServerTransport } from 'ferromcp/sdk';
import {
  NodeStreamableHTTPServerTransport,
  WebStandardStreamableHTTPServerTransport as WebTransport2,
} from 'ferromcp/server';
import { Hono } from 'hono';

function same<A, B>(_: [A, B] extends [B, A] ? true : false): void {}

const server = new Server('test');
const options: ListenOptions = { host: '::1', port: 0, path: null, allowedHosts: ['a'], announce: false, taskStore: 'memory' };
void [server.run(), server.run({ fds: [3, 4] }), server.run('stdio', { debug: true }), server.run('http', options)];
void [server.serve('http', { sessions: false }), serve(server, { transport: 'http', port: 1, exit: false })];
// @ts-expect-error descriptors are for stdio
void server.run('http', { fds: [3, 4] });
// @ts-expect-error no such transport
void server.run('smoke');
// @ts-expect-error no such option
void server.listen({ prot: 1 });
const listening = await server.listen(options);
same<typeof listening, HttpServer>(true);
same<typeof listening.port, number>(true);
const where: string = listening.url + listening.host;
await listening.close();

const config: HttpConfig = { jsonResponse: true, keepAliveMs: 1 };
const handler = toNodeHandler(server, { ...config, principal: (request) => request.user as string | undefined });
createServer(handler);
createSecureServer(handler);
createServer((request, response) => void handler(request, response, { parsed: true }));
fastify().all('/mcp', (request, reply) => handler(request.raw, reply.raw, request.body));

const web = toFetchHandler(server, { principal: (request, { authInfo }) => request.headers.get('x-user') ?? String(authInfo) });
new Hono().all('/mcp', (context) => web(context.req.raw));
same<ReturnType<typeof web>, Promise<Response>>(true);

server.tool('leave', {}, (_, context) => {
  same<typeof context.principal, string | undefined>(true);
  same<ReturnType<typeof context.closeSSEStream>, boolean>(true);
});

// Servers of the official SDKs take our transports.
const sessions = { sessionIdGenerator: randomUUID, onsessioninitialized: (id: string) => void id };
const one = new StreamableHTTPServerTransport(sessions);
const two = new NodeStreamableHTTPServerTransport(sessions);
void new McpServer1({ name: 'a', version: '1' }).connect(one);
void new McpServer1({ name: 'a', version: '1' }).connect(new WebStandardStreamableHTTPServerTransport());
void new McpServer2({ name: 'a', version: '1' }).connect(two);
void new McpServer2({ name: 'a', version: '1' }).connect(new WebTransport2({ sessionIdGenerator: undefined }));
createServer((request, response) => void one.handleRequest(request, response, {}));
same<ReturnType<WebTransport2['handleRequest']>, Promise<Response>>(true);
// @ts-expect-error the engine keeps the events
new StreamableHTTPServerTransport({ eventStore: {} });
void where;
