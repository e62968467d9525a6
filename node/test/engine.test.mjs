// `Engine`: the vectors, with the input whole and cut, under a clock of the test's own; and what misuse gives.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

import { CapabilityNotDeclared, ConfigurationError, Engine, image, Json, NoBackChannel, SerializationError, TimedOut } from 'ferromcp';

import { EngineScript } from './vectors/engine.mjs';
import { Mismatch } from './vectors/pattern.mjs';
import { cases, engineLacks, FOLDER, read, VECTOR_SKIP } from './vectors/plan.mjs';

const NAMES = readdirSync(FOLDER, { withFileTypes: true })
  // Those in http/ go over HTTP, which this runner does not speak.
  .filter((entry) => entry.isDirectory() && entry.name !== 'http')
  .flatMap(({ name }) => readdirSync(new URL(name, FOLDER)).map((file) => `${name}/${file.replace(/\.json$/, '')}`))
  .sort();
const only = process.env['FERROMCP_VECTOR'] ?? '';
const SPELLING = 'jsonrpc/numbers-untouched';

const whySkipped = (name) => {
  if (name === SPELLING) return VECTOR_SKIP.spelling;
  return engineLacks(read(name)) ? VECTOR_SKIP.needs : false;
};

for (const name of NAMES.filter((name) => name.includes(only))) {
  test(`engine, vector ${name}`, { skip: whySkipped(name) }, () => {
    for (const [number, one] of cases(read(name)).entries()) {
      for (const cut of [Infinity, 1, 7]) {
        const script = new EngineScript(one, cut);
        try {
          script.run(one.steps);
        } catch (error) {
          error.message = `case ${number + 1}, cut ${cut}: ${error.message}`;
          throw error;
        }
        assert.ok(script.checks > 0, 'nothing is held against anything');
      }
    }
  });
}

test('all vectors are there, and run', () => {
  assert.ok(NAMES.length > 290, String(NAMES.length));
  assert.deepEqual(NAMES.filter(whySkipped), [SPELLING]);
});

test('a vector that expects something else is noticed', () => {
  const [one] = cases(read('cancellation/cancel'));
  const steps = one.steps.filter((step) => !step.has('transmit'));
  assert.throws(() => new EngineScript(one).run(steps), Mismatch);
});

const CONFIG = { info: { name: 'test', version: '1' } };
const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n';

const outputs = (engine) => {
  const all = [];
  for (let output; (output = engine.poll()) !== undefined; ) all.push(output);
  return all;
};

/** An engine with one tool, one client that has called it, and the call. */
function called(args = '{}') {
  const engine = new Engine(CONFIG);
  engine.add('tool', { name: 'tool', inputSchema: { type: 'object' } }, 3, 0);
  const stream = engine.open(0);
  engine.receive(stream, INITIALIZE, 0);
  engine.receive(stream, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool","arguments":${args}}}\n`, 0);
  const { call } = outputs(engine).find(({ event }) => event === 'call');
  return { engine, stream, call };
}

const answered = (engine) => JSON.parse(Buffer.from(outputs(engine).find(({ event }) => event === 'transmit').bytes).toString());

test('a call says what is asked, and is answered once', () => {
  const { engine, stream, call } = called('{"n":12345678901234567890}');
  assert.deepEqual([call.stream, call.target, call.tag, call.arguments], [stream, 'tool', 3, { n: 12345678901234567890n }]);
  assert.deepEqual([call.requestId, call.method, call.protocolVersion], [1, 'tools/call', '2025-11-25']);
  assert.equal(engine.respondTool(call.key, { content: [image(new Uint8Array([1, 2]), 'image/png')] }), true);
  assert.deepEqual(answered(engine).result.content, [{ type: 'image', data: 'AQI=', mimeType: 'image/png' }]);
  assert.equal(engine.respondText(call.key, 'again'), false);
  assert.deepEqual(outputs(engine), []);
});

test('a wrong answer leaves the call open', () => {
  const { engine, call } = called();
  assert.throws(() => engine.respondPrompt(call.key, []), ConfigurationError);
  assert.throws(() => engine.respondTool(call.key, { content: [], structuredContent: { a: NaN } }), SerializationError);
  assert.equal(engine.respondResult(call.key, new Json('{"content": []}')), true);
  assert.deepEqual(answered(engine).result, { content: [] });
});

test('misuse is an error here and nothing there', () => {
  assert.throws(() => new Engine({}), ConfigurationError);
  assert.throws(() => new Engine(CONFIG, { integers: 'error' }), ConfigurationError);
  const engine = new Engine(CONFIG);
  for (const tag of [-1, 0.5, 2 ** 32]) assert.throws(() => engine.add('tool', {}, tag, 0), ConfigurationError);
  assert.throws(() => engine.add('thing', {}, 0, 0), /thing/);
  assert.equal(engine.remove('tool', 'none', 0), false);
  assert.throws(() => engine.receive(5, 'x\n', 0), NoBackChannel);
  assert.throws(() => engine.request(5, 'ping'), NoBackChannel);
  assert.equal(engine.respondText(7, 'to nobody'), false);
  assert.equal(engine.pollTimeout(), undefined);
  assert.deepEqual(outputs(engine), []);
});

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const FORM = { message: 'n?', requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
const modernCall = (id, more = '', capabilities = ALL) => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"tool"${more},"_meta":${JSON.stringify(meta)}}}\n`;
};
const retry = ({ result }, answers) => `,"requestState":${JSON.stringify(result.requestState)},"inputResponses":${answers}`;

/** An engine with one tool and one client; `call` sends a line and gives the call that comes of it. */
function modernEngine(config = {}) {
  const engine = new Engine({ ...CONFIG, ...config });
  engine.add('tool', { name: 'tool', inputSchema: { type: 'object' } }, 3, 0);
  const stream = engine.open(0);
  const call = (line, on = stream) => {
    engine.receive(on, line, 0);
    return outputs(engine).find(({ event }) => event === 'call')?.call;
  };
  return { engine, stream, call };
}

test('a call asks, is suspended, and runs again with the answers', () => {
  const { engine, call } = modernEngine();
  const ask = ({ key }) => {
    return engine.ask(key, [{ key: 'n', method: 'elicitation/create', params: FORM }, { method: 'roots/list' }]);
  };
  const first = call(modernCall(1));
  assert.deepEqual(ask(first), { outcome: 'suspended' });
  const given = outputs(engine);
  assert.deepEqual(given.find(({ event }) => event === 'cancelled').key, first.key);
  const round = JSON.parse(Buffer.from(given.find(({ event }) => event === 'transmit').bytes).toString());
  assert.deepEqual(Object.keys(round.result.inputRequests), ['n', 'input-1']);
  const answers = '{"n":{"action":"accept","content":{"n":12345678901234567890}},"input-1":{"roots":[]}}';
  const second = call(modernCall(2, retry(round, answers)));
  const results = [{ action: 'accept', content: { n: 12345678901234567890n } }, { roots: [] }];
  assert.deepEqual(ask(second), { outcome: 'answered', results });
});

test('a held call gets its answers as an output', () => {
  const { engine, call } = modernEngine();
  const { key } = call(modernCall(1));
  const { outcome, ask } = engine.ask(key, [{ key: 'n', method: 'elicitation/create', params: FORM }], { held: true });
  assert.equal(outcome, 'waiting');
  const round = answered(engine);
  engine.receive(0, modernCall(2, retry(round, '{"n":{"action":"decline"}}')), 0);
  assert.deepEqual(outputs(engine), [{ event: 'answers', ask, call: key, answers: [{ result: { action: 'decline' } }] }]);
  engine.respondText(key, 'well');
  assert.equal(answered(engine).id, 2);
});

test('a legacy client that does not answer in time', () => {
  const engine = new Engine(CONFIG);
  engine.add('tool', { name: 'tool', inputSchema: { type: 'object' } }, 3, 0);
  const stream = engine.open(0);
  engine.receive(stream, INITIALIZE.replace('"capabilities":{}', `"capabilities":${JSON.stringify(ALL)}`), 0);
  engine.receive(stream, '{"jsonrpc":"2.0","method":"notifications/initialized"}\n', 0);
  engine.receive(stream, '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool"}}\n', 0);
  const { call } = outputs(engine).find(({ event }) => event === 'call');
  const { ask } = engine.ask(call.key, [{ method: 'roots/list' }], { timeoutMs: 10 });
  outputs(engine);
  engine.handleTimeout(10);
  const [output] = outputs(engine).filter(({ event }) => event === 'answers');
  assert.equal(output.ask, ask);
  assert.ok(output.answers[0].error instanceof TimedOut);
});

test('rounds by hand, and what a client has not declared', () => {
  const { engine, call } = modernEngine();
  const first = call(modernCall(1));
  assert.deepEqual([first.inputResponses, first.requestState], [null, null]);
  assert.throws(() => engine.respondInputRequired(first.key, {}), ConfigurationError);
  assert.equal(engine.respondInputRequired(first.key, { n: { method: 'elicitation/create', params: FORM } }, 'one'), true);
  const second = call(modernCall(2, retry(answered(engine), '{"n":{"action":"cancel"}}')));
  assert.deepEqual([second.inputResponses, second.requestState], [{ n: { action: 'cancel' } }, 'one']);
  const poor = call(modernCall(3, '', {}));
  assert.throws(() => engine.ask(poor.key, [{ method: 'roots/list' }]), CapabilityNotDeclared);
  assert.equal(engine.failCapability(poor.key, 'roots'), true);
  assert.deepEqual(answered(engine).error.data, { requiredCapabilities: { roots: {} } });
});

test('a state is good for who shares the keys, for its principal, and for its time', () => {
  const keys = [Buffer.alloc(32, 1).toString('base64')];
  const one = modernEngine({ stateKeys: keys });
  one.engine.setEpoch(1_000_000);
  one.engine.setPrincipal(one.stream, 'ada');
  one.engine.ask(one.call(modernCall(1)).key, [{ key: 'n', method: 'elicitation/create', params: FORM }]);
  const again = modernCall(2, retry(answered(one.engine), '{"n":{"action":"cancel"}}'));
  const other = modernEngine();
  assert.throws(() => other.engine.setStateKeys(['short']), ConfigurationError);
  assert.equal(other.call(again), undefined, 'it has other keys');
  other.engine.setStateKeys(keys);
  other.engine.setEpoch(1_000_000 + 700_000);
  other.engine.setPrincipal(other.stream, 'ada');
  assert.equal(other.call(again), undefined, 'it is too late');
  other.engine.setEpoch(1_000_000);
  other.engine.setPrincipal(other.stream, undefined);
  assert.equal(other.call(again), undefined, 'it is of somebody else');
  other.engine.setPrincipal(other.stream, 'ada');
  assert.equal(other.call(again).method, 'tools/call');
  assert.throws(() => other.engine.setPrincipal(9, 'ada'), NoBackChannel);
});

test('a call becomes a task, which is kept in the engine', () => {
  const { engine, call } = modernEngine();
  engine.add('tool', { name: 'task', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }, 4, 0);
  const poor = call(modernCall(1));
  assert.deepEqual([engine.beginTask(poor.key), engine.taskId(poor.key)], [false, undefined]);
  const { key } = call(modernCall(2, '', { ...ALL, extensions: { 'io.modelcontextprotocol/tasks': {} } }));
  assert.equal(engine.beginTask(key), true);
  assert.equal(engine.beginTask(key), false, 'it is under way');
  const all = outputs(engine);
  const { id } = all.find(({ event }) => event === 'taskBegun');
  assert.equal(engine.taskId(key), id);
  const [{ bytes }] = all.filter(({ event }) => event === 'transmit');
  assert.deepEqual(JSON.parse(Buffer.from(bytes)).result.taskId, id);
  assert.deepEqual(all.at(-1), { event: 'taskBegun', call: key, id });
});

test('what is hidden is not served', () => {
  const { engine, call } = modernEngine();
  assert.equal(engine.enable('tool', 'other', false, 0), false);
  assert.equal(engine.enable('tool', 'tool', false, 0), true);
  assert.equal(call(modernCall(1)), undefined);
  assert.equal(engine.enable('tool', 'tool', true, 0), true);
  assert.equal(call(modernCall(2)).method, 'tools/call');
});
