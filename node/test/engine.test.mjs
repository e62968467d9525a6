// `Engine`: the vectors, with the input whole and cut, under a clock of the test's own; and what misuse gives.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

import { ConfigurationError, Engine, image, Json, NoBackChannel, SerializationError } from 'ferromcp';

import { EngineScript } from './vectors/engine.mjs';
import { Mismatch } from './vectors/pattern.mjs';
import { cases, FOLDER, read } from './vectors/plan.mjs';

const NAMES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => readdirSync(new URL(name, FOLDER)).map((file) => `${name}/${file.replace(/\.json$/, '')}`))
  .sort();
const only = process.env['FERROMCP_VECTOR'] ?? '';
const SPELLING = 'jsonrpc/numbers-untouched';

for (const name of NAMES.filter((name) => name.includes(only))) {
  const skip = name === SPELLING ? "JavaScript's numbers keep no spelling" : false;
  test(`engine, vector ${name}`, { skip }, () => {
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

test('all vectors are there', () => assert.ok(NAMES.length > 240, String(NAMES.length)));

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
