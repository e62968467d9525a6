// What is done with the inside of an SDK's server is done for the versions that are compared, and for no other.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { fixture, withClient } from './client.mjs';

const SDKS = [
  { name: '@modelcontextprotocol/sdk', fixture: 'sdk1.mjs', others: ['1.31.0', '1.33.0', '2.0.0'] },
  { name: '@modelcontextprotocol/server', fixture: 'sdk2.mjs', others: ['2.3.0', '2.5.0'] },
];

const PROGRAM = `
  import { accelerate, serve } from 'ferromcp';
  import { server } from './server.mjs';
  await serve(accelerate(server, { onFallback: (reason) => console.error(reason) }));
  const { transport } = server.server;
  const { onmessage } = transport;
  // What comes by the public road passes here.
  transport.onmessage = (message, extra) => {
    console.error('public', message.method);
    onmessage(message, extra);
  };`;

/** Runs the program with a copy of an SDK that says that it is of this version. */
async function withVersion({ name, fixture: source }, version, body) {
  // In this folder, where the copy finds what it depends on.
  const folder = mkdtempSync(fileURLToPath(new URL('compared-', import.meta.url)));
  try {
    const installed = fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
    const copy = join(folder, 'node_modules', name);
    cpSync(installed, copy, { recursive: true });
    const manifest = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'));
    writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, version: version ?? manifest.version }));
    cpSync(fixture(source), join(folder, 'server.mjs'));
    writeFileSync(join(folder, 'program.mjs'), PROGRAM);
    await withClient({ args: [join(folder, 'program.mjs')] }, body);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const sdk of SDKS) {
  for (const version of sdk.others) {
    test(`${sdk.name} ${version} is served by its public methods`, async () => {
      await withVersion(sdk, version, async (client) => {
        await client.initialize();
        assert.match(client.stderr, new RegExp(`${version} is not compared`));
        assert.equal((await client.call('echo', { text: 'a' })).content[0].text, 'a');
        await client.result('tools/list');
        for (const method of ['initialize', 'tools/call', 'tools/list']) assert.match(client.stderr, new RegExp(`public ${method}`));
        // Nothing is known of its lists either.
        const busy = client.request('tools/call', { name: 'busy', arguments: { ms: 200 } });
        const list = client.request('tools/list');
        await client.answer(busy);
        await client.answer(list);
      });
    });
  }

  test(`${sdk.name} of the version that is compared takes the short ways`, async () => {
    await withVersion(sdk, undefined, async (client) => {
      await client.initialize();
      assert.equal((await client.call('echo', { text: 'a' })).content[0].text, 'a');
      await client.call('noisy');
      assert.doesNotMatch(client.stderr, /is not compared|public tools.call/);
    });
  });
}
