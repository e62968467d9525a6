// Programs that serve over HTTP: `run('http')`, the command, and apps of Express, Fastify and Hono.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import express from 'express';
import fastify from 'fastify';
import { ConfigurationError, serve, Server, toFetchHandler, toNodeHandler } from 'ferromcp';
import { Hono } from 'hono';

import { listening, META, modern } from './carriers.mjs';
import { cli, fixture, withClient } from './client.mjs';

const echo = { name: 'echo', arguments: { text: 'é' } };

/** What the answer to a call says. */
async function said(url, send = fetch) {
  const response = await modern(url, send)('tools/call', echo);
  const { result, error } = await response.json();
  assert.equal(error, undefined, JSON.stringify(error));
  return result.content[0].text;
}

function echoing() {
  return new Server('test').tool('echo', { inputSchema: { type: 'object' } }, ({ text }) => text);
}

/** The address that a program says it listens on. */
async function announced(client) {
  await client.trace('Listening on ');
  return /Listening on (\S+)\n/.exec(client.stderr)[1];
}

const SOURCE = `
  import { serve, Server } from 'ferromcp';
  const server = new Server('test').tool('echo', { inputSchema: { type: 'object' } }, ({ text }) => text);
  server.tool('spin', {}, () => { console.error('spinning'); for (;;); });
  server.tool('wait', {}, () => new Promise(() => {}));
`;

const PROGRAMS = {
  run: `${SOURCE} await server.run('http', { port: 0, path: '/here' });`,
  serve: `${SOURCE} await serve(server, { transport: 'http', port: 0, path: '/here' });`,
};

for (const [name, source] of Object.entries(PROGRAMS)) {
  test(`${name} serves over HTTP until a signal ends it in good order`, async () => {
    for (const [signal, code] of [['SIGTERM', 143], ['SIGINT', 130]]) {
      await withClient({ source }, async (client) => {
        const url = await announced(client);
        assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/here$/);
        assert.equal(await said(url), 'é');
        client.child.kill(signal);
        assert.equal(await client.exited, code);
      });
    }
  });
}

test('a signal ends a server whose function never gives the thread back', async () => {
  await withClient({ source: `${SOURCE} await server.run('http', { port: 0, shutdownMs: 200 });` }, async (client) => {
    const url = await announced(client);
    const spinning = modern(url, fetch)('tools/call', { name: 'spin', arguments: {} }).catch(() => {});
    await client.trace('spinning');
    // The protocol does not wait for JavaScript.
    assert.equal((await modern(url, fetch)('server/discover')).status, 200);
    client.child.kill('SIGTERM');
    assert.equal(await client.exited, 143);
    await spinning;
  });
});

test('the command serves a server over HTTP', async () => {
  const args = [cli, 'run', '--http', '--port', '0', '--path', '/x', '--host', 'localhost', fixture('served.mjs')];
  await withClient({ args }, async (client) => {
    const url = await announced(client);
    assert.ok(url.endsWith('/x'));
    assert.equal(await said(url), 'é');
    client.child.kill('SIGTERM');
    assert.equal(await client.exited, 143);
  });
  for (const [wrong, reason] of [
    [['--port', '1'], '--port: only with --http'],
    [['--http', '--port', 'x'], '--port x: must be a number'],
    [['--http', '--path', 'x'], 'path'],
  ]) {
    await withClient({ args: [cli, 'run', ...wrong, fixture('served.mjs')] }, async (client) => {
      assert.equal(await client.exited, 2, client.stderr);
      assert.ok(client.stderr.includes(reason), client.stderr);
    });
  }
  await withClient({ args: [cli, 'run', '--http', '--port', '0', fixture('sdk1.mjs')] }, async (client) => {
    assert.equal(await client.exited, 2);
    assert.match(client.stderr, /over HTTP/);
  });
});

test('a program ends when its own listener does', async () => {
  const source = `${SOURCE}
    import { createServer } from 'node:http';
    import { toNodeHandler } from 'ferromcp';
    const listener = createServer(toNodeHandler(server)).listen(0, '127.0.0.1', () => {
      console.error('Listening on http://127.0.0.1:' + listener.address().port + '/');
    });
    process.stdin.on('end', () => { listener.close(); listener.closeAllConnections(); }).resume();`;
  await withClient({ source }, async (client) => {
    const url = await announced(client);
    assert.equal(await said(url), 'é');
    // A call that nobody waits for any more holds nothing up.
    const waiting = modern(url, fetch)('tools/call', { name: 'wait', arguments: {} }).catch(() => {});
    assert.equal(await said(url), 'é');
    assert.equal(await client.end(), 0);
    await waiting;
  });
});

test('an Express app has it as a handler, with parsed bodies and without', async () => {
  const server = echoing();
  const handler = toNodeHandler(server);
  const app = express();
  app.use('/raw', handler);
  app.use(express.json());
  app.all('/parsed', handler);
  app.use('/under', express.Router().all('/mcp', (request, response) => handler(request, response, request.body)));
  await listening(app, async (url) => {
    for (const path of ['/raw', '/parsed', '/under/mcp']) assert.equal(await said(new URL(path, url)), 'é', path);
  });
  server.stop();
});

test('a Fastify app has it as a route', async () => {
  const server = echoing();
  const handler = toNodeHandler(server);
  const app = fastify();
  app.all('/mcp', async (request, reply) => {
    reply.hijack();
    await handler(request.raw, reply.raw, request.body);
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  assert.equal(await said(`${address}/mcp`), 'é');
  await app.close();
  server.stop();
});

test('a Hono app has it as a route', async () => {
  const server = echoing();
  const handler = toFetchHandler(server);
  const app = new Hono();
  app.all('/mcp', (context) => handler(context.req.raw));
  app.mount('/mounted', handler);
  assert.equal(await said('http://localhost/mcp', (url, init) => app.request(url, init)), 'é');
  assert.equal(await said('http://localhost/mounted', (url, init) => app.request(url, init)), 'é');
  server.stop();
});

test('serve refuses over HTTP what has a transport of its own', async () => {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  await assert.rejects(serve(new McpServer({ name: 'x', version: '1' }), { transport: 'http' }), ConfigurationError);
  await assert.rejects(serve(echoing(), { transport: 'smoke', exit: false }), ConfigurationError);
});

/** A call as HTTP has it. */
function calling(name, args = {}) {
  const _meta = { ...META, progressToken: 1 };
  const headers = {
    host: 'localhost',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  };
  return { headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta } } };
}

test('HTTP/2 of Node has it as a handler', async () => {
  const server = echoing();
  const listener = createHttp2Server(toNodeHandler(server)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const session = connect(`http://127.0.0.1:${listener.address().port}`);
  const { headers: { host: _, ...headers }, body } = calling('echo', { text: 'two' });
  const stream = session.request({ ':method': 'POST', ':path': '/mcp', ...headers });
  stream.end(JSON.stringify(body));
  const [{ ':status': status }] = await once(stream, 'response');
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  assert.deepEqual([status, JSON.parse(text).result.content[0].text], [200, 'two']);
  session.close();
  listener.close();
  server.stop();
});

test('a function that ends because its client is gone is no error', async (t) => {
  const said = t.mock.method(console, 'error', () => {});
  const server = echoing();
  const [begun, over] = [new EventEmitter(), new EventEmitter()];
  server.use(async (context, next) => {
    try {
      return await next();
    } finally {
      over.emit('over');
    }
  });
  server.tool('sleep', {}, async (_, { signal }) => {
    begun.emit('begun');
    await sleep(60_000, undefined, { signal });
  });
  await listening(toNodeHandler(server), async (url) => {
    const controller = new AbortController();
    const [started, ended] = [once(begun, 'begun'), once(over, 'over')];
    const response = modern(url, fetch)('tools/call', { name: 'sleep', arguments: {} }, { signal: controller.signal });
    await started;
    controller.abort();
    await assert.rejects(response);
    await ended;
    await new Promise(setImmediate);
  });
  assert.equal(said.mock.callCount(), 0);
  server.stop();
});

/** A response whose client reads when `drain` says so. */
class Slow extends EventEmitter {
  destroyed = false;
  written = [];
  writeHead(status) {
    this.status = status;
  }
  flushHeaders() {}
  write(chunk) {
    this.written.push(Buffer.from(chunk).toString());
    this.emit('written');
    return false;
  }
  end() {
    this.emit('ended');
  }
  destroy() {
    this.destroyed = true;
  }
}

test('who does not read is sent nothing more until it does', async () => {
  const server = echoing();
  const [going, gone] = [new EventEmitter(), new EventEmitter()];
  server.tool('steps', {}, async (_, context) => {
    context.reportProgress(1);
    await once(going, 'go');
    context.reportProgress(2);
    return 'done';
  });
  server.tool('wait', {}, async (_, context) => {
    context.reportProgress(1);
    await once(context.signal, 'abort');
    gone.emit('gone');
  });
  const handler = toNodeHandler(server);
  const serving = (name, response) => {
    const { headers, body } = calling(name);
    const rawHeaders = Object.entries(headers).flat();
    const request = { method: 'POST', url: '/', rawHeaders, readableDidRead: true, body, socket: {} };
    return handler(Object.assign(new EventEmitter(), request), response);
  };
  const slow = new Slow();
  const served = serving('steps', slow);
  await once(slow, 'written');
  going.emit('go');
  // Another call has gone all the way meanwhile.
  const { headers, body } = calling('echo', { text: 'x' });
  const other = answering(handler, headers);
  assert.match(await other(body), /"x"/);
  assert.equal(slow.written.length, 1);
  slow.emit('drain');
  await once(slow, 'written');
  slow.emit('drain');
  await served;
  assert.match(slow.written.join(''), /"progress":1.*"progress":2.*"done"/s);
  assert.equal(slow.listenerCount('drain') + slow.listenerCount('close'), 0);

  // One that goes away while it does not read is gone all the same.
  const leaving = new Slow();
  const left = serving('wait', leaving);
  await once(leaving, 'written');
  const told = once(gone, 'gone');
  // In place of a socket, which would keep the program alive.
  const alive = setInterval(() => {}, 60_000);
  leaving.emit('close');
  await Promise.all([left, told]).finally(() => clearInterval(alive));
  server.stop();
});

/** What a handler of `node:http` answers as one object. */
function answering(handler, headers) {
  return async (body) => {
    const request = { method: 'POST', url: '/', rawHeaders: Object.entries(headers).flat(), readableDidRead: true, body, socket: {} };
    const response = Object.assign(new Slow(), { end: (chunk) => (response.text = Buffer.from(chunk).toString()) });
    await handler(Object.assign(new EventEmitter(), request), response);
    return response.text;
  };
}
