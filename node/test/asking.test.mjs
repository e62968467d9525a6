// Asking the client in the middle of a call, in both eras: what reaches the wire, how often functions run, and what they see
// when nobody answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withClient } from './client.mjs';

const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };
const FORM = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const ADA = { action: 'accept', content: { name: 'Ada' } };
const SAID = { role: 'assistant', content: { type: 'text', text: 'red' }, model: 'm' };
const ROOTS = { roots: [{ uri: 'file:///a', name: 'A' }] };

/** A client of a server that `declare` declares. */
const withServer = (declare, body, options = '{}') => {
  const source = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import * as z from 'zod';
    import { CapabilityNotDeclared, elicit, elicitUrl, InvalidAnswer, listRoots, MCPError, NoBackChannel, sample, Server, TimedOut, ToolError } from 'ferromcp';
    const server = new Server('asks', ${options});
    const FORM = ${JSON.stringify(FORM)};
    ${declare}
    await server.run();`;
  return withClient({ source }, body);
};

const textOf = ({ content: [{ text }] }) => text;

/** A modern request of a client with these capabilities, and its result. */
const modern = (client, method, params, capabilities = ALL) => {
  return client.result(method, { ...params, _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities } });
};

/** The client's requests of its own, answered by method. */
const answers = { 'elicitation/create': ADA, 'sampling/createMessage': SAID, 'roots/list': ROOTS };

/** Calls until there is a whole result; gives it, and what was asked in each round. */
async function called(client, era, name, args = {}, own = answers) {
  const asked = [];
  if (era === 'legacy') {
    const id = client.request('tools/call', { name, arguments: args });
    for (;;) {
      const message = await client.message((message) => message.method in own || (message.id === id && !message.method));
      if (message.method === undefined) return [message.result, asked];
      asked.push([message.method]);
      client.send({ jsonrpc: '2.0', id: message.id, result: own[message.method] });
    }
  }
  let more = {};
  for (;;) {
    const result = await modern(client, 'tools/call', { name, arguments: args, ...more });
    if (result.resultType !== 'input_required') return [result, asked];
    const { inputRequests = {}, requestState } = result;
    asked.push(Object.values(inputRequests).map(({ method }) => method));
    const given = Object.entries(inputRequests).map(([key, { method }]) => [key, own[method]]);
    more = { inputResponses: Object.fromEntries(given), requestState };
  }
}

const TOOLS = `
  let runs = 0;
  const body = async (_, context) => {
    runs++;
    const who = await context.elicit('Who?', z.object({ name: z.string().toUpperCase() }));
    const color = await context.sample({ messages: 'A color', maxTokens: 5 });
    return [who, color.content.text, runs];
  };
  server.tool('replayed', {}, body);
  server.tool('held', { reentry: 'held' }, body);`;

for (const era of ['legacy', 'modern']) {
  test(`${era}: two questions one after the other`, async () => {
    await withServer(TOOLS, async (client) => {
      if (era === 'legacy') await client.initialize(ALL);
      for (const [name, runs] of [['held', 1], ['replayed', era === 'legacy' ? 2 : 4]]) {
        const [result, asked] = await called(client, era, name);
        assert.deepEqual(JSON.parse(textOf(result)), [{ action: 'accept', content: { name: 'ADA' } }, 'red', runs]);
        assert.deepEqual(asked, [['elicitation/create'], ['sampling/createMessage']]);
      }
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${era}: what is asked in one turn is one round`, async () => {
    const declare = `
      const later = async (promise) => { await null; return promise(); };
      server.tool('all', {}, async (_, context) => {
        const all = [context.elicit('Who?', FORM), later(() => context.sample({ messages: ['A', 'B'], maxTokens: 5 })), context.listRoots()];
        return await Promise.all(all);
      });
      // Of two functions that have failed only the one that is awaited first is seen.
      server.tool('in-turn', {}, async (_, context) => {
        const [who, where] = [later(() => context.elicit('Who?', FORM)), later(() => context.listRoots())];
        return [await who, await where];
      });
      server.tool('settled', {}, async (_, context) => {
        const all = await Promise.allSettled([context.elicit('Who?', FORM), context.listRoots()]);
        return all.map(({ value }) => value);
      });
      server.tool('ask', { reentry: 'held' }, (_, context) => {
        return context.ask({ who: elicit('Who?', FORM), go: elicitUrl('Go', 'https://example.com'), where: listRoots() });
      });`;
    await withServer(declare, async (client) => {
      if (era === 'legacy') await client.initialize(ALL);
      const expected = {
        all: [ADA, SAID, ROOTS.roots],
        'in-turn': [ADA, ROOTS.roots],
        settled: [ADA, ROOTS.roots],
        ask: { who: ADA, go: { action: 'accept' }, where: ROOTS.roots },
      };
      for (const [name, values] of Object.entries(expected)) {
        const [result, asked] = await called(client, era, name);
        assert.deepEqual(JSON.parse(textOf(result)), values, name);
        assert.equal(asked.length, era === 'legacy' ? Object.keys(values).length : 1, name);
      }
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${era}: declining and cancelling are values`, async () => {
    await withServer(`server.tool('ask', {}, (_, context) => context.elicit('Who?', FORM));`, async (client) => {
      if (era === 'legacy') await client.initialize(ALL);
      for (const action of ['decline', 'cancel']) {
        const [result] = await called(client, era, 'ask', {}, { 'elicitation/create': { action, content: {} } });
        assert.deepEqual(JSON.parse(textOf(result)), { action });
      }
    });
  });

  test(`${era}: what a client has not declared is not asked`, async () => {
    const declare = `
      server.tool('asks', {}, (_, context) => context.elicit('Who?', FORM));
      server.tool('minds', {}, async (_, context) => {
        const errors = await Promise.all([
          context.elicitUrl('Go', 'https://example.com').catch((error) => error),
          context.listRoots().catch((error) => error),
        ]);
        return errors.map((error) => [error instanceof CapabilityNotDeclared, error.capability]);
      });
      server.tool('rounds', {}, (_, context) => context.inputRequired({ who: elicit('Who?', FORM) }));`;
    await withServer(declare, async (client) => {
      const some = { elicitation: { url: {} } };
      if (era === 'legacy') await client.initialize(some);
      for (const name of ['asks', 'rounds']) {
        const params = { name, _meta: { 'io.modelcontextprotocol/clientCapabilities': some } };
        const { result, error } = await client.ask('tools/call', params);
        if (era === 'legacy') assert.match(result.isError && textOf(result), /elicitation\.form/);
        else assert.deepEqual([error.code, error.data], [-32021, { requiredCapabilities: { elicitation: { form: {} } } }]);
      }
      if (era === 'modern') {
        const result = await modern(client, 'tools/call', { name: 'minds' }, some);
        assert.deepEqual(JSON.parse(textOf(result)), [[true, 'roots'], [true, 'roots']]);
      }
      assert.equal(client.stderr, '');
    });
  });

  test(`${era}: rounds by hand`, async () => {
    const declare = `
      let runs = 0;
      const hand = async (_, context) => {
        runs++;
        const { inputResponses, requestState } = context;
        if (inputResponses === undefined) return context.inputRequired({ who: elicit('Who?', FORM), where: listRoots() }, { state: 'one' });
        if (requestState === 'one') {
          const who = await elicit('Who?', FORM).read(inputResponses.who);
          return context.inputRequired({ color: sample({ messages: who.content.name, maxTokens: 1 }) }, { state: JSON.stringify(who) });
        }
        return [JSON.parse(requestState), inputResponses.color.model, runs];
      };
      server.tool('hand', {}, hand);
      server.tool('nothing', {}, (_, context) => context.inputRequired());
      server.resource('mem://hand', {}, hand);
      server.prompt('hand', {}, hand);`;
    await withServer(declare, async (client) => {
      if (era === 'legacy') await client.initialize(ALL);
      const [result, asked] = await called(client, era, 'hand');
      assert.deepEqual(JSON.parse(textOf(result)), [ADA, 'm', 3]);
      assert.deepEqual(asked.flat(), ['elicitation/create', 'roots/list', 'sampling/createMessage']);
      assert.equal((await called(client, era, 'nothing'))[0].isError, true);
      if (era === 'modern') {
        for (const [method, params] of [['resources/read', { uri: 'mem://hand' }], ['prompts/get', { name: 'hand' }]]) {
          assert.equal((await modern(client, method, params)).resultType, 'input_required');
        }
      }
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${era}: the end of the input while a function waits`, async () => {
    const declare = `
      server.tool('wait', { reentry: 'held' }, async (_, context) => {
        context.signal.addEventListener('abort', () => console.error('aborted'));
        await context.elicit('Who?', FORM).catch((error) => { console.error('rejected: ' + error.constructor.name); throw error; });
      });`;
    await withServer(declare, async (client) => {
      if (era === 'legacy') {
        await client.initialize(ALL);
        client.request('tools/call', { name: 'wait' });
        await client.message(({ method }) => method === 'elicitation/create');
      } else assert.equal((await modern(client, 'tools/call', { name: 'wait' })).resultType, 'input_required');
      const began = performance.now();
      assert.equal(await client.end(), 0);
      assert.ok(performance.now() - began < 3_000, 'it waits for who is gone');
      assert.match(client.stderr, /rejected: (NoBackChannel|DOMException)/);
    });
  });
}

test('a suspended run ends as cancelled ones do, and what it says is dropped', async () => {
  const declare = `
    server.tool('mute', {}, async (_, context) => {
      console.error('it ran');
      try {
        return await context.elicit('Who?', FORM);
      } catch (error) {
        console.error([error.name, error === context.signal.reason, context.cancelled, context.reportProgress(1)].join());
        console.error(await context.listRoots().catch((again) => again === error));
        throw new Error('wrapped', { cause: error });
      } finally {
        console.error('finally');
      }
    });
    server.tool('returns', {}, (_, context) => context.elicit('Who?', FORM).catch(() => 'something'));
    server.tool('forgets', {}, (_, context) => { void context.elicit('Who?', FORM); return 'at once'; });`;
  await withServer(declare, async (client) => {
    for (const name of ['mute', 'returns']) {
      const [result, asked] = await called(client, 'modern', name);
      assert.deepEqual(JSON.parse(textOf(result)), ADA);
      assert.equal(asked.length, 1);
    }
    assert.equal(textOf(await client.call('forgets')), 'at once');
    assert.equal(await client.end(), 0);
    assert.deepEqual(client.messages, []);
    assert.equal(client.stderr, 'it ran\nAbortError,true,true,false\ntrue\nfinally\nit ran\nfinally\n');
  });
});

test('a legacy client that errs, answers wrongly, is late, or cancels', async () => {
  const declare = `
    server.tool('ask', {}, async (_, context) => {
      const said = await context.elicit('Who?', FORM, { timeoutMs: 50 }).catch((error) => error);
      return [said instanceof InvalidAnswer, said instanceof MCPError, said instanceof TimedOut, said.code];
    });
    server.tool('wait', {}, (_, context) => {
      const asked = context.elicit('Who?', FORM);
      asked.catch((error) => console.error([error === context.signal.reason, error.message].join()));
      return asked;
    });`;
  await withServer(declare, async (client) => {
    await client.initialize(ALL);
    for (const [answer, seen] of [
      [{ error: { code: -5, message: 'no' } }, [false, true, false, -5]],
      [{ result: { action: 'accept', content: { name: 5 } } }, [true, false, false, 'FERROMCP_INVALID_ANSWER']],
      [undefined, [false, false, true, 'FERROMCP_TIMED_OUT']],
    ]) {
      const id = client.request('tools/call', { name: 'ask' });
      const asked = await client.message(({ method }) => method === 'elicitation/create');
      if (answer !== undefined) client.send({ jsonrpc: '2.0', id: asked.id, ...answer });
      assert.deepEqual(JSON.parse(textOf((await client.answer(id)).result)), seen);
    }
    const requestId = client.request('tools/call', { name: 'wait' });
    const { id } = await client.message(({ method }) => method === 'elicitation/create');
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'enough' } });
    await client.trace('true,enough');
    const taken = await client.message(({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
    assert.ok(taken);
    await client.result('ping');
    assert.deepEqual(client.messages.filter((message) => message.id === requestId), []);
    assert.equal(client.stderr, 'true,enough\n');
  });
});

test('a held function is told when its client does not come back', async () => {
  const declare = `
    server.tool('wait', { reentry: 'held' }, async (_, context) => {
      await context.elicit('Who?', FORM).catch((error) => { console.error('over: ' + error.message); throw error; });
    });`;
  const limits = `{ config: { limits: { heldMs: 50 } } }`;
  await withServer(declare, async (client) => {
    const round = await modern(client, 'tools/call', { name: 'wait' });
    await client.trace('over: the client was asked for input and did not come back in time');
    const late = { name: 'wait', requestState: round.requestState, inputResponses: { 'input-1': ADA } };
    assert.equal((await client.ask('tools/call', late)).error.code, -32602);
  }, limits);
});

test('who can not be asked is not', async () => {
  const declare = `
    let left;
    server.tool('after', {}, (_, context) => { left = context; return 'done'; });
    server.tool('look', {}, () => left.listRoots().catch((error) => error instanceof NoBackChannel));
    server.prompt('p', { arguments: { a: {} } }, () => 'p');
    server.completion('p', 'a', async (_, __, context) => [String(await context.listRoots().catch((error) => error.code))]);
    server.tool('wrong', {}, (_, context) => context.elicit('Who?', { type: 'object', properties: { deep: { type: 'object' } } }));`;
  await withServer(declare, async (client) => {
    const call = async (name) => textOf(await modern(client, 'tools/call', { name }));
    await call('after');
    assert.equal(await call('look'), 'true');
    const ref = { type: 'ref/prompt', name: 'p' };
    const { completion } = await modern(client, 'completion/complete', { ref, argument: { name: 'a', value: '' } });
    assert.deepEqual(completion.values, ['FERROMCP_NO_BACK_CHANNEL']);
    assert.match(await call('wrong'), /deep/);
  });
});

test('resources and prompts ask too, and large integers keep their digits', async () => {
  const declare = `
    const n = async (_, context) => String((await context.elicit('n?', { type: 'object', properties: { n: { type: 'integer' } } })).content.n);
    server.resource('mem://n', { reentry: 'held' }, n);
    server.prompt('n', {}, n);`;
  await withServer(declare, async (client) => {
    for (const [method, params] of [['resources/read', { uri: 'mem://n' }], ['prompts/get', { name: 'n' }]]) {
      const { requestState } = await modern(client, method, params);
      const _meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":${JSON.stringify(ALL)}}`;
      const rest = JSON.stringify({ ...params, requestState }).slice(1, -1);
      const answer = '{"input-1":{"action":"accept","content":{"n":12345678901234567890}}}';
      client.send(`{"jsonrpc":"2.0","id":"big","method":"${method}","params":{${rest},"inputResponses":${answer},"_meta":${_meta}}}`);
      assert.match(JSON.stringify((await client.answer('big')).result), /"12345678901234567890"/);
    }
  });
});

test('processes that share the keys serve each other', async () => {
  const declare = `
    server.tool('ask', {}, (_, context) => context.elicit('Who?', FORM));
    server.tool('rotate', {}, () => server.setStateKeys([new Uint8Array(32).fill(2), Buffer.alloc(32, 1)]));
    server.tool('wrong', {}, () => server.setStateKeys(['short']));
    server.setStateKeys([Buffer.alloc(32, 1).toString('base64')]);`;
  await withServer(declare, async (one) => {
    const { requestState } = await modern(one, 'tools/call', { name: 'ask' });
    await withServer(declare, async (other) => {
      assert.equal((await other.call('wrong')).isError, true);
      await other.call('rotate');
      const again = { name: 'ask', requestState, inputResponses: { 'input-1': ADA } };
      assert.deepEqual(JSON.parse(textOf(await modern(other, 'tools/call', again))), ADA);
    });
  });
});

test('what a library says of a form', async () => {
  const { elicit, InvalidAnswer } = await import('ferromcp');
  const z = await import('zod');
  const { type } = await import('arktype');
  const form = elicit('Who?', z.object({
    mail: z.email().describe('where'),
    age: z.int().min(1).max(9).optional(),
    color: z.enum(['a', 'b']).default('a'),
    one: z.literal('x'),
    several: z.array(z.enum(['a'])).max(2),
    sure: z.boolean(),
    deep: z.object({}),
  }));
  const { requestedSchema } = form.params;
  assert.deepEqual(requestedSchema.required, ['mail', 'one', 'several', 'sure', 'deep']);
  assert.deepEqual({ ...requestedSchema.properties, deep: undefined }, {
    mail: { type: 'string', description: 'where', format: 'email' },
    age: { type: 'integer', minimum: 1, maximum: 9 },
    color: { type: 'string', default: 'a', enum: ['a', 'b'] },
    one: { type: 'string', enum: ['x'] },
    several: { type: 'array', maxItems: 2, items: { type: 'string', enum: ['a'] } },
    sure: { type: 'boolean' },
    deep: undefined,
  });
  assert.equal(requestedSchema.properties.deep.type, 'object');
  await assert.rejects(form.read({ action: 'accept', content: { mail: 'nobody' } }), InvalidAnswer);
  await assert.rejects(form.read({ action: 'agree' }), InvalidAnswer);
  assert.deepEqual(elicit('?', type({ c: "'a'|'b'", 'n?': 'number' })).params.requestedSchema.properties, {
    c: { type: 'string', enum: ['a', 'b'] },
    n: { type: 'number' },
  });
  const jsonSchema = { type: 'object', properties: { a: { type: 'string', pattern: 'a' } } };
  assert.equal(elicit('?', { schema: z.object({}), jsonSchema }).params.requestedSchema, jsonSchema);
});

test('a visit is required by an error, and told to be complete when its call is over', async () => {
  const declare = `
    const visit = { mode: 'url', message: 'Log in', url: 'https://example.com/login', elicitationId: 'e-1' };
    server.tool('files', {}, () => { throw new MCPError(-32042, 'Log in first', { data: { elicitations: [visit] } }); });
    server.tool('loggedIn', { inputSchema: { type: 'object' } }, ({ id }) => String(server.completeElicitation(id)));`;
  await withServer(declare, async (client) => {
    await client.initialize(ALL);
    const refused = client.request('tools/call', { name: 'files', arguments: {} });
    const { error } = await client.message((message) => message.id === refused);
    assert.equal(error.code, -32042);
    assert.deepEqual(error.data.elicitations.map(({ elicitationId }) => elicitationId), ['e-1']);
    const said = async (id) => textOf(await client.result('tools/call', { name: 'loggedIn', arguments: { id } }));
    assert.equal(await said('e-2'), 'false');
    assert.equal(await said('e-1'), 'true');
    const told = await client.message((message) => message.method === 'notifications/elicitation/complete');
    assert.deepEqual(told.params, { elicitationId: 'e-1' });
  });
});
