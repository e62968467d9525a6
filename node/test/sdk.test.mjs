// Servers of the official SDKs on the engine: `ferromcp run`, the drop-in transports, `serve`.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { accelerate, ConfigurationError, serve } from 'ferromcp';
import { StdioServerTransport } from 'ferromcp/sdk';
import { StdioServerTransport as StdioServerTransport2 } from 'ferromcp/server';

import { cli, fixture, withClient } from './client.mjs';

const run = (...args) => ({ args: [cli, 'run', ...args] });
const importing = (text) => ({ source: text });
const sdk1 = fixture('sdk1.mjs');
const sdk2 = fixture('sdk2.mjs');

// Every way to serve the fixtures with all their tools; in each the client may be of either era.
const WAYS = {
  'run, sdk 1.x': run(sdk1),
  'run, sdk 1.x, by name': run(`${sdk1}:server`),
  'run, sdk 1.x that connects itself': run(fixture('sdk1-connects.mjs')),
  'run, server 2.x': run(sdk2),
  'run, server 2.x that connects itself': run(fixture('sdk2-connects.mjs')),
  'transport, sdk 1.x': importing(`
    import { StdioServerTransport } from 'ferromcp/sdk';
    import { server } from './fixtures/sdk1.mjs';
    await server.connect(new StdioServerTransport());`),
  'transport, server 2.x': importing(`
    import { StdioServerTransport } from 'ferromcp/server';
    import { server } from './fixtures/sdk2.mjs';
    await server.connect(new StdioServerTransport());`),
  'serve, sdk 1.x': importing(`
    import { serve } from 'ferromcp';
    import { server } from './fixtures/sdk1.mjs';
    await serve(server);`),
  'accelerated, sdk 1.x': importing(`
    import { accelerate, serve } from 'ferromcp';
    import { server } from './fixtures/sdk1.mjs';
    await serve(accelerate(server, { onFallback: console.error }));`),
  'accelerated transport, server 2.x': importing(`
    import { accelerate } from 'ferromcp';
    import { StdioServerTransport } from 'ferromcp/server';
    import { server } from './fixtures/sdk2.mjs';
    await accelerate(server).connect(new StdioServerTransport());`),
  'serve, server 2.x': importing(`
    import { serve } from 'ferromcp';
    import { server } from './fixtures/sdk2.mjs';
    await serve(server);`),
};

for (const [way, command] of Object.entries(WAYS)) {
  for (const era of ['legacy', 'modern']) {
    test(`${way}: ${era}`, async () => {
      await withClient(command, async (client) => {
        const legacy = era === 'legacy';
        const known = legacy ? await client.initialize({ elicitation: {} }, '2025-06-18') : await client.result('server/discover');
        assert.equal(known.instructions, 'A small server for tests.');
        if (legacy) assert.equal(known.protocolVersion, '2025-06-18');
        assert.deepEqual((await client.result('tools/list')).tools.slice(0, 2).map(({ name }) => name), ['echo', 'add']);
        assert.equal((await client.call('echo', { text: 'é' })).content[0].text, 'é');
        const sum = await client.call('add', { a: 1, b: 2 });
        assert.deepEqual(sum.structuredContent, { sum: 3 });
        assert.equal(sum.resultType, legacy ? undefined : 'complete');
        assert.equal((await client.call('who')).content[0].text, 'tests');
        assert.equal((await client.result('resources/read', { uri: 'mem://item/7' })).contents[0].text, 'item 7');
        const prompt = await client.result('prompts/get', { name: 'ask', arguments: { topic: 'MCP' } });
        assert.equal(prompt.messages[0].content.text, 'Tell me about MCP');

        const counting = client.request('tools/call', { name: 'progress', arguments: { n: 2 } });
        await client.answer(counting);
        const steps = client.messages.filter(({ method }) => method === 'notifications/progress');
        assert.deepEqual(steps.map(({ params }) => [params.progressToken, params.progress]), [[counting, 1], [counting, 2]]);

        // Cancelled, and not answered.
        const waiting = client.request('tools/call', { name: 'wait', arguments: {} });
        await client.call('echo', { text: 'between' });
        client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: waiting } });
        await client.trace('aborted');

        // What is printed stays off the wire; the protocol does not wait for JavaScript.
        assert.equal((await client.call('noisy')).content[0].text, 'quiet');
        const busy = client.request('tools/call', { name: 'busy', arguments: { ms: 500 } });
        await client.answer(client.request(legacy ? 'ping' : 'server/discover'));
        assert.ok(!client.messages.some(({ id }) => id === busy || id === waiting));
        await client.answer(busy);

        assert.equal(await client.end(), 0, 'though a timer is alive');
      });
    });
  }
}

test('run, a CommonJS file that connects itself', async () => {
  await withClient(run(fixture('sdk1-connects.cjs')), async (client) => {
    assert.ok((await client.result('server/discover')).supportedVersions.includes('2026-07-28'));
    assert.equal((await client.call('echo', { text: 'a' })).content[0].text, 'a');
    assert.equal(await client.end(), 0);
  });
});

test('a server asks its client, and tells of changes', async () => {
  for (const way of ['serve, sdk 1.x', 'serve, server 2.x', 'accelerated, sdk 1.x', 'accelerated transport, server 2.x']) {
    await withClient(WAYS[way], async (client) => {
      await client.initialize({ elicitation: {} });
      const asking = client.request('tools/call', { name: 'ask', arguments: {} });
      const asked = await client.message(({ method }) => method === 'elicitation/create');
      client.send({ jsonrpc: '2.0', id: asked.id, result: { action: 'decline' } });
      assert.equal((await client.answer(asking)).result.content[0].text, 'decline', way);
      await client.call('grow');
      await client.message(({ method }) => method === 'notifications/tools/list_changed');
      assert.ok((await client.result('tools/list')).tools.some(({ name }) => name === 'grown'));
    });
  }
});

// Ways to let calls of modern clients wait here for what the server asks.
const HELD = {
  'run, sdk 1.x': run('--ask', 'held', sdk1),
  'run, sdk 1.x that connects itself': run('--ask=held', fixture('sdk1-connects.mjs')),
  'run, server 2.x': run('--ask', 'held', sdk2),
  'serve, sdk 1.x': importing(`
    import { accelerate, serve } from 'ferromcp';
    import { server } from './fixtures/sdk1.mjs';
    await serve(accelerate(server), { ask: 'held' });`),
  'transport, server 2.x': importing(`
    import { StdioServerTransport } from 'ferromcp/server';
    import { server } from './fixtures/sdk2.mjs';
    await server.connect(new StdioServerTransport(undefined, undefined, { ask: 'held' }));`),
};

for (const [way, command] of Object.entries(HELD)) {
  test(`${way}: a modern client is asked, and its call waits`, async () => {
    await withClient(command, async (client) => {
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
      const begin = (more = {}) => client.request('tools/call', { name: 'ask', arguments: {}, ...more, _meta });
      const call = async (more) => (await client.answer(begin(more))).result;
      // Two at once: each answer goes to the call that asked.
      const ids = [begin(), begin()];
      const rounds = [];
      for (const id of ids) rounds.push((await client.answer(id)).result);
      const answer = async ({ resultType, inputRequests, requestState }, action) => {
        assert.equal(resultType, 'input_required');
        const [[key, { method, params }]] = Object.entries(inputRequests);
        assert.deepEqual([method, params.message], ['elicitation/create', 'Well?']);
        return (await call({ requestState, inputResponses: { [key]: { action } } })).content[0].text;
      };
      assert.equal(await answer(rounds[1], 'decline'), 'decline');
      assert.equal(await answer(rounds[0], 'cancel'), 'cancel');
      // One that nobody comes back to ends with its client.
      await call();
      assert.equal(await client.end(), 0);
    });
  });
}

test('without it a modern client is not asked, and who can not be asked is not', async () => {
  const ask = async (client, capabilities) => {
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const { isError, content } = await client.result('tools/call', { name: 'ask', arguments: {}, _meta });
    return [isError, content[0].text];
  };
  await withClient(WAYS['serve, sdk 1.x'], async (client) => {
    const [isError, text] = await ask(client, { elicitation: {} });
    assert.ok(isError && /no requests|request/i.test(text), text);
  });
  await withClient(HELD['serve, sdk 1.x'], async (client) => {
    const [isError, text] = await ask(client, {});
    assert.ok(isError && /elicitation/.test(text), text);
  });
});

test('a modern client gets the changes that it listens for', async () => {
  for (const way of ['serve, sdk 1.x', 'run, server 2.x']) {
    await withClient(WAYS[way], async (client) => {
      client.request('subscriptions/listen', { notifications: { toolsListChanged: true } });
      await client.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
      await client.call('grow');
      await client.message(({ method }) => method === 'notifications/tools/list_changed');
    });
  }
});

const FACTORIES = {
  'serveStdio of their own': run(fixture('sdk2-serves.mjs')),
  'a factory that is exported': { ...run(`${fixture('sdk2-serves.mjs')}:factory`), env: { ONLY_EXPORT: '1' } },
  'our serveStdio': {
    ...importing(`
      import { serveStdio } from 'ferromcp/server';
      import { factory } from './fixtures/sdk2-serves.mjs';
      serveStdio(factory);`),
    env: { ONLY_EXPORT: '1' },
  },
  'serve(factory)': {
    ...importing(`
      import { serve } from 'ferromcp';
      import { factory } from './fixtures/sdk2-serves.mjs';
      await serve(factory);`),
    env: { ONLY_EXPORT: '1' },
  },
};

for (const [way, command] of Object.entries(FACTORIES)) {
  for (const era of ['legacy', 'modern']) {
    test(`server 2.x, ${way}: ${era}`, async () => {
      await withClient(command, async (client) => {
        if (era === 'legacy') await client.initialize();
        else assert.ok((await client.result('server/discover')).supportedVersions.includes('2026-07-28'));
        assert.equal((await client.call('echo', { text: 'é' })).content[0].text, 'é');
        if (era === 'modern') {
          const listening = client.request('subscriptions/listen', { notifications: { toolsListChanged: true } });
          const { params } = await client.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
          assert.equal(params._meta['io.modelcontextprotocol/subscriptionId'], listening);
        }
        await client.call('grow');
        await client.message(({ method }) => method === 'notifications/tools/list_changed');
        assert.equal(await client.end(), 0);
      });
    });
  }
}

test('the short way answers as the long one does', async () => {
  for (const [long, short] of [['serve, sdk 1.x', 'accelerated, sdk 1.x'], ['serve, server 2.x', 'accelerated transport, server 2.x']]) {
    const answers = (way) =>
      withClient(WAYS[way], async (client) => {
        const all = [];
        for (const [name, args] of [['echo', { text: 'a' }], ['echo', { text: 5 }], ['echo', {}], ['add', { a: 1, b: 2 }], ['nothing', {}]]) {
          all.push(await client.ask('tools/call', { name, arguments: args }));
        }
        assert.equal(client.stderr, '', 'there is no fallback');
        return all;
      });
    assert.deepEqual(await answers(short), await answers(long), short);
  }
});

test('only servers that are known are accelerated', () => {
  const reasons = [];
  const onFallback = (reason) => reasons.push(reason);
  const odd = { server: { connect() {}, _requestHandlers: {} } };
  assert.equal(accelerate(odd, { onFallback }), odd);
  const inner = { _requestHandlers: new Map(), connect() {}, notification() {} };
  const { connect } = inner;
  assert.equal(accelerate(inner, { onFallback }), inner);
  assert.equal(reasons.length, 1, 'by their shape');
  assert.notEqual(inner.connect, connect);
});

test('what can not be served is said', async () => {
  await assert.rejects(serve({}), ConfigurationError);
  assert.throws(() => new StdioServerTransport(undefined, undefined, { ask: 'replay' }), ConfigurationError);
  for (const Transport of [StdioServerTransport, StdioServerTransport2]) {
    assert.throws(() => new Transport(process.stderr), ConfigurationError);
  }
  for (const [command, wanted] of [
    [run(`${sdk1}:nothing`), /no server called nothing/],
    [{ args: [cli] }, /usage: ferromcp run/],
    [{ args: [cli, 'run', '--wrong', sdk1] }, /--wrong/],
    [run('--ask', 'replay', sdk1), /--ask replay/],
  ]) {
    await withClient(command, async (client) => {
      assert.equal(await client.exited, 2);
      assert.match(client.stderr, wanted);
    });
  }
});

test('the drop-in for CommonJS is the same class', () => {
  const require = createRequire(import.meta.url);
  assert.equal(require('ferromcp/sdk').StdioServerTransport, StdioServerTransport);
  assert.equal(require('ferromcp/server').StdioServerTransport, StdioServerTransport2);
});
