// The two entries of the package, and what happens where its binary is missing.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import * as esm from 'ferromcp';

const require = createRequire(import.meta.url);
const { loadNative } = require('../dist/loader.cjs');
const { currentPlatform, triple } = require('../dist/platform.cjs');

test('import and require give the same objects', () => {
  const cjs = require('ferromcp');
  const names = Object.keys(cjs).filter((name) => name !== '__esModule');
  assert.deepEqual(Object.keys(esm).sort(), names.sort());
  for (const name of names) assert.equal(esm[name], cjs[name], name);
});

test('a worker thread loads it too', async () => {
  const source = `require('node:worker_threads').parentPort.postMessage(require('ferromcp').version())`;
  const worker = new Worker(source, { eval: true });
  const answer = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  assert.equal(answer, esm.version());
});

test('platforms have the names that the packages have', () => {
  assert.equal(triple({ os: 'linux', arch: 'x64', libc: 'gnu' }), 'linux-x64-gnu');
  assert.equal(triple({ os: 'linux', arch: 'arm64', libc: 'musl' }), 'linux-arm64-musl');
  assert.equal(triple({ os: 'darwin', arch: 'arm64' }), 'darwin-arm64');
  assert.equal(triple({ os: 'win32', arch: 'x64' }), 'win32-x64-msvc');
  assert.equal(currentPlatform().os, process.platform);
});

test("the platform's own package is used when the folder has no binary", () => {
  const asked = [];
  const addon = {};
  const load = (id) => {
    asked.push(id);
    if (id.startsWith('@ferromcp/')) return addon;
    throw new Error('not here');
  };
  assert.equal(loadNative(load, { os: 'linux', arch: 'x64', libc: 'musl' }), addon);
  assert.equal(asked.length, 2);
});

test('a missing binary is named, with what to do', () => {
  const load = (id) => {
    throw new Error(`Cannot find module '${id}'\nRequire stack:\n- somewhere`);
  };
  const platform = { os: 'linux', arch: 'riscv64', libc: 'musl' };
  assert.throws(() => loadNative(load, platform), (error) => {
    assert.ok(error instanceof esm.NativeModuleError);
    assert.equal(error.code, 'FERROMCP_NATIVE_MODULE');
    for (const part of ['linux', 'riscv64', 'musl', '@ferromcp/node-linux-riscv64-musl', process.version, 'npm install']) {
      assert.ok(error.message.includes(part), part);
    }
    assert.ok(!error.message.includes('Require stack'));
    return true;
  });
});
