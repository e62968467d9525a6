// Messages through the addon: what is read, and what a fault says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { MCPError, parseMessage, version } from 'ferromcp';

const request = '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools\\/call","params":{"name":"é", "x":1.10e+400}}';

test('the version is the package version', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  assert.equal(version(), manifest.version);
});

test('a request keeps every digit and byte', () => {
  const wanted = {
    kind: 'request',
    id: '9007199254740993',
    method: 'tools/call',
    params: '{"name":"é", "x":1.10e+400}',
  };
  assert.deepEqual({ ...parseMessage(request) }, wanted);
  assert.deepEqual({ ...parseMessage(new TextEncoder().encode(`${request}\r\n`)) }, wanted);
  assert.deepEqual({ ...parseMessage(Buffer.from(request)) }, wanted);
});

test('a notification has no id, a response no method', () => {
  assert.deepEqual({ ...parseMessage('{"jsonrpc":"2.0","method":""}') }, { kind: 'notification', method: '' });
  assert.deepEqual(
    { ...parseMessage('{"jsonrpc":"2.0","id":"","result":{}}') },
    { kind: 'response', id: '""', result: '{}' },
  );
  assert.deepEqual(
    { ...parseMessage('{"jsonrpc":"2.0","error":{"code":1,"message":""}}') },
    { kind: 'response', error: '{"code":1,"message":""}' },
  );
});

test('a fault is an MCPError that says what to answer', () => {
  const fault = (text) => {
    try {
      parseMessage(text);
    } catch (error) {
      assert.ok(error instanceof MCPError && error instanceof Error);
      assert.equal(error.name, 'MCPError');
      assert.ok(error.message.length > 0);
      return [error.code, error.id];
    }
    return assert.fail(`${text} was accepted`);
  };
  assert.deepEqual(fault('{'), [-32700, undefined]);
  assert.deepEqual(fault(''), [-32700, undefined]);
  assert.deepEqual(fault(Uint8Array.of(0x22, 0xff, 0x22)), [-32700, undefined]);
  assert.deepEqual(fault('{"jsonrpc":"2.0","id":7,"method":42}'), [-32600, '7']);
  assert.deepEqual(fault('[{"jsonrpc":"2.0","method":"a"}]'), [-32600, undefined]);
});

test('what is no text is refused by type', () => {
  for (const value of [undefined, null, 5, {}]) assert.throws(() => parseMessage(value), /.+/);
});

test('an MCPError carries data and cause', () => {
  const cause = new Error('why');
  const error = new MCPError(-32000, 'text', { data: { a: 1 }, cause });
  assert.deepEqual(error.data, { a: 1 });
  assert.equal(error.cause, cause);
  assert.ok(!('cause' in new MCPError(1, '')));
});
