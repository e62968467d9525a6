// Tasks in both eras: what their clients see, what the function sees, and what a killed process leaves behind.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { withClient } from './client.mjs';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };
const FORM = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const ADA = { action: 'accept', content: { name: 'Ada' } };

/** A client of a server that `declare` declares. */
const withServer = (declare, body, run = '') => {
  const source = `
    import { once } from 'node:events';
    import { CapabilityNotDeclared, ConfigurationError, MCPError, Server, ToolError } from 'ferromcp';
    const server = new Server('tasks', { tasks: { ttlMs: 60_000, pollMs: 10 } });
    const FORM = ${JSON.stringify(FORM)};
    ${declare}
    await server.run(${run});`;
  return withClient({ source }, body);
};

/** A folder that goes with the test. */
function folderFor(t) {
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const textOf = ({ content: [{ text }] }) => text;

/** What a client does with tasks, as its era has it. */
const ERAS = {
  modern: {
    open: async () => {},
    request: (client, method, params) => {
      return client.ask(method, { ...params, _meta: { 'io.modelcontextprotocol/clientCapabilities': CAPABILITIES } });
    },
    async begin(client, name, args = {}) {
      const { result } = await this.request(client, 'tools/call', { name, arguments: args });
      assert.equal(result.resultType, 'task');
      assert.equal(result.ttlMs, 60_000);
      return result.taskId;
    },
    async get(client, taskId) {
      return (await this.request(client, 'tasks/get', { taskId })).result;
    },
    /** The result of a task that has ended, or its error. */
    outcome: async (_client, task) => (task.error === undefined ? { result: task.result } : { error: task.error }),
  },
  legacy: {
    open: (client) => client.initialize({ elicitation: { form: {} } }),
    request: (client, method, params) => client.ask(method, params),
    async begin(client, name, args = {}) {
      const { result } = await this.request(client, 'tools/call', { name, arguments: args, task: {} });
      assert.equal(result.task.ttl, 60_000);
      return result.task.taskId;
    },
    async get(client, taskId) {
      return (await this.request(client, 'tasks/get', { taskId })).result;
    },
    outcome: async (client, { taskId }) => client.ask('tasks/result', { taskId }),
  },
};

/** Looks at a task until it fits, less often than a server takes for too often. */
async function until(era, client, taskId, fits) {
  for (;;) {
    const task = await era.get(client, taskId);
    if (fits(task)) return task;
    await sleep(5);
  }
}

const ended = ({ status }) => status === 'completed' || status === 'failed' || status === 'cancelled';

for (const [name, era] of Object.entries(ERAS)) {
  test(`${name}: a call becomes a task, and its result is fetched`, async () => {
    const declare = `
      server.tool('work', { task: 'optional' }, async (_, context) => {
        context.reportProgress(1, 2, 'half');
        return context.taskId;
      });
      server.tool('never', { task: 'never' }, (_, context) => String(context.taskId));`;
    await withServer(declare, async (client) => {
      await era.open(client);
      const taskId = await era.begin(client, 'work');
      const task = await until(era, client, taskId, ended);
      assert.equal(task.status, 'completed');
      const { result } = await era.outcome(client, task);
      assert.equal(textOf(result), taskId);
      const other = await era.request(client, 'tools/call', { name: 'never', arguments: {} });
      assert.equal(textOf(other.result), 'undefined');
      const { tools } = (await era.request(client, 'tools/list', {})).result;
      const supports = tools.map(({ execution }) => execution?.taskSupport);
      assert.deepEqual(supports, name === 'legacy' ? ['optional', 'forbidden'] : [undefined, undefined]);
      const unknown = await era.request(client, 'tasks/get', { taskId: 'none' });
      assert.equal(unknown.error.code, -32602);
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${name}: a client that takes no tasks`, async () => {
    const declare = `
      server.tool('optional', { task: 'optional' }, (_, context) => String(context.taskId));
      server.tool('required', { task: 'required' }, () => 'done');`;
    await withServer(declare, async (client) => {
      if (name === 'legacy') await client.initialize({});
      assert.equal(textOf(await client.call('optional')), 'undefined');
      const { error } = await client.ask('tools/call', { name: 'required', arguments: {} });
      assert.equal(error.code, name === 'legacy' ? -32601 : -32021);
    });
  });

  test(`${name}: cancelling a task aborts the signal`, async () => {
    const declare = `
      server.tool('wait', { task: 'optional' }, async (_, context) => {
        console.error('started');
        await once(context.signal, 'abort');
        console.error('aborted', context.cancelled, context.signal.reason.name);
      });`;
    await withServer(declare, async (client) => {
      await era.open(client);
      const taskId = await era.begin(client, 'wait');
      await client.trace('started');
      const { error } = await era.request(client, 'tasks/cancel', { taskId });
      assert.equal(error, undefined);
      await client.trace('aborted true AbortError');
      assert.equal((await era.get(client, taskId)).status, 'cancelled');
      assert.equal(await client.end(), 0);
    });
  });

  test(`${name}: a function asks in its task`, async () => {
    const declare = `
      let runs = 0;
      server.tool('greet', { task: 'optional' }, async (_, context) => {
        runs++;
        const who = await context.elicit('Who?', FORM, { key: 'who' });
        return 'Hello ' + who.content.name + ', ' + runs;
      });`;
    await withServer(declare, async (client) => {
      await era.open(client);
      const taskId = await era.begin(client, 'greet');
      const task = await until(era, client, taskId, ({ status }) => status === 'input_required');
      if (name === 'modern') {
        assert.equal(task.inputRequests.who.params.message, 'Who?');
        await era.request(client, 'tasks/update', { taskId, inputResponses: { who: ADA } });
      } else {
        const asked = await client.message(({ method }) => method === 'elicitation/create');
        assert.equal(asked.params._meta['io.modelcontextprotocol/related-task'].taskId, taskId);
        client.send({ jsonrpc: '2.0', id: asked.id, result: ADA });
      }
      const { result } = await era.outcome(client, await until(era, client, taskId, ended));
      assert.equal(textOf(result), 'Hello Ada, 1');
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${name}: how a task fails`, async () => {
    const declare = `
      server.tool('tool', { task: 'optional' }, () => { throw new ToolError('no'); });
      server.tool('protocol', { task: 'optional' }, () => { throw new MCPError(-32602, 'bad', { data: { a: 1 } }); });
      server.tool('capability', { task: 'optional' }, () => { throw new CapabilityNotDeclared('sampling'); });`;
    await withServer(declare, async (client) => {
      await era.open(client);
      const outcomes = {};
      for (const tool of ['tool', 'protocol', 'capability']) {
        const task = await until(era, client, await era.begin(client, tool), ended);
        outcomes[tool] = { status: task.status, ...(await era.outcome(client, task)) };
      }
      // A result that says that the tool failed is a result in the newer specification, and a failure in the older one.
      assert.equal(outcomes.tool.status, name === 'modern' ? 'completed' : 'failed');
      assert.deepEqual([outcomes.tool.result.isError, textOf(outcomes.tool.result)], [true, 'no']);
      assert.equal(outcomes.protocol.status, 'failed');
      const { code, message, data } = outcomes.protocol.error;
      assert.deepEqual({ code, message, data }, { code: -32602, message: 'bad', data: { a: 1 } });
      assert.equal(outcomes.capability.status, 'failed');
      if (name === 'modern') assert.equal(outcomes.capability.error.code, -32021);
    });
  });
}

test('a call of another tool becomes a task while it runs, where its client takes tasks', async () => {
  const declare = `
    server.tool('task', { task: 'optional' }, () => 'done');
    server.tool('later', {}, async (_, context) => {
      const before = context.taskId;
      const [id, same] = await Promise.all([context.beginTask(), context.beginTask()]);
      return [before ?? null, id ?? null, id === same, id === context.taskId, (await context.beginTask()) === id];
    });`;
  await withServer(declare, async (client) => {
    const era = ERAS.modern;
    const taskId = await era.begin(client, 'later');
    const { result } = await until(era, client, taskId, ended);
    assert.deepEqual(JSON.parse(textOf(result)), [null, taskId, true, true, true]);
    assert.deepEqual(JSON.parse(textOf(await client.call('later'))), [null, null, true, true, true]);
    assert.equal(await client.end(), 0);
    assert.equal(client.stderr, '');
  });
});

test('what a task can be is checked where it is declared', async () => {
  const declare = `
    const refused = (body) => { try { body(); } catch (error) { return error instanceof ConfigurationError && error.message; } };
    console.error(refused(() => server.tool('a', { task: 'always' }, () => 1)));
    await server.serve({ taskStore: 'paper:tasks' }).catch((error) => console.error(error.name, error.message));
    server.tool('ok', {}, () => 'ok');`;
  await withServer(declare, async (client) => {
    assert.equal(textOf(await client.call('ok')), 'ok');
    assert.match(client.stderr, /tool 'a', task: always is none of/);
    assert.match(client.stderr, /TaskStoreError store of tasks: .*paper:tasks.* is no store of tasks/);
  });
});

test('the example asks, samples, and is found again after a restart', async (t) => {
  const folder = folderFor(t);
  const source = readFileSync(new URL('../../examples/node/tasks.mjs', import.meta.url), 'utf8');
  const args = ['--input-type=module', '--eval', source, '--', 'tasks.mjs', join(folder, 'tasks.db')];
  const capabilities = { ...CAPABILITIES, sampling: {} };
  const request = async (client, method, params) => {
    return client.result(method, { ...params, _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities } });
  };
  const answers = {
    'elicitation/create': { action: 'accept', content: { style: 'short' } },
    'sampling/createMessage': { role: 'assistant', content: { type: 'text', text: 'Tides' }, model: 'm' },
  };
  let taskId;
  await withClient({ args }, async (client) => {
    const params = { name: 'write_report', arguments: { topic: 'the sea', pages: 2 } };
    ({ taskId } = await request(client, 'tools/call', params));
    const asked = [];
    for (;;) {
      const { status, inputRequests = {} } = await request(client, 'tasks/get', { taskId });
      if (status === 'completed') break;
      const open = Object.entries(inputRequests);
      asked.push(...open.map(([, { method }]) => method));
      const inputResponses = Object.fromEntries(open.map(([key, { method }]) => [key, answers[method]]));
      if (open.length > 0) await request(client, 'tasks/update', { taskId, inputResponses });
      else await sleep(5);
    }
    assert.deepEqual([...new Set(asked)], Object.keys(answers));
    client.child.kill('SIGKILL');
    await client.exited;
  });
  await withClient({ args }, async (client) => {
    const { status, result } = await request(client, 'tasks/get', { taskId });
    assert.deepEqual([status, textOf(result)], ['completed', 'Tides: a short report of 2 pages']);
    assert.equal(await client.end(), 0);
  });
});

test('a killed process loses no task that it has acknowledged', async (t) => {
  const folder = folderFor(t);
  const run = `{ taskStore: ${JSON.stringify(`sqlite:${join(folder, 'tasks.db')}`)} }`;
  const declare = `
    server.tool('quick', { task: 'required' }, ({ n }) => 'done ' + n);
    server.tool('slow', { task: 'required' }, (_, { signal }) => once(signal, 'abort'));`;
  const era = ERAS.modern;
  const [quick, slow] = [new Map(), []];
  await withServer(declare, async (client) => {
    for (let n = 0; n < 20; n++) quick.set(await era.begin(client, 'quick', { n }), `done ${n}`);
    for (const taskId of quick.keys()) await until(era, client, taskId, ended);
    // Killed in the middle of many that begin: those that were acknowledged count.
    const ids = Array.from({ length: 50 }, () => {
      const meta = { 'io.modelcontextprotocol/clientCapabilities': CAPABILITIES };
      return client.request('tools/call', { name: 'slow', arguments: {}, _meta: meta });
    });
    for (const id of ids.slice(0, 10)) slow.push((await client.answer(id)).result.taskId);
    client.child.kill('SIGKILL');
    await client.exited;
    for (const { result } of client.messages) if (result?.resultType === 'task') slow.push(result.taskId);
  }, run);
  assert.ok(slow.length >= 10);
  await withServer(declare, async (client) => {
    for (const [taskId, text] of quick) {
      const task = await era.get(client, taskId);
      assert.deepEqual([task.status, textOf(task.result)], ['completed', text]);
    }
    for (const taskId of slow) {
      const task = await era.get(client, taskId);
      assert.deepEqual([task.status, task.error.code], ['failed', -32603]);
      assert.match(task.error.message, /process .* is gone/);
    }
    assert.equal(await client.end(), 0);
    assert.equal(client.stderr, '');
  }, run);
});

/** The URL of a Redis or Valkey server that ends with the test. */
async function redisFor(t) {
  const program = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
  assert.ok(program !== undefined, 'redis-server or valkey-server is needed; tools/system_packages.sh installs it');
  const folder = folderFor(t);
  const socket = join(folder, 'socket');
  const child = spawn(program, ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', '']);
  t.after(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (/ready to accept connections/i.test(line)) return `unix://${socket}`;
  }
  return assert.fail('the Redis server does not start');
}

test('processes share a store', async (t) => {
  const run = `{ taskStore: ${JSON.stringify(await redisFor(t))} }`;
  const declare = `
    server.tool('quick', { task: 'required' }, () => 'done');
    server.tool('slow', { task: 'required' }, async (_, { signal }) => {
      await once(signal, 'abort');
      console.error('aborted');
    });`;
  const era = ERAS.modern;
  const both = async (first, second) => {
    const { result } = await until(era, second, await era.begin(first, 'quick'), ended);
    assert.equal(textOf(result), 'done');
    const taskId = await era.begin(first, 'slow');
    assert.equal((await era.request(second, 'tasks/cancel', { taskId })).error, undefined);
    await first.trace('aborted');
    assert.equal((await era.get(second, taskId)).status, 'cancelled');
  };
  await withServer(declare, (first) => withServer(declare, (second) => both(first, second), run), run);
});
