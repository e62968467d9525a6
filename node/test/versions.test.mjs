// The same tests on the other releases of Node that are supported. `npm ci` in test/runtimes brings them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const FILES = ['engine', 'entries', 'message', 'server', 'values'].map((name) => path(`${name}.test.mjs`));

for (const major of [22, 24]) {
  const binary = path(`runtimes/node_modules/node${major}/bin/node`);
  test(`Node ${major}`, { skip: existsSync(binary) ? undefined : 'not installed: npm ci in test/runtimes' }, async () => {
    // Else the runner inside would report to the one outside, in its own language.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const child = spawn(binary, ['--test', '--test-reporter=tap', ...FILES], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    const [code] = await once(child, 'close');
    assert.equal(code, 0, output);
    assert.ok(Number(/^# pass (\d+)$/m.exec(output)?.[1]) > 25, output);
  });
}
