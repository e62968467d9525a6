// What stands round functions: middleware in JavaScript, and the policy of the runtime.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { cli, fixture, withClient, withServer } from './client.mjs';

const textOf = ({ content: [{ text }] }) => text;

test('middleware sees every call of a function, the first outermost', async () => {
  const declare = `
    const seen = [];
    for (const name of ['outer', 'inner']) {
      server.use(async (call, next) => {
        if (call.name === 'seen') return next();
        seen.push([name, call.method, call.name ?? null, call.arguments, call.protocolVersion]);
        const value = await next();
        seen.push([name, value]);
        return value;
      });
    }
    server.tool('add', {}, ({ a, b }) => a + b);
    server.resource('mem://{id}', {}, ({ id }) => 'r' + id);
    server.prompt('ask', { arguments: { topic: {} } }, async ({ topic }) => 'p' + topic);
    server.completion('ask', 'topic', () => ['one']);
    server.method('vendor/x', ({ n }) => ({ n }));
    server.tool('seen', {}, () => JSON.stringify(seen));`;
  await withServer(declare, async (client) => {
    assert.equal(textOf(await client.call('add', { a: 1, b: 2 })), '3');
    assert.equal((await client.result('resources/read', { uri: 'mem://7' })).contents[0].text, 'r7');
    const { messages } = await client.result('prompts/get', { name: 'ask', arguments: { topic: 't' } });
    assert.equal(messages[0].content.text, 'pt');
    const ref = { type: 'ref/prompt', name: 'ask' };
    const { completion } = await client.result('completion/complete', { ref, argument: { name: 'topic', value: '' } });
    assert.deepEqual(completion.values, ['one']);
    assert.equal((await client.result('vendor/x', { n: 5 })).n, 5);
    const seen = JSON.parse(textOf(await client.call('seen')));
    const calls = [
      ['tools/call', 'add', { a: 1, b: 2 }, 3],
      ['resources/read', 'mem://7', {}, 'r7'],
      ['prompts/get', 'ask', { topic: 't' }, 'pt'],
      ['completion/complete', null, {}, ['one']],
    ];
    const expected = calls.flatMap(([method, name, args, value]) => [
      ['outer', method, name, args, '2026-07-28'],
      ['inner', method, name, args, '2026-07-28'],
      ['inner', value],
      ['outer', value],
    ]);
    assert.deepEqual(seen.slice(0, expected.length), expected);
    assert.deepEqual(seen[expected.length].slice(0, 3), ['outer', 'vendor/x', null]);
    assert.equal(await client.end(), 0);
    assert.equal(client.stderr, '');
  });
});

test('middleware may refuse a call, change what it gives, and see what it throws', async () => {
  const declare = `
    let runs = 0;
    server.use((call, next) => {
      if (call.name === 'refused') throw new MCPError(7, 'not today');
      return call.name === 'replaced' ? 'in its place' : next();
    });
    server.use(async ({ name }, next) => {
      try {
        if (name === 'left') { void next(); return 'gone'; }
        return await next();
      } catch (error) {
        console.error('saw ' + error.constructor.name);
        throw error;
      }
    });
    server.use(async ({ name }, next) => (name === 'twice' ? [await next(), await next()] : next()));
    for (const name of ['refused', 'replaced', 'twice']) server.tool(name, {}, () => { runs++; return 'ran'; });
    server.tool('throws', {}, () => { throw new ToolError('no'); });
    server.tool('left', {}, async () => { throw new ToolError('nobody hears this'); });
    server.tool('runs', {}, () => runs);`;
  await withServer(declare, async (client) => {
    const { error } = await client.ask('tools/call', { name: 'refused', arguments: {} });
    assert.deepEqual([error.code, error.message], [7, 'not today']);
    assert.equal(textOf(await client.call('replaced')), 'in its place');
    assert.equal(textOf(await client.call('left')), 'gone');
    const failed = await client.call('throws');
    assert.deepEqual([failed.isError, textOf(failed)], [true, 'no']);
    const twice = await client.call('twice');
    assert.equal(twice.isError, true);
    assert.match(textOf(twice), /next\(\) once/);
    // The one that was run twice, and neither of those that were not let through.
    assert.equal(textOf(await client.call('runs')), '1');
    assert.match(client.stderr, /saw ToolError/);
  });
});

test('a function that is suspended or cancelled ends within its middleware', async () => {
  const declare = `
    server.use(async ({ name }, next) => {
      try { return await next(); } finally { console.error('left ' + name); }
    });
    server.tool('asks', {}, async (_, context) => (await context.elicit('Who?', { type: 'object', properties: {} })).action);
    server.tool('waits', {}, (_, { signal }) => {
      console.error('waits');
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });`;
  await withServer(declare, async (client) => {
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    const { inputRequests, requestState } = await client.result('tools/call', { name: 'asks', arguments: {}, _meta });
    await client.trace('left asks');
    const [key] = Object.keys(inputRequests);
    const inputResponses = { [key]: { action: 'decline' } };
    const answered = await client.result('tools/call', { name: 'asks', arguments: {}, inputResponses, requestState, _meta });
    assert.equal(textOf(answered), 'decline');
    const id = client.request('tools/call', { name: 'waits', arguments: {} });
    await client.trace('waits');
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await client.trace('left waits');
    assert.equal(await client.end(), 0);
  });
});

test('middleware is put round functions before the server runs', async () => {
  const declare = `
    try { server.use('no function'); } catch (error) { console.error(error.name); }
    server.tool('late', {}, () => {
      try { server.use((_, next) => next()); } catch (error) { return error.message; }
    });`;
  await withServer(declare, async (client) => {
    assert.match(textOf(await client.call('late')), /the server is running already/);
    assert.match(client.stderr, /ConfigurationError/);
  });
});

test('a policy limits calls and writes the audit log', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'audit.log');
  const policy = {
    rateLimits: { often: { calls: 1, periodMs: 3_600_000, tools: ['add'] } },
    timeouts: { tools: { slow: { totalMs: 20 } } },
    audit: { file },
  };
  const declare = `
    server.tool('add', {}, ({ a, b }) => a + b);
    server.tool('slow', {}, (_, { signal }) => new Promise((_, reject) => {
      signal.addEventListener('abort', () => { console.error('aborted'); reject(signal.reason); });
    }));`;
  await withServer(
    declare,
    async (client) => {
      assert.equal(textOf(await client.call('add', { a: 1, b: 2 })), '3');
      const { result, error } = await client.ask('tools/call', { name: 'add', arguments: { a: 1, b: 2 } });
      assert.ok(result?.isError === true || error !== undefined, 'the second call is refused');
      assert.match(JSON.stringify(result ?? error), /often/);
      await client.ask('tools/call', { name: 'slow', arguments: {} });
      await client.trace('aborted');
      assert.equal(await client.end(), 0);
    },
    JSON.stringify({ policy }),
  );
  const lines = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(lines.length, 3);
  assert.ok(lines.every((line) => JSON.stringify(line).includes('tools/call')));
});

test('a policy that can not be is refused', async () => {
  const declare = `await server.serve().catch((error) => { console.error(error.name + ': ' + error.message); process.exit(3); });`;
  const options = JSON.stringify({ policy: { rateLimits: { none: { calls: 0, periodMs: 1 } } } });
  await withServer(
    declare,
    async (client) => {
      assert.equal(await client.exited, 3);
      assert.match(client.stderr, /ConfigurationError: .*rateLimits\.none/);
    },
    options,
  );
});

test('a policy out of a file, for any server of the command', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [policy, own] = [join(folder, 'policy.json'), join(folder, 'own.mjs')];
  const entry = new URL('../dist/index.mjs', import.meta.url).href;
  const made = (options) => `import { Server } from ${JSON.stringify(entry)};
    export const server = new Server('own', ${options}).tool('echo', {}, ({ text }) => text);`;
  writeFileSync(own, made('{}'));
  writeFileSync(policy, JSON.stringify({ rateLimits: { slow: { calls: 1, periodMs: 3_600_000 } } }));
  for (const file of [own, fixture('sdk1.mjs'), fixture('sdk1-connects.mjs'), fixture('sdk2.mjs'), fixture('sdk2-serves.mjs')]) {
    await withClient({ args: [cli, 'run', '--policy', policy, file] }, async (client) => {
      await client.initialize();
      assert.deepEqual((await client.call('echo', { text: 'hi' })).content, [{ type: 'text', text: 'hi' }], file);
      const refused = await client.call('echo', { text: 'hi' });
      assert.deepEqual([refused.isError, /slow/.test(refused.content[0].text)], [true, true], file);
    });
  }
  const fails = async (wanted) => {
    await withClient({ args: [cli, 'run', '--policy', policy, own] }, async (client) => {
      assert.equal(await client.exited, 2);
      assert.match(client.stderr, wanted);
    });
  };
  for (const [text, wanted] of [['{', /--policy .*policy\.json/], ['[]', /must be a JSON object/], ['{"rates":{}}', /rates/]]) {
    writeFileSync(policy, text);
    await fails(wanted);
  }
  writeFileSync(policy, '{}');
  writeFileSync(own, made('{ policy: {} }'));
  await fails(/policy of its own/);
  rmSync(policy);
  await fails(/ENOENT/);
});
