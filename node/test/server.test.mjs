// The native server as a process: what reaches the wire, what waits for JavaScript's thread, and how it ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fixture, withClient, withServer } from './client.mjs';

const native = { args: [fixture('native.mjs')] };

for (const era of ['legacy', 'modern']) {
  test(`${era}: a ping is answered in under 50 ms while a tool spins for 2 s`, async () => {
    await withClient(native, async (client) => {
      if (era === 'legacy') await client.initialize();
      await client.call('echo', { text: 'awake' });
      const spinning = client.request('tools/call', { name: 'busy', arguments: { ms: 2000 } });
      const methods = era === 'legacy' ? ['ping', 'tools/list', 'prompts/list'] : ['server/discover', 'tools/list', 'resources/list'];
      const took = [];
      for (let round = 0; round < 8; round++) {
        for (const method of methods) {
          const began = performance.now();
          await client.result(method);
          took.push(performance.now() - began);
        }
      }
      const unknown = await client.ask('nothing/such');
      assert.equal(unknown.error.code, -32601);
      assert.ok(!client.messages.some(({ id }) => id === spinning), 'the tool was done before');
      took.sort((a, b) => a - b);
      assert.ok(took[took.length >> 1] < 50, `median of ${took.length}: ${took[took.length >> 1]} ms`);
      assert.ok(took.at(-2) < 50, `all but one: ${took.at(-2)} ms`);
    });
  });
}

test('nothing that is printed reaches the wire', async () => {
  await withClient(native, async (client) => {
    // Whatever is no message would fail in the client.
    assert.equal((await client.call('noisy', { text: 'a' })).content[0].text, 'a');
    assert.equal((await client.call('rawnoise', { text: 'b' })).content[0].text, 'b');
    assert.equal((await client.call('childcat')).content[0].text, '0');
    assert.equal(await client.end(), 0);
    for (const noise of ['noise: a', 'raw noise', 'stream noise', 'child noise']) assert.ok(client.stderr.includes(noise), noise);
  });
});

test('the end of input drains, then the process exits 0 though timers are alive', async () => {
  await withClient(native, async (client) => {
    await client.call('timer');
    const slow = client.request('tools/call', { name: 'slow', arguments: { ms: 200 } });
    assert.equal(await client.end(), 0);
    assert.equal((await client.answer(slow)).result.content[0].text, 'done');
  });
});

test('calls in flight at the end get a bounded time, and the process exits all the same', async () => {
  for (const name of ['slow', 'busy']) {
    await withClient({ args: [fixture('native.mjs'), '--drain', '0.1'] }, async (client) => {
      client.request('tools/call', { name, arguments: { ms: 60_000 } });
      await client.result('server/discover');
      const began = performance.now();
      assert.equal(await client.end(), 0, name);
      assert.ok(performance.now() - began < 5_000, name);
    });
  }
});

test('signals end the process in good order, also while a tool blocks', async () => {
  for (const [signal, code] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]]) {
    await withClient(native, async (client) => {
      await client.call('echo', { text: 'up' });
      client.child.kill(signal);
      assert.equal(await client.exited, code);
    });
  }
  const declare = `server.tool('spin', {}, () => { console.error('spinning'); for (;;); });`;
  await withServer(declare, async (client) => {
    client.request('tools/call', { name: 'spin', arguments: {} });
    await client.trace('spinning');
    client.child.kill('SIGTERM');
    assert.equal(await client.exited, 143);
  });
});

test("a signal that the program listens for is the program's", async () => {
  const declare = `
    server.tool('listen', {}, () => { process.on('SIGINT', () => console.error('later')); });
    process.on('SIGTERM', () => console.error('mine'));`;
  await withServer(declare, async (client) => {
    await client.call('listen');
    for (const [signal, text] of [['SIGTERM', 'mine'], ['SIGINT', 'later']]) {
      client.child.kill(signal);
      await client.trace(text);
    }
    await client.result('server/discover');
    assert.equal(await client.end(), 0);
  });
});

test('cancellation aborts the signal, and a function that never gives the loop back can ask', async () => {
  const declare = `
    server.tool('wait', {}, (_, { signal }) => new Promise((_, reject) => {
      console.error('wait begins');
      signal.addEventListener('abort', () => { console.error('aborted: ' + signal.reason.message); reject(signal.reason); });
    }));
    server.tool('spin', {}, (_, context) => {
      console.error('spin begins, reason: ' + context.cancelReason);
      while (!context.cancelled);
      console.error('seen: ' + context.cancelReason);
    });`;
  await withServer(declare, async (client) => {
    for (const [name, trace] of [['wait', 'aborted: enough'], ['spin', 'seen: enough']]) {
      const requestId = client.request('tools/call', { name, arguments: {} });
      await client.trace(`${name} begins`);
      client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'enough' } });
      await client.trace(trace);
      await client.result('server/discover');
      assert.ok(!client.messages.some(({ id }) => id === requestId), 'a cancelled request is answered');
    }
    assert.ok(client.stderr.includes('spin begins, reason: undefined'), 'there is a reason before there is one');
  });
});

test('a call that is cancelled before JavaScript has seen it is never run', async () => {
  const declare = `
    server.tool('spin', {}, () => { console.error('spinning'); const end = performance.now() + 400; while (performance.now() < end); });
    server.tool('trace', {}, () => { console.error('it ran'); return 'done'; });`;
  await withServer(declare, async (client) => {
    const spinning = client.request('tools/call', { name: 'spin', arguments: {} });
    await client.trace('spinning');
    const requestId = client.request('tools/call', { name: 'trace', arguments: {} });
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    await client.result('server/discover');
    assert.ok(!client.messages.some(({ id }) => id === spinning), 'it was over before');
    await client.answer(spinning);
    await client.result('tools/list');
    assert.ok(!client.stderr.includes('it ran'));
    assert.equal((await client.call('trace')).content[0].text, 'done');
  });
});

test('progress, log and what is known of the request', async () => {
  const declare = `
    server.tool('tell', {}, async (_, context) => {
      context.reportProgress(1, 2, 'half');
      context.info({ a: 1n }, 'me');
      const { method, protocolVersion, clientInfo, meta, requestId } = context;
      return { content: [{ type: 'text', text: JSON.stringify({ method, protocolVersion, client: clientInfo.name, requestId, x: meta.x }) }] };
    });`;
  await withServer(declare, async (client) => {
    const _meta = { x: 'y', 'io.modelcontextprotocol/logLevel': 'info' };
    const id = client.request('tools/call', { name: 'tell', arguments: {}, _meta });
    const { result } = await client.answer(id);
    const seen = JSON.parse(result.content[0].text);
    assert.deepEqual(seen, { method: 'tools/call', protocolVersion: '2026-07-28', client: 'tests', requestId: id, x: 'y' });
    const [progress, log] = client.messages;
    assert.deepEqual(progress.params, { progressToken: id, progress: 1, total: 2, message: 'half' });
    assert.deepEqual(log.params, { level: 'info', logger: 'me', data: { a: 1 } });
  });
});

test('a legacy client can be asked', async () => {
  const declare = `
    server.tool('roots', {}, async (_, context) => (await context.request('roots/list')).roots[0].uri);
    server.tool('elicit', {}, (_, context) => context.request('elicitation/create', {}).catch((error) => {
      return [error instanceof CapabilityNotDeclared, error instanceof NoBackChannel, error.capability, error.code];
    }));`;
  await withServer(declare, async (client) => {
    await client.initialize({ roots: {} });
    const id = client.request('tools/call', { name: 'roots', arguments: {} });
    const asked = await client.message(({ method }) => method === 'roots/list');
    client.send({ jsonrpc: '2.0', id: asked.id, result: { roots: [{ uri: 'file:///a' }] } });
    assert.equal((await client.answer(id)).result.content[0].text, 'file:///a');
    const refused = JSON.parse((await client.call('elicit')).content[0].text);
    assert.deepEqual(refused, [true, true, 'elicitation', 'FERROMCP_NO_BACK_CHANNEL']);
  });
});

test('tools, resources and prompts come and go while it runs', async () => {
  const declare = `
    server.tool('grow', {}, () => {
      server.tool('grown', {}, () => 'new').resource('mem://new', {}, () => 'r').prompt('new', {}, () => 'p');
      return server.removeTool('grow');
    });`;
  await withServer(declare, async (client) => {
    assert.equal((await client.call('grow')).content[0].text, 'true');
    assert.equal((await client.call('grown')).content[0].text, 'new');
    assert.deepEqual((await client.result('tools/list')).tools.map(({ name }) => name), ['grown']);
    assert.equal((await client.result('resources/read', { uri: 'mem://new' })).contents[0].text, 'r');
    assert.equal((await client.result('prompts/get', { name: 'new' })).messages[0].content.text, 'p');
  });
});

test('many calls at once are all answered, each once', async () => {
  await withClient(native, async (client) => {
    const ids = Array.from({ length: 3_000 }, (_, n) => client.request('tools/call', { name: n % 2 ? 'echo' : 'aecho', arguments: { text: String(n) } }));
    for (const [n, id] of ids.entries()) {
      const at = client.messages.findIndex((message) => message.id === id);
      const { result } = at < 0 ? await client.answer(id) : client.messages.splice(at, 1)[0];
      assert.equal(result.content[0].text, String(n));
    }
    assert.deepEqual(client.messages, []);
  });
});

test('errors of host code', async () => {
  const declare = `
    server.tool('mcp', {}, () => { throw new MCPError(-31999, 'own', { data: { a: 1 } }); });
    server.tool('tool', {}, async () => { throw new ToolError('as it is'); });
    server.tool('any', {}, () => { throw new RangeError('broken'); });
    server.tool('circular', {}, () => { const a = {}; a.a = a; return a; });
    server.resource('mem://gone', {}, () => { throw new ResourceNotFound(); });
    server.resource('mem://{any}', {}, () => { throw new ResourceNotFound(); });
    server.prompt('any', {}, () => { throw new Error('broken'); });`;
  await withServer(declare, async (client) => {
    assert.deepEqual((await client.ask('tools/call', { name: 'mcp', arguments: {} })).error, { code: -31999, message: 'own', data: { a: 1 } });
    const failed = async (name) => {
      const { isError, content } = await client.call(name);
      assert.equal(isError, true);
      return content[0].text;
    };
    assert.equal(await failed('tool'), 'as it is');
    assert.equal(await failed('any'), "Error calling tool 'any': RangeError: broken");
    assert.match(await failed('circular'), /^Error calling tool 'circular': result: Converting circular structure/);
    for (const uri of ['mem://gone', 'mem://other']) {
      const { error } = await client.ask('resources/read', { uri });
      assert.equal(error.code, -32602);
      assert.ok(JSON.stringify(error).includes(uri));
    }
    assert.equal((await client.ask('prompts/get', { name: 'any' })).error.code, -32603);
    assert.ok(client.stderr.includes('RangeError: broken'), 'the stack goes to stderr');
    assert.ok(!client.stderr.includes('as it is'));
  });
});

test('a whole method of an extension', async () => {
  await withServer(`server.method('x/add', ({ a, b }) => ({ sum: a + b }));`, async (client) => {
    assert.equal((await client.result('x/add', { a: 1, b: 2 })).sum, 3);
  });
});
