// The vectors that every door runs, on this one: real servers with JavaScript functions, served on pipes.
// tests/vectors/README.md says what the files mean, vectors/plan.mjs what is left out.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { hold, Mismatch, resolve } from './vectors/pattern.mjs';
import { cases, FOLDER, read, stepSkip, vectorSkip } from './vectors/plan.mjs';
import { Script } from './vectors/script.mjs';
import { Num, parse, Str, write } from './vectors/text.mjs';

const NAMES = readdirSync(FOLDER, { withFileTypes: true })
  // Those in http/ are run by vectorshttp.test.mjs.
  .filter((entry) => entry.isDirectory() && entry.name !== 'http')
  .flatMap(({ name }) => readdirSync(new URL(name, FOLDER)).map((file) => `${name}/${file.replace(/\.json$/, '')}`))
  .sort();

const only = process.env['FERROMCP_VECTOR'] ?? '';

for (const name of NAMES.filter((name) => name.includes(only))) {
  const vector = read(name);
  test(`vector ${name}`, { skip: vectorSkip(name, vector) }, async () => {
    for (const [number, one] of cases(vector).entries()) {
      const script = new Script(one);
      try {
        await script.run(one.steps);
      } catch (error) {
        error.message = `case ${number + 1}: ${error.message}`;
        throw error;
      }
      assert.ok(script.checks > 0, 'nothing is held against anything');
    }
  });
}

// How many vectors run, and which do not. A vector that is added or taken away changes a number here; one that is left out
// has to be entered.
const RUN = 319;
const LEFT_OUT = {
  clock: [
    'asking/held-unanswered',
    'asking/state-expired',
    'cancellation/never-sent-to-modern',
    'lifecycle/call-deadline',
    'stdio/end-of-input-bounded',
    'tasks/expired',
  ],
  connections: ['asking/any-connection', 'asking/legacy-url-complete', 'modern/two-connections'],
  needs: ['tasks/legacy-principal', 'tasks/principal'],
  spelling: ['jsonrpc/numbers-untouched'],
};
const STEPS_LEFT_OUT = { advance: 2, event: 24, reason: 15 };

test('no vector stops running', () => {
  let ran = 0;
  const leftOut = {};
  const steps = {};
  for (const name of NAMES) {
    const vector = read(name);
    const skip = vectorSkip(name, vector);
    if (skip !== undefined) {
      (leftOut[skip] ??= []).push(name);
      continue;
    }
    ran++;
    for (const one of cases(vector)) {
      for (const step of one.steps) {
        const why = step instanceof Map ? stepSkip(step) : undefined;
        if (why !== undefined) steps[why] = (steps[why] ?? 0) + 1;
      }
    }
  }
  assert.deepEqual(leftOut, LEFT_OUT);
  assert.deepEqual(steps, STEPS_LEFT_OUT);
  assert.equal(ran, RUN);
});

test('servers leave nothing behind', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  const descriptors = async () => {
    // What JavaScript holds goes with its objects; the server's last thread may be about to end.
    for (let count = 0; count < 5; count++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return readdirSync('/dev/fd').length;
  };
  const vector = read('cancellation/cancel');
  const run = async (times) => {
    for (let count = 0; count < times; count++) for (const one of cases(vector)) await new Script(one).run(one.steps);
  };
  await run(1);
  const before = await descriptors();
  await run(10);
  const after = await descriptors();
  assert.ok(after <= before, `${after} descriptors, ${before} before`);
});

// Controls: what would be wrong is noticed.

const more = (message) => (Array.isArray(message) ? message.map(more) : new Map([...message, ['corrupt', new Str('')]]));
const otherVersion = (message) =>
  Array.isArray(message) ? message.map(otherVersion) : new Map([...message, ['jsonrpc', new Str('2.1')]]);

for (const [what, change] of Object.entries({ 'a member more': more, 'another version': otherVersion })) {
  test(`messages with ${what} are noticed`, async () => {
    const expects = (step) => ['error', 'transmit', 'transmitAll'].some((verb) => step.has(verb));
    let noticed = 0;
    for (const name of NAMES.filter((_, number) => number % 4 === 0)) {
      const vector = read(name);
      const [one] = cases(vector);
      if (vectorSkip(name, vector) !== undefined || !one.steps.some((step) => step instanceof Map && expects(step))) continue;
      await assert.rejects(new Script(one, change).run(one.steps), Mismatch, name);
      noticed++;
    }
    assert.ok(noticed > 45, `most vectors expect messages: ${noticed}`);
  });
}

test('patterns', () => {
  for (const [pattern, fits, not] of [
    ['1', '1', '1.0'],
    ['1', '1', '"1"'],
    ['true', 'true', '1'],
    ['"\\u00e9"', '"é"', '"e"'],
    ['"\\ud800"', '"\\uD800"', '"\\ud801"'],
    ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1}'],
    ['{"a": 1}', '{"a": 1}', '{"a": 1, "b": 2}'],
    ['[1, 2]', '[1, 2]', '[2, 1]'],
    ['[{"$any": true}]', '["x"]', '[]'],
    ['{"$type": "string"}', '"1"', '1'],
    ['{"$type": "number"}', '1', 'true'],
    ['{"$type": "integer"}', '-1', '1.0'],
    ['{"$oneOf": [1, 2]}', '2', '3'],
    ['{"$line": true}', '"one line"', '"two\\nlines"'],
    ['{"$holds": "1.50"}', '{"a": 1.50}', '{"a": 1.5}'],
    ['{"$open": {"a": 1}}', '{"a": 1, "b": 2}', '{"b": 2}'],
    ['{"$unordered": [1, 2]}', '[2, 1]', '[1, 1]'],
    ['{"a": {"$optional": 1}}', '{}', '{"a": 2}'],
    ['{"a": {"$absent": true}}', '{}', '{"a": null}'],
  ]) {
    hold(parse(pattern), parse(fits));
    assert.throws(() => hold(parse(pattern), parse(not)), Mismatch, `${pattern} ${not}`);
  }
});

test('names', () => {
  const names = hold(parse('{"a": {"$bind": "x"}, "b": [{"$bind": "y"}]}'), parse('{"a": 1.50, "b": ["$$"]}'));
  assert.equal(write(names.get('x')), '1.50');
  assert.equal(write(resolve(parse('["$x", {"k": "$x"}, "$$x"]'), names)), '[1.50,{"k":1.50},"$x"]');
  assert.ok(resolve(new Str('$x'), names) instanceof Num);
});

test('what is no JSON is refused', () => {
  for (const text of ['{"a":1,"a":1}', 'NaN', '[1,]', '"\n"', '1 2']) assert.throws(() => parse(text), SyntaxError, text);
});
