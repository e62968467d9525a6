// A server over HTTP: our own listener, and the handlers for somebody else's.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';

import { ConfigurationError, Server, SystemError, toFetchHandler, toNodeHandler } from 'ferromcp';

import { CARRIERS, events, listening, message, messages, modern, Session } from './carriers.mjs';

/** What the tests call. `seen.over` is settled with why the tool `wait` was told to stop. */
function served(options) {
  const server = new Server('test', options);
  const seen = {};
  const over = new Promise((resolve) => (seen.stopped = resolve));
  const begun = new Promise((resolve) => (seen.begin = resolve));
  Object.assign(seen, { over, begun });
  server.tool('add', { inputSchema: { type: 'object' } }, ({ a, b }) => String(a + b));
  server.tool('echo', { inputSchema: { type: 'object' } }, async ({ text }) => text);
  server.tool('steps', {}, async (_, context) => {
    for (const step of [1, 2]) {
      context.reportProgress(step, 2);
      await new Promise(setImmediate);
    }
    return 'done';
  });
  server.tool('wait', {}, async (_, context) => {
    seen.begin();
    context.reportProgress(1);
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    seen.stopped(context.cancelReason);
    return 'late';
  });
  server.tool('ask', {}, async (_, context) => {
    const { action } = await context.elicit('Sure?', { type: 'object', properties: { yes: { type: 'boolean' } } });
    return action;
  });
  server.tool('leave', {}, async (_, context) => {
    const closed = context.closeSSEStream();
    await new Promise(setImmediate);
    return `closed: ${closed}`;
  });
  return { server, seen };
}

for (const [name, carry] of Object.entries(CARRIERS)) {
  const carrying = (what, body, options = {}) => {
    test(`${name}: ${what}`, async () => {
      const { server, seen } = served();
      await carry(server, options, (url, send) => body({ url, send, server, seen, ask: modern(url, send) }));
    });
  };

  carrying('a modern call is one JSON object', async ({ url, send, ask }) => {
    const response = await ask('tools/call', { name: 'add', arguments: { a: 1, b: 2 } });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal((await response.json()).result.content[0].text, '3');
    const unknown = await ask('no/such');
    assert.deepEqual([unknown.status, (await unknown.json()).error.code], [404, -32601]);
    // The headers have to say what the body says.
    const lying = await modern(url, send, { 'mcp-name': 'other' })('tools/call', { name: 'add', arguments: {} });
    assert.deepEqual([lying.status, (await lying.json()).error.code], [400, -32020]);
    assert.equal((await send(url, { method: 'PUT', body: '{}' })).status, 405);
  });

  carrying('progress makes a stream of an answer', async ({ ask }) => {
    const response = await ask('tools/call', { name: 'steps', arguments: {} }, { meta: { progressToken: 7 } });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const [first, second, answer] = await messages(response);
    assert.deepEqual([first, second].map(({ params }) => [params.progressToken, params.progress]), [[7, 1], [7, 2]]);
    assert.equal(answer.result.content[0].text, 'done');
  });

  carrying('a legacy client has a session until it deletes it', async ({ url, send }) => {
    const session = await Session.open(url, send);
    assert.equal(session.known.protocolVersion, '2025-11-25');
    assert.match(session.id, /^[\x21-\x7e]+$/);
    assert.deepEqual([session.begun.status, await session.begun.text()], [202, '']);
    const call = { name: 'add', arguments: { a: 2, b: 2 } };
    assert.equal((await message(await session.ask('tools/call', call))).result.content[0].text, '4');
    const other = await session.ask('tools/call', call, { 'mcp-session-id': 'other' });
    assert.equal(other.status, 404);
    assert.equal((await session.delete()).status, 204);
    assert.equal((await session.ask('tools/call', call)).status, 404);
  });

  carrying('without sessions a legacy request stands for itself', async ({ url, send }) => {
    const session = await Session.open(url, send);
    assert.equal(session.id, null);
    const answer = await message(await session.ask('tools/call', { name: 'add', arguments: { a: 2, b: 3 } }));
    assert.equal(answer.result.content[0].text, '5');
  }, { sessions: false });

  carrying('a session is told of changes on its GET stream', async ({ url, send, server }) => {
    const session = await Session.open(url, send);
    const stream = events(await session.get());
    await stream.next();
    server.tool('more', {}, () => '');
    assert.equal((await stream.next()).value.message.method, 'notifications/tools/list_changed');
    await stream.return();
  });

  carrying('a modern client listens for changes until the server ends', async ({ ask, server }) => {
    const stream = events(await ask('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    assert.equal((await stream.next()).value.message.method, 'notifications/subscriptions/acknowledged');
    server.tool('more', {}, () => '');
    assert.equal((await stream.next()).value.message.method, 'notifications/tools/list_changed');
    server.stop();
    assert.equal((await stream.next()).value.message.result.resultType, 'complete');
    assert.equal((await stream.next()).done, true);
  });

  carrying('a legacy client is asked in the stream of its call', async ({ url, send }) => {
    const session = await Session.open(url, send, { elicitation: {} });
    const stream = events(await session.ask('tools/call', { name: 'ask', arguments: {} }));
    await stream.next();
    const { id, method } = (await stream.next()).value.message;
    assert.equal(method, 'elicitation/create');
    assert.equal((await session.post({ jsonrpc: '2.0', id, result: { action: 'decline' } })).status, 202);
    assert.equal((await stream.next()).value.message.result.content[0].text, 'decline');
  });

  carrying('a call that has closed its stream is answered to who comes back', async ({ url, send }) => {
    const session = await Session.open(url, send);
    const first = [];
    for await (const event of events(await session.ask('tools/call', { name: 'leave', arguments: {} }))) first.push(event);
    assert.ok(first.length > 0 && first.every(({ message }) => message?.result === undefined));
    const again = await session.get({ 'last-event-id': first.at(-1).id });
    assert.equal((await message(again)).result.content[0].text, 'closed: true');
  });

  carrying('a client that goes away cancels a modern call', async ({ ask, seen }) => {
    const controller = new AbortController();
    const response = await ask('tools/call', { name: 'wait', arguments: {} }, { signal: controller.signal, meta: { progressToken: 1 } });
    const stream = events(response);
    assert.equal((await stream.next()).value.message.method, 'notifications/progress');
    controller.abort();
    assert.equal(typeof (await seen.over), 'string');
    await assert.rejects(stream.next());
  });

  carrying('a client that goes away before there is a response cancels too', async ({ ask, seen }) => {
    const controller = new AbortController();
    const response = ask('tools/call', { name: 'wait', arguments: {} }, { signal: controller.signal });
    await seen.begun;
    controller.abort();
    await assert.rejects(response);
    assert.equal(typeof (await seen.over), 'string');
  });

  carrying('a body that is too long is refused', async ({ url, send, ask }) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const response = await send(url, { method: 'POST', headers, body: ' '.repeat(2_000) });
    assert.equal(response.status, 413);
    assert.match((await response.json()).error.message, /1000/);
    assert.equal((await ask('server/discover')).status, 200);
  }, { maxBodyBytes: 1_000 });

  carrying('large answers arrive whole, as one object and in a stream', async ({ url, send, ask }) => {
    const text = 'é'.repeat(1 << 20);
    const plain = await ask('tools/call', { name: 'echo', arguments: { text } });
    assert.equal((await plain.json()).result.content[0].text, text);
    const streaming = modern(url, send, { accept: 'text/event-stream' });
    const stream = await streaming('tools/call', { name: 'echo', arguments: { text } });
    assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    assert.equal((await message(stream)).result.content[0].text, text);
  });

  carrying('hosts and origins that are not known are refused', async ({ url, send, ask }) => {
    assert.equal((await ask('server/discover')).status, 200);
    const strange = await modern(url, send, { origin: 'https://evil.example' })('server/discover');
    assert.equal(strange.status, 403);
    const known = await modern(url, send, { origin: 'https://app.example' })('server/discover');
    assert.deepEqual([known.status, known.headers.get('access-control-allow-origin')], [200, 'https://app.example']);
  }, { allowedOrigins: ['https://app.example'] });
}

test('listen says where, and fails where that is taken', async () => {
  const { server } = served();
  const http = await server.listen({ port: 0, path: '/here', announce: false });
  assert.equal(http.url, `http://127.0.0.1:${http.port}/here`);
  assert.equal(http.host, '127.0.0.1');
  await assert.rejects(new Server('other').listen({ port: http.port, announce: false }), SystemError);
  await assert.rejects(server.listen({ port: 0 }), ConfigurationError);
  await http.close();
  await http.finished;
  // A server that is over may be started again.
  await (await server.listen({ port: 0, announce: false })).close();
});

test('wrong options are errors at once', async () => {
  const { server } = served();
  for (const wrong of [{ prot: 1 }, { path: 'mcp' }, { sessions: 1 }]) {
    assert.throws(() => toNodeHandler(server, wrong), ConfigurationError);
    assert.throws(() => toFetchHandler(server, wrong), ConfigurationError);
    await assert.rejects(server.listen({ port: 0, ...wrong }), ConfigurationError);
  }
  await assert.rejects(server.run('htp'), ConfigurationError);
});

test('a handler of a server that was stopped says that it is unavailable', async () => {
  const { server } = served();
  await listening(toNodeHandler(server), async (url) => {
    const ask = modern(url, fetch);
    assert.equal((await ask('server/discover')).status, 200);
    server.stop();
    // Until the end has begun, it serves.
    let status = 200;
    while (status === 200) ({ status } = await ask('server/discover'));
    assert.equal(status, 503);
  });
});

test('a body in pieces that is too long is refused before it has ended', async () => {
  const { server } = served();
  await listening(toNodeHandler(server, { maxBodyBytes: 1_000 }), async (url) => {
    const status = await new Promise((resolve, reject) => {
      const sending = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } });
      sending.on('response', (response) => resolve(response.statusCode)).on('error', reject);
      // Its end is never sent.
      sending.write(' '.repeat(600));
      sending.write(' '.repeat(600));
    });
    assert.equal(status, 413);
  });
  server.stop();
});

test('bodies that were read before are served', async () => {
  const { server } = served();
  const handler = toNodeHandler(server);
  const read = async (incoming) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const ways = {
    bytes: async (incoming, response) => handler(incoming, response, await read(incoming)),
    value: async (incoming, response) => handler(incoming, response, JSON.parse(await read(incoming))),
    member: async (incoming, response) => handler(Object.assign(incoming, { body: JSON.parse(await read(incoming)) }), response, () => {}),
    // As a parser leaves it that has not read it.
    unread: async (incoming, response) => handler(Object.assign(incoming, { body: {} }), response, () => {}),
  };
  for (const [name, way] of Object.entries(ways)) {
    await listening(way, async (url) => {
      const response = await modern(url, fetch)('tools/call', { name: 'add', arguments: { a: 1, b: 2 } });
      assert.equal((await response.json()).result?.content[0].text, '3', name);
    });
  }
  server.stop();
  const fetched = toFetchHandler(served().server);
  const parsedBody = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  const used = new Request('http://localhost/mcp', init);
  await used.text();
  await assert.rejects(fetched(used), TypeError);
  assert.equal((await (await fetched(used, { parsedBody })).json()).result.serverInfo.name, 'test');
});

test('a session is there for its principal alone', async () => {
  const ways = [
    [{}, (name) => ({ auth: { clientId: name } })],
    [{ principal: (incoming) => incoming.user }, (name) => ({ user: name })],
  ];
  for (const [options, who] of ways) {
    const { server } = served();
    server.tool('who', {}, (_, context) => `${context.principal}`);
    const handler = toNodeHandler(server, options);
    await listening(
      (incoming, response) => handler(Object.assign(incoming, who(incoming.headers['x-user'])), response),
      async (url) => {
        const session = await Session.open(url, fetch, {}, { 'x-user': 'ann' });
        const who = await message(await session.ask('tools/call', { name: 'who', arguments: {} }));
        assert.equal(who.result.content[0].text, 'ann');
        assert.equal((await session.ask('ping', {}, { 'x-user': 'bob' })).status, 404);
      },
    );
    server.stop();
  }
});

test('a stream of fetch is made as far as it is read', async () => {
  const { server } = served();
  const handler = toFetchHandler(server);
  const ask = modern('http://localhost/', (url, init) => handler(new Request(url, init)));
  const response = await ask('tools/call', { name: 'steps', arguments: {} }, { meta: { progressToken: 1 } });
  const reader = response.body.getReader();
  assert.match(Buffer.from((await reader.read()).value).toString(), /^data: /);
  await reader.cancel();
  server.stop();
});
