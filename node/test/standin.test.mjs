// While a tool holds JavaScript's thread: what of an existing server is answered all the same, and what waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fixture, withClient } from './client.mjs';

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
const BUSY_MS = 1_500;
const PROMPT_MS = 50;

const WAYS = {
  'serve, sdk 1.x': `
    import { serve } from 'ferromcp';
    import { server } from './fixtures/sdk1.mjs';
    await serve(server);`,
  'serve, server 2.x': `
    import { serve } from 'ferromcp';
    import { server } from './fixtures/sdk2.mjs';
    await serve(server);`,
  'accelerated transport, sdk 1.x': `
    import { accelerate } from 'ferromcp';
    import { StdioServerTransport } from 'ferromcp/sdk';
    import { server } from './fixtures/sdk1.mjs';
    await accelerate(server).connect(new StdioServerTransport());`,
};

const STOCK = {
  'serve, sdk 1.x': `
    import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
    import { server } from './fixtures/sdk1.mjs';
    await server.connect(new StdioServerTransport());`,
  'serve, server 2.x': `
    import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
    import { server } from './fixtures/sdk2.mjs';
    await server.connect(new StdioServerTransport());`,
};

/** Occupies JavaScript's thread; gives the id of the call that does. An answer before it shows that nothing is behind. */
const occupy = async (client, ms = BUSY_MS) => {
  await client.call('echo', { text: '' });
  return client.request('tools/call', { name: 'busy', arguments: { ms } });
};

/** Milliseconds until the answer, and the answer. */
const timed = async (client, method) => {
  const start = performance.now();
  const answer = await client.ask(method);
  return [performance.now() - start, answer];
};

for (const [way, source] of Object.entries(WAYS)) {
  for (const era of ['legacy', 'modern']) {
    test(`${way}, ${era}: lists do not wait for a tool`, async () => {
      await withClient({ source }, async (client) => {
        if (era === 'legacy') await client.initialize();
        const free = {};
        for (const method of LISTS) free[method] = await client.result(method);
        const busy = await occupy(client);
        for (const method of [era === 'legacy' ? 'ping' : 'server/discover', ...LISTS]) {
          // The best of three, because the machine may be at something else.
          const times = [];
          for (let count = 0; count < 3; count++) {
            const [ms, { result }] = await timed(client, method);
            times.push(ms);
            if (method in free) assert.deepEqual(result, free[method]);
          }
          assert.ok(Math.min(...times) < PROMPT_MS, `${method}: ${times.join(', ')} ms`);
        }
        assert.ok(!client.messages.some(({ id }) => id === busy), 'the tool still runs');
        await client.answer(busy);
        assert.deepEqual(await client.result('tools/list'), free['tools/list']);
        assert.equal(await client.end(), 0);
      });
    });
  }
}

test('lists that nobody has asked for are known from the start', async () => {
  await withClient({ source: WAYS['serve, sdk 1.x'] }, async (client) => {
    await client.initialize();
    const busy = await occupy(client);
    assert.equal((await client.result('tools/list')).tools[0].name, 'echo');
    assert.ok(!client.messages.some(({ id }) => id === busy));
  });
});

test('what is answered while a tool runs is what the SDK answers', async () => {
  for (const [way, source] of Object.entries(STOCK)) {
    const ask = (busy) => async (client) => {
      const texts = [JSON.stringify(await client.initialize())];
      if (busy) await occupy(client);
      for (const method of LISTS) texts.push(JSON.stringify(await client.result(method)));
      return texts;
    };
    assert.deepEqual(await withClient({ source: WAYS[way] }, ask(true)), await withClient({ source }, ask(false)), way);
  }
});

test('after a change a list is that of the server', async () => {
  for (const source of Object.values(WAYS)) {
    await withClient({ source }, async (client) => {
      await client.initialize();
      await client.result('tools/list');
      await client.call('grow');
      await occupy(client, 200);
      assert.ok((await client.result('tools/list')).tools.some(({ name }) => name === 'grown'));
      await occupy(client);
      assert.ok((await client.result('tools/list')).tools.some(({ name }) => name === 'grown'));
    });
  }
});

const own = (body) => `
  import { serve } from 'ferromcp';
  import { ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
  import { InitializeRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
  import { server } from './fixtures/sdk1.mjs';
  ${body}`;

/** A list that must come from the server: behind the tool that runs. */
const waits = async (client, method) => {
  const busy = await occupy(client, 200);
  const list = client.request(method);
  await client.answer(busy);
  return (await client.answer(list)).result;
};

test("a program's own handlers are asked each time", async () => {
  const counting = own(`
    let count = 0;
    server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [], _meta: { count: count++ } }));
    await serve(server);`);
  const asking = own(`
    let tools = [];
    server.server.setRequestHandler(ListToolsRequestSchema, (request, { requestId }) => {
      return { tools: Object.keys(server._registeredTools).length > 0 ? [] : tools, _meta: { count: requestId } };
    });
    await serve(server);`);
  for (const source of [counting, asking]) {
    await withClient({ source }, async (client) => {
      await client.initialize();
      const { _meta } = await client.result('tools/list');
      assert.ok((await waits(client, 'tools/list'))._meta.count > _meta.count);
    });
  }
});

test('a handler that takes the place of another while the server runs is asked', async () => {
  const source = own(`
    server.registerTool('replace', {}, () => {
      server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [], _meta: { mine: true } }));
      return { content: [] };
    });
    await serve(server);`);
  await withClient({ source }, async (client) => {
    await client.initialize();
    await client.result('tools/list');
    await client.call('replace');
    assert.deepEqual((await client.result('tools/list'))._meta, { mine: true });
    assert.deepEqual((await waits(client, 'tools/list'))._meta, { mine: true });
  });
});

test('resources that a template lists are asked for each time', async () => {
  const source = own(`
    let count = 0;
    const list = () => ({ resources: [{ uri: 'mem://page/' + count, name: String(count++) }] });
    server.registerResource('page', new ResourceTemplate('mem://page/{id}', { list }), {}, () => ({ contents: [] }));
    await serve(server);`);
  await withClient({ source }, async (client) => {
    await client.initialize();
    assert.equal((await client.result('resources/list')).resources.at(-1).name, '0');
    assert.equal((await waits(client, 'resources/list')).resources.at(-1).name, '1');
  });
});

test('a registration that is changed without a word is shown as it is', async () => {
  const source = own(`
    const quiet = server.registerTool('quiet', { annotations: { title: 'a' } }, () => {
      quiet.annotations.title = 'b';
      return { content: [] };
    });
    await serve(server);`);
  await withClient({ source }, async (client) => {
    await client.initialize();
    const title = async () => (await client.result('tools/list')).tools.find(({ name }) => name === 'quiet').annotations.title;
    assert.equal(await title(), 'a');
    await client.call('quiet');
    // On a busy machine JavaScript may come too late to its first question, and so to what it finds there.
    for (let count = 0; count < 5 && (await title()) !== 'b'; count++);
    assert.equal(await title(), 'b');
  });
});

const HOLD = `
  const end = performance.now() + 1_000;
  while (performance.now() < end);
  console.error('free');`;

test('the handshake does not wait either, and the server learns of it', async () => {
  for (const version of ['2024-11-05', '2025-11-25']) {
    await withClient({ source: own(`await serve(server); ${HOLD}`) }, async (client) => {
      const known = await client.initialize({}, version);
      assert.equal(client.stderr, '');
      assert.equal(known.protocolVersion, version);
      assert.equal(known.instructions, 'A small server for tests.');
      await client.trace('free');
      assert.equal((await client.call('who')).content[0].text, 'tests');
    });
  }
});

test("a program's own handshake is asked", async () => {
  const source = own(`
    server.server.setRequestHandler(InitializeRequestSchema, ({ params: { protocolVersion, clientInfo } }) => {
      return { protocolVersion, capabilities: {}, serverInfo: { name: clientInfo.name, version: '1' } };
    });
    await serve(server);
    ${HOLD}`);
  await withClient({ source }, async (client) => {
    assert.equal((await client.initialize()).serverInfo.name, 'tests');
    assert.match(client.stderr, /free/);
  });
});
