// Arguments of prompts: text on the wire (2026-07-28 schema, `GetPromptRequestParams`), values of a schema in the function.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withServer } from './client.mjs';

test('arguments are read as their schema says', async () => {
  const declare = `
    const { z } = await import('zod');
    const args = z.object({
      ids: z.array(z.int()).optional(), on: z.boolean().optional(), text: z.string().optional(),
      model: z.object({ a: z.number() }).optional(), either: z.union([z.string(), z.number()]).optional(),
      coerced: z.coerce.number().optional(), count: z.int().default(3),
    });
    server.prompt('typed', { arguments: args }, (given) => JSON.stringify(given));
    const later = args.refine(async () => true);
    const shown = { schema: later, jsonSchema: { type: 'object', properties: { ids: {}, on: {} } } };
    server.prompt('later', { arguments: shown }, (given) => JSON.stringify(given));`;
  await withServer(declare, async (client) => {
    const got = async (args, name = 'typed') => {
      const { messages } = await client.result('prompts/get', { name, arguments: args });
      return JSON.parse(messages[0].content.text);
    };
    assert.deepEqual(await got({}), { count: 3 });
    assert.deepEqual(await got({ ids: '[1, 2]', on: 'true', model: '{"a": 0.5}', count: '4' }), { ids: [1, 2], on: true, model: { a: 0.5 }, count: 4 });
    // Text stays text, whatever it looks like.
    assert.deepEqual(await got({ text: '7', either: '7', coerced: '7' }), { text: '7', either: '7', coerced: 7, count: 3 });
    assert.deepEqual(await got({ ids: '[3]' }, 'later'), { ids: [3], count: 3 });
    for (const name of ['typed', 'later']) {
      for (const wrong of [{ ids: '[true]' }, { ids: '1, 2' }, { on: 'yes' }, { on: '"true"' }]) {
        const { error } = await client.ask('prompts/get', { name, arguments: wrong });
        assert.equal(error.code, -32602);
        assert.match(error.message, new RegExp(`prompt '${name}': ${Object.keys(wrong)[0]}`));
      }
    }
    assert.equal(await client.end(), 0);
    assert.equal(client.stderr, '');
  });
});
