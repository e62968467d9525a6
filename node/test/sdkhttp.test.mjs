// The drop-in transports over HTTP: servers of the official SDKs, wired as their documents show it, and the official client.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitRequestSchema, ElicitResultSchema, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { McpServer as McpServer2 } from '@modelcontextprotocol/server';
import express from 'express';
import { ConfigurationError } from 'ferromcp';
import { StreamableHTTPServerTransport, WebStandardStreamableHTTPServerTransport } from 'ferromcp/sdk';
import {
  NodeStreamableHTTPServerTransport,
  WebStandardStreamableHTTPServerTransport as WebTransport2,
} from 'ferromcp/server';
import { z } from 'zod';

import { events, listening, modern } from './carriers.mjs';

const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const form = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } };

/** An ordinary server of 1.x. */
function server1() {
  const server = new McpServer({ name: 'one', version: '1' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text: said }) => text(said));
  server.registerTool('steps', {}, async ({ _meta, sendNotification }) => {
    for (const progress of [1, 2]) {
      await sendNotification({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress } });
    }
    return text('done');
  });
  server.registerTool('ask', {}, async ({ sendRequest }) => {
    return text((await sendRequest({ method: 'elicitation/create', params: form }, ElicitResultSchema)).action);
  });
  server.registerTool('askAlone', {}, async () => text((await server.server.elicitInput(form)).action));
  server.registerTool('who', {}, ({ authInfo, requestInfo, sessionId }) => {
    return text(`${authInfo?.clientId} ${requestInfo.headers['x-user']} ${requestInfo.url.pathname} ${typeof sessionId}`);
  });
  server.registerTool('wait', {}, ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(text('late')))));
  return server;
}

/** The same of 2.x. */
function server2() {
  const server = new McpServer2({ name: 'two', version: '1' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text: said }) => text(said));
  server.registerTool('steps', {}, async ({ mcpReq }) => {
    for (const progress of [1, 2]) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: mcpReq._meta.progressToken, progress } });
    }
    return text('done');
  });
  server.registerTool('ask', {}, async ({ mcpReq }) => {
    return text((await mcpReq.send({ method: 'elicitation/create', params: form })).action);
  });
  server.registerTool('askAlone', {}, async () => text((await server.server.elicitInput(form)).action));
  server.registerTool('who', {}, ({ http, sessionId }) => {
    return text(`${http.authInfo?.clientId} ${http.req.headers.get('x-user')} ${new URL(http.req.url).pathname} ${typeof sessionId}`);
  });
  return server;
}

const auth = { token: 't', clientId: 'ann', scopes: [] };

/** An Express app with a transport for each session. */
function sessionsOfNode(make, Transport) {
  const transports = new Map();
  const closed = [];
  const app = express();
  app.use(express.json());
  app.all('/mcp', async (request, response) => {
    request.auth = auth;
    let transport = transports.get(request.headers['mcp-session-id']);
    if (transport === undefined && isInitializeRequest(request.body)) {
      transport = new Transport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void transports.set(id, transport),
        onsessionclosed: (id) => void closed.push(id),
      });
      transport.onclose = () => transports.delete(transport.sessionId);
      await make().connect(transport);
    }
    if (transport === undefined) return void response.status(404).end();
    await transport.handleRequest(request, response, request.body);
  });
  return { app, transports, closed };
}

/** The same for requests of `fetch`, which Node's listener brings. */
function sessionsOfFetch(make, Transport) {
  const transports = new Map();
  const closed = [];
  const serve = async (request) => {
    let transport = transports.get(request.headers.get('mcp-session-id'));
    if (transport === undefined) {
      transport = new Transport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void transports.set(id, transport),
        onsessionclosed: (id) => void closed.push(id),
      });
      transport.onclose = () => transports.delete(transport.sessionId);
      await make().connect(transport);
    }
    return transport.handleRequest(request, { authInfo: auth });
  };
  return { app: overFetch(serve), transports, closed };
}

/** A listener of `node:http` for a handler of `fetch`. */
function overFetch(serve) {
  return async (incoming, outgoing) => {
    const { method, headers } = incoming;
    const controller = new AbortController();
    outgoing.on('close', () => controller.abort());
    const body = method === 'POST' ? { body: incoming, duplex: 'half' } : {};
    const url = `http://${headers.host}${incoming.url}`;
    const response = await serve(new Request(url, { method, headers, signal: controller.signal, ...body }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    try {
      for await (const chunk of response.body ?? []) outgoing.write(chunk);
      outgoing.end();
    } catch {
      outgoing.destroy();
    }
  };
}

async function connected(url, body) {
  const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { 'x-user': 'bob' } } });
  await client.connect(transport);
  try {
    return await body(client, transport);
  } finally {
    await client.close();
  }
}

const WAYS = {
  'sdk 1.x, Express': () => sessionsOfNode(server1, StreamableHTTPServerTransport),
  'sdk 1.x, fetch': () => sessionsOfFetch(server1, WebStandardStreamableHTTPServerTransport),
  'server 2.x, Express': () => sessionsOfNode(server2, NodeStreamableHTTPServerTransport),
  'server 2.x, fetch': () => sessionsOfFetch(server2, WebTransport2),
};

for (const [name, way] of Object.entries(WAYS)) {
  test(`${name}: a transport for each session`, async () => {
    const { app, transports, closed } = way();
    await listening(app, async (url) => {
      await connected(url, (one, transport) => connected(url, async (other) => {
        assert.deepEqual([...transports.keys()].includes(transport.sessionId), true);
        assert.equal(transports.size, 2);
        const call = async (called, args, options) => (await one.callTool({ name: called, arguments: args }, undefined, options)).content[0].text;
        assert.ok((await one.listTools()).tools.some((tool) => tool.name === 'echo'));
        assert.equal(await call('echo', { text: 'é' }), 'é');
        assert.equal((await other.callTool({ name: 'echo', arguments: { text: 'b' } })).content[0].text, 'b');
        const seen = [];
        assert.equal(await call('steps', {}, { onprogress: ({ progress }) => seen.push(progress) }), 'done');
        assert.deepEqual(seen, [1, 2]);
        assert.equal(await call('ask', {}), 'decline');
        assert.equal(await call('askAlone', {}), 'decline');
        assert.equal(await call('who', {}), 'ann bob /mcp string');
        const ended = transport.sessionId;
        await transport.terminateSession();
        assert.deepEqual(closed, [ended]);
        assert.equal(transports.size, 1);
        assert.equal((await other.callTool({ name: 'echo', arguments: { text: 'c' } })).content[0].text, 'c');
      }));
      for (const transport of transports.values()) await transport.close();
    });
  });
}

const STATELESS = { 'sdk 1.x': [server1, StreamableHTTPServerTransport], 'server 2.x': [server2, NodeStreamableHTTPServerTransport] };

for (const [name, [make, Transport]] of Object.entries(STATELESS)) {
  test(`${name}: a transport for each request, for clients of both eras`, async () => {
    let open = 0;
    const app = async (request, response) => {
      const server = make();
      const transport = new Transport({ sessionIdGenerator: undefined });
      open += 1;
      transport.onclose = () => void (open -= 1);
      response.on('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response);
      await assert.rejects(transport.handleRequest(request, response), ConfigurationError);
    };
    await listening(app, async (url) => {
      await connected(url, async (client, transport) => {
        assert.equal(transport.sessionId, undefined);
        assert.equal((await client.callTool({ name: 'echo', arguments: { text: 'a' } })).content[0].text, 'a');
      });
      const ask = modern(url, fetch);
      const known = await (await ask('server/discover')).json();
      assert.ok(known.result.supportedVersions.includes('2026-07-28'));
      const answer = await (await ask('tools/call', { name: 'echo', arguments: { text: 'b' } })).json();
      assert.equal(answer.result.content[0].text, 'b');
      const stream = events(await ask('tools/call', { name: 'steps', arguments: {} }, { meta: { progressToken: 3 } }));
      assert.equal((await stream.next()).value.message.params.progress, 1);
      for await (const { message } of stream) if (message?.result !== undefined) assert.equal(message.result.content[0].text, 'done');
    });
    while (open > 0) await new Promise(setImmediate);
  });
}

test('a modern client that goes away aborts what the SDK runs', async () => {
  const server = server1();
  let stopped;
  const over = new Promise((resolve) => (stopped = resolve));
  let begun;
  const began = new Promise((resolve) => (begun = resolve));
  server.registerTool('hang', {}, ({ signal }) => {
    begun();
    return new Promise((resolve) => signal.addEventListener('abort', () => (stopped(), resolve(text('late')))));
  });
  const transport = new StreamableHTTPServerTransport();
  await server.connect(transport);
  await listening((request, response) => transport.handleRequest(request, response), async (url) => {
    const controller = new AbortController();
    const response = modern(url, fetch)('tools/call', { name: 'hang', arguments: {} }, { signal: controller.signal });
    await began;
    controller.abort();
    await assert.rejects(response);
    await over;
  });
  await server.close();
});

test('hosts and origins are looked at where that is asked for', async () => {
  const status = async (options, headers) => {
    const server = server1();
    const transport = new WebStandardStreamableHTTPServerTransport(options);
    await server.connect(transport);
    const ask = modern('http://api.example/mcp', (url, init) => transport.handleRequest(new Request(url, init)), headers);
    const response = await ask('server/discover');
    await response.text();
    await server.close();
    return response.status;
  };
  const foreign = { origin: 'https://evil.example' };
  assert.equal(await status({}, foreign), 200);
  const guarded = { enableDnsRebindingProtection: true };
  assert.equal(await status({ ...guarded, allowedHosts: ['api.example:443'], allowedOrigins: ['https://app.example'] }, foreign), 403);
  assert.equal(await status({ ...guarded, allowedHosts: ['api.example'] }, foreign), 200);
  assert.equal(await status({ ...guarded, allowedHosts: ['other.example'] }, {}), 403);
});

test('what is not supported is said', async () => {
  assert.throws(() => new StreamableHTTPServerTransport({ eventStore: {} }), ConfigurationError);
  const transport = new StreamableHTTPServerTransport();
  assert.throws(() => transport.closeStandaloneSSEStream(), ConfigurationError);
  const request = new Request('http://localhost/mcp', { method: 'POST', body: '{}' });
  await assert.rejects(new WebStandardStreamableHTTPServerTransport().handleRequest(request), ConfigurationError);
  const server = server1();
  const over = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(over);
  await server.close();
  while ((await over.handleRequest(request)).status !== 404) await new Promise(setImmediate);
});
