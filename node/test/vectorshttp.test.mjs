// The vectors over HTTP on this door: real servers with JavaScript functions, reached by sockets, behind our own listener and
// behind that of `node:http`. tests/vectors/README.md says what the files mean, vectors/plan.mjs what is left out.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';

import { Mismatch } from './vectors/pattern.mjs';
import { cases, FOLDER, read, stepSkip, webSkip } from './vectors/plan.mjs';
import { Str } from './vectors/text.mjs';
import { CARRIERS, WebScript } from './vectors/web.mjs';

const NAMES = readdirSync(new URL('http', FOLDER)).map((file) => `http/${file.replace(/\.json$/, '')}`).sort();

// Who a client is has to be found out by what carries a request; our own listener leaves that to others.
const PRINCIPALS = { listen: false, 'node:http': true };

// How many vectors run, and which do not. A vector that is added or taken away changes a number here; one that is left out
// has to be entered.
const RUN = { listen: 80, 'node:http': 81 };
const CLOCK = ['http/keep-alive', 'http/session-idle'];
const LEFT_OUT = { listen: { clock: CLOCK, needs: ['http/session-of-another'] }, 'node:http': { clock: CLOCK } };
const STEPS_LEFT_OUT = { advance: 1, reason: 1 };

const only = process.env['FERROMCP_VECTOR'] ?? '';

for (const [carrier, carry] of Object.entries(CARRIERS)) {
  for (const name of NAMES.filter((name) => name.includes(only))) {
    const vector = read(name);
    test(`vector ${name} by ${carrier}`, { skip: webSkip(vector, PRINCIPALS[carrier]) }, async () => {
      for (const [number, one] of cases(vector).entries()) {
        const script = new WebScript(one, vector.get('http'), carry);
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

  test(`no vector stops running by ${carrier}`, () => {
    let ran = 0;
    const leftOut = {};
    const steps = {};
    for (const name of NAMES) {
      const vector = read(name);
      const skip = webSkip(vector, PRINCIPALS[carrier]);
      if (skip !== undefined) {
        (leftOut[skip] ??= []).push(name);
        continue;
      }
      ran++;
      for (const step of cases(vector).flatMap((one) => one.steps)) {
        const why = stepSkip(step);
        if (why !== undefined) steps[why] = (steps[why] ?? 0) + 1;
      }
    }
    assert.deepEqual(leftOut, LEFT_OUT[carrier]);
    assert.deepEqual(steps, STEPS_LEFT_OUT);
    assert.equal(ran, RUN[carrier]);
  });
}

// Control: what would be wrong is noticed, in whichever form a message comes.
test('messages over HTTP with a member more are noticed', async () => {
  const change = (message) => (Array.isArray(message) ? message.map(change) : new Map([...message, ['corrupt', new Str('')]]));
  const expects = (step) => ['error', 'transmit', 'transmitAll'].some((verb) => step.has(verb));
  let noticed = 0;
  for (const name of NAMES) {
    const vector = read(name);
    const [one] = cases(vector);
    if (webSkip(vector, false) !== undefined || !one.steps.some(expects)) continue;
    const script = new WebScript(one, vector.get('http'), CARRIERS.listen, { change, patience: 1_000 });
    await assert.rejects(script.run(one.steps), Mismatch, name);
    noticed++;
  }
  assert.ok(noticed > 50, `most vectors expect messages: ${noticed}`);
});
