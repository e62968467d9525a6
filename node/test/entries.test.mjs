// The two entries of the package, and what happens where its binary is missing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, cpSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
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

/** Two ends of a connection on FIFOs: what a server is given, and a function that asks it. */
function connection() {
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-'));
  const [up, down] = [join(folder, 'up'), join(folder, 'down')];
  execFileSync('mkfifo', [up, down]);
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
  const input = openSync(up, O_RDONLY | O_NONBLOCK);
  const client = { input: openSync(up, O_WRONLY), output: openSync(down, O_RDONLY | O_NONBLOCK) };
  const output = openSync(down, O_WRONLY);
  rmSync(folder, { recursive: true });
  const socket = new Socket({ fd: client.output, readable: true, writable: false });
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  const write = (method, params = {}, id = 1) => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
    writeSync(client.input, `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } })}\n`);
  };
  const line = async () => JSON.parse((await lines.next()).value);
  const ask = (...request) => {
    write(...request);
    return line();
  };
  return { fds: [input, output], write, line, ask, ended: () => lines.next(), end: () => closeSync(client.input) };
}

test('a worker thread serves, and what it has answered is sent when it is terminated', async () => {
  const { fds, ask, ended } = connection();
  const source = `
    const { Server } = require('ferromcp');
    const { parentPort, workerData } = require('node:worker_threads');
    new Server('worker').tool('hello', {}, () => 'from a worker').serve({ fds: workerData });
    parentPort.postMessage('up');`;
  const worker = new Worker(source, { eval: true, workerData: fds });
  await once(worker, 'message');
  const { result } = await ask('tools/call', { name: 'hello', arguments: {} });
  assert.equal(result.content[0].text, 'from a worker');
  await worker.terminate();
  assert.equal((await ended()).done, true, 'the server ends with its thread');
});

test('two copies of the package in one process serve beside each other and know each other\'s errors', async () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-copy-'));
  try {
    for (const name of ['package.json', 'dist', `ferromcp.${triple(currentPlatform())}.node`]) {
      cpSync(join(root, name), join(folder, name), { recursive: true });
    }
    const copy = createRequire(join(folder, 'package.json'))('./dist/index.cjs');
    assert.notEqual(copy.Server, esm.Server);
    assert.ok(new copy.ToolError('x') instanceof esm.ToolError);
    assert.ok(new esm.MCPError(1, 'x') instanceof copy.MCPError && new esm.MCPError(1, 'x') instanceof copy.FerroMCPError);
    assert.ok(!(new copy.ToolError('x') instanceof esm.MCPError));
    const [one, two] = [connection(), connection()];
    const serving = [
      new esm.Server('one').tool('who', {}, () => { throw new copy.ToolError('one'); }).serve({ fds: one.fds }),
      new copy.Server('two').tool('who', {}, () => 'two').serve({ fds: two.fds }),
    ];
    for (const [{ ask }, name] of [[one, 'one'], [two, 'two']]) {
      assert.equal((await ask('tools/call', { name: 'who', arguments: {} })).result.content[0].text, name);
    }
    one.end();
    two.end();
    await Promise.all(serving);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("errors are classes with code, data and cause, and a program's own subclass is its own", () => {
  const cause = new Error('why');
  for (const [error, code] of [
    [new esm.MCPError(-32000, 'text', { data: 1, cause }), -32000],
    [new esm.ToolError('text', { data: 1, cause }), 'FERROMCP_TOOL'],
    [new esm.ConfigurationError('text', { data: 1, cause }), 'FERROMCP_CONFIGURATION'],
    [new esm.SerializationError('text', { data: 1, cause }), 'FERROMCP_SERIALIZATION'],
  ]) {
    assert.deepEqual([error.code, error.data, error.cause, error.message], [code, 1, cause, 'text']);
    assert.ok(error instanceof esm.FerroMCPError && error instanceof Error);
    assert.equal(error.name, error.constructor.name);
  }
  class Own extends esm.ToolError {}
  assert.ok(new Own('x') instanceof Own && new Own('x') instanceof esm.ToolError);
  assert.ok(!(new esm.ToolError('x') instanceof Own));
});

test('npm install of the folder gives both kinds of import, and the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ferromcp-install-'));
  try {
    const run = (command, ...args) => execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    run('npm', 'install', '--offline', '--no-audit', '--no-fund', fileURLToPath(new URL('..', import.meta.url)));
    const version = esm.version();
    assert.equal(run(process.execPath, '--input-type=module', '--eval', "import { version } from 'ferromcp'; console.log(version())"), version);
    assert.equal(run(process.execPath, '--eval', "console.log(require('ferromcp').version())"), version);
    assert.equal(run('npx', '--offline', 'ferromcp', '--version'), version);
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'node_modules/ferromcp/package.json'), 'utf8'));
    assert.equal(dependencies, undefined, 'there is no run-time dependency');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('calls cross in batches: one wake-up and one reply for all that has gathered', async () => {
  const { native } = require('../dist/loader.cjs');
  const crossings = { drain: 0, reply: 0 };
  const { prototype } = native.NativeServer;
  const before = { ...Object.getOwnPropertyDescriptors(prototype) };
  for (const name of Object.keys(crossings)) {
    const original = prototype[name];
    prototype[name] = function (...args) {
      crossings[name]++;
      return original.apply(this, args);
    };
  }
  try {
    const { fds, write, line, end } = connection();
    const serving = new esm.Server('batch').tool('sync', {}, () => 'a').tool('async', {}, async () => 'b').serve({ fds });
    const calls = Array.from({ length: 400 }, (_, id) => ['tools/call', { name: id % 2 ? 'sync' : 'async', arguments: {} }, id]);
    for (const call of calls) write(...call);
    // The event loop is not given back until the server's threads have had time to read all of it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    const ids = new Set();
    while (ids.size < calls.length) ids.add((await line()).id);
    assert.ok(crossings.drain <= 4 && crossings.reply <= 8, JSON.stringify(crossings));
    end();
    await serving;
  } finally {
    for (const name of Object.keys(crossings)) Object.defineProperty(prototype, name, before[name]);
  }
});
