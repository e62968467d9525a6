// Values on their way in and out: integers of any size, bytes, ready JSON, schemas of every library.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Server } from 'ferromcp';

import { withServer } from './client.mjs';

const HUGE = '123456789012345678901234567890';
const schema = `{ inputSchema: { type: 'object' } }`;

/** The text of a tool's answer for arguments as JSON text. */
async function raw(client, name, args) {
  const meta = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
  client.send(`{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"${name}","arguments":${args},"_meta":{${meta}}}}`);
  const { result } = await client.answer('raw');
  return result;
}

test('integers beyond 2^53 make the round trip exactly', async () => {
  const declare = `
    server.tool('back', { ...${schema}, outputSchema: { type: 'object' } }, (args) => args);
    server.tool('kinds', ${schema}, ({ list }) => list.map((item) => typeof item).join());`;
  await withServer(declare, async (client) => {
    const args = `{"a":${HUGE},"b":[-${HUGE},9007199254740991,9007199254740992],"__proto__":{"c":${HUGE}},"s":"${HUGE}"}`;
    const { content } = await raw(client, 'back', args);
    assert.equal(content[0].text, args);
    const kinds = await raw(client, 'kinds', `{"list":[1,9007199254740991,9007199254740993,"${HUGE}",1.5]}`);
    assert.equal(kinds.content[0].text, 'number,number,bigint,string,number');
  });
});

test('wherever else they come from', async () => {
  const declare = `
    server.tool('id', {}, (_, { requestId, meta }) => typeof requestId + ':' + requestId + ' ' + meta.m);
    server.tool('ask', {}, async (_, context) => String((await context.request('ping')).n));
    server.method('x/same', ({ n }) => ({ n }));`;
  await withServer(declare, async (client) => {
    const modern = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
    client.send(`{"jsonrpc":"2.0","id":${HUGE},"method":"tools/call","params":{"name":"id","_meta":{"m":${HUGE},${modern}}}}`);
    const { result } = await client.message((message) => message.id === Number(HUGE));
    assert.equal(result.content[0].text, `bigint:${HUGE} ${HUGE}`);
    client.send(`{"jsonrpc":"2.0","id":"m","method":"x/same","params":{"n":${HUGE},"_meta":{${modern}}}}`);
    assert.equal((await client.answer('m')).result.n, Number(HUGE));
    await client.initialize();
    const id = client.request('tools/call', { name: 'ask', arguments: {} });
    const asked = await client.message(({ method }) => method === 'ping');
    client.send(`{"jsonrpc":"2.0","id":${asked.id},"result":{"n":${HUGE}}}`);
    assert.equal((await client.answer(id)).result.content[0].text, HUGE);
  });
});

test('as strings or errors, if so wanted', async () => {
  const declare = `server.tool('kind', ${schema}, ({ a }) => typeof a + ':' + a);`;
  await withServer(declare, async (client) => {
    assert.equal((await raw(client, 'kind', `{"a":${HUGE}}`)).content[0].text, `string:${HUGE}`);
  }, `{ integers: 'string' }`);
  await withServer(declare, async (client) => {
    const { isError, content } = await raw(client, 'kind', `{"a":${HUGE}}`);
    assert.ok(isError && content[0].text.includes(HUGE), content[0].text);
    assert.equal((await raw(client, 'kind', '{"a":9007199254740991}')).content[0].text, 'number:9007199254740991');
  }, `{ integers: 'error' }`);
  assert.throws(() => new Server('x', { integers: 'float' }), { code: 'FERROMCP_CONFIGURATION' });
});

test('bytes, blocks and ready JSON', async () => {
  const declare = `
    const bytes = Buffer.from([0, 255, 1]);
    server.tool('image', {}, () => [text('an image'), image(bytes, 'image/png')]);
    server.tool('block', {}, async () => image('AP8B', 'image/png'));
    server.tool('bytes', {}, () => new Uint8Array(bytes));
    server.tool('ready', {}, () => ({ content: [], structuredContent: new Json('{"b": 1.50, "a":\\n 1}') }));
    server.tool('nothing', {}, () => {});
    server.tool('number', {}, () => 1.5);
    server.tool('both', {}, () => ({ n: 1n, ready: new Json('"\\\\u00e9"') }));
    server.resource('mem://bytes', {}, () => bytes);
    server.resource('mem://json', {}, async () => ({ a: 1 }));
    server.resource('mem://parts', { mimeType: 'text/plain' }, () => [{ text: 'a' }, { uri: 'mem://b', blob: bytes }]);
    server.prompt('mixed', {}, () => [{ role: 'assistant', content: 'a' }, image(bytes, 'image/png')]);`;
  await withServer(declare, async (client) => {
    const content = async (name) => (await client.call(name)).content;
    const block = { type: 'image', data: 'AP8B', mimeType: 'image/png' };
    assert.deepEqual(await content('image'), [{ type: 'text', text: 'an image' }, block]);
    assert.deepEqual(await content('block'), [block]);
    assert.equal((await content('bytes'))[0].resource.blob, 'AP8B');
    // Line ends become blanks: a message is one line.
    assert.equal((await content('ready'))[0].text, '{"b": 1.50, "a":  1}');
    assert.deepEqual(await content('nothing'), []);
    assert.equal((await content('number'))[0].text, '1.5');
    assert.equal((await content('both'))[0].text, '{"n":1,"ready":"\\u00e9"}');
    const read = async (uri) => (await client.result('resources/read', { uri })).contents;
    assert.deepEqual(await read('mem://bytes'), [{ uri: 'mem://bytes', mimeType: 'application/octet-stream', blob: 'AP8B' }]);
    assert.deepEqual(await read('mem://json'), [{ uri: 'mem://json', mimeType: 'application/json', text: '{"a":1}' }]);
    assert.deepEqual(await read('mem://parts'), [
      { uri: 'mem://parts', mimeType: 'text/plain', text: 'a' },
      { uri: 'mem://b', mimeType: 'text/plain', blob: 'AP8B' },
    ]);
    const { messages } = await client.result('prompts/get', { name: 'mixed' });
    assert.deepEqual(messages, [
      { role: 'assistant', content: { type: 'text', text: 'a' } },
      { role: 'user', content: block },
    ]);
  });
});

test('what JSON lacks is an error that names the place', async () => {
  const declare = `
    const values = [
      NaN, { items: [1, 2, { price: -Infinity }] }, { 'a b': [undefined] }, [() => 1], { at: { toJSON: () => [NaN] } },
      { n: null, text: 'null', gone: undefined, when: new Date(0), ready: new Json('null') },
    ];
    server.tool('text', ${schema}, ({ at }) => values[at]);
    server.tool('structured', { ...${schema}, outputSchema: {} }, ({ at }) => ({ content: [], structuredContent: values[at] }));
    server.resource('mem://nan', {}, () => [NaN]);`;
  await withServer(declare, async (client) => {
    const wanted = [
      'result: NaN', 'result.items[2].price: -Infinity', 'result["a b"][0]: undefined', 'result[0]: function', 'result.at[0]: NaN',
    ];
    for (const [at, place] of wanted.entries()) {
      const { isError, content } = await client.call('text', { at });
      assert.deepEqual([isError, content[0].text], [true, `Error calling tool 'text': ${place} is not JSON`]);
      const { content: shown } = await client.call('structured', { at });
      const inner = place.replace('result', 'result.structuredContent');
      assert.equal(shown[0].text, `Error calling tool 'structured': ${inner} is not JSON`);
    }
    const { content } = await client.call('text', { at: wanted.length });
    assert.equal(content[0].text, '{"n":null,"text":"null","when":"1970-01-01T00:00:00.000Z","ready":null}');
    const { error } = await client.ask('resources/read', { uri: 'mem://nan' });
    assert.match(error.message, /result\[0\]: NaN is not JSON/);
  });
});

test('schemas of zod, valibot and arktype list, check and convert', async () => {
  const declare = `
    const { z } = await import('zod');
    const v = await import('valibot');
    const { type } = await import('arktype');
    server.tool('zod', { inputSchema: z.object({ n: z.int(), word: z.string().default('x').transform((s) => s.toUpperCase()) }) }, ({ n, word }) => word.repeat(n));
    const valibot = v.object({ n: v.pipe(v.number(), v.integer()), word: v.pipe(v.optional(v.string(), 'y'), v.transform((s) => s.toUpperCase())) });
    const jsonSchema = { type: 'object', properties: { n: { type: 'integer' }, word: { type: 'string' } }, required: ['n'] };
    server.tool('valibot', { inputSchema: { schema: valibot, jsonSchema } }, ({ n, word }) => word.repeat(n));
    server.tool('arktype', { inputSchema: type({ n: 'number.integer', 'word?': 'string' }) }, ({ n, word = 'Z' }) => word.repeat(n));
    server.tool('late', { inputSchema: z.object({ n: z.int().refine(async (n) => n > 1, 'too small') }) }, ({ n }) => n);`;
  await withServer(declare, async (client) => {
    const { tools } = await client.result('tools/list');
    for (const [name, letter] of [['zod', 'X'], ['valibot', 'Y'], ['arktype', 'Z']]) {
      const { inputSchema } = tools.find((tool) => tool.name === name);
      assert.equal(inputSchema.properties.n.type, 'integer', name);
      assert.deepEqual(inputSchema.required, ['n'], name);
      assert.equal((await client.call(name, { n: 2 })).content[0].text, letter + letter);
      assert.ok((await client.call(name, { n: 'two' })).isError, name);
    }
    assert.equal((await client.call('late', { n: 2 })).content[0].text, '2');
    assert.match((await client.call('late', { n: 1 })).content[0].text, /^Invalid arguments for tool 'late': n: too small$/);
  });
});

test('a schema without JSON Schema is refused with what to do', async () => {
  const v = await import('valibot');
  const server = new Server('x');
  assert.throws(() => server.tool('t', { inputSchema: v.object({}) }, () => {}), /valibot .*\{ schema, jsonSchema \}/s);
  assert.throws(() => server.tool('t', { inputSchema: 5 }, () => {}), { code: 'FERROMCP_CONFIGURATION' });
  assert.throws(() => server.tool('t', {}), /function/);
  assert.throws(() => server.tool('t', {}, () => {}).tool('t', {}, () => {}), /declared already/);
});
