// Extensions of the protocol, and a catalogue that changes while it is served; both eras.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { withServer } from './client.mjs';

const textOf = ({ content: [{ text }] }) => text;

for (const era of ['modern', 'legacy']) {
  test(`${era}: methods and notifications of an extension`, async () => {
    const declare = `
      server.extension('vendor/ext', { depth: 2 });
      server.extension('vendor/plain');
      server.method('vendor/echo', ({ value }, context) => ({ value, settings: context.clientExtension('vendor/ext') ?? null }));
      server.onNotification('vendor/said', ({ n }) => console.error('said', n));
      server.onNotification('vendor/fails', async () => { throw new Error('not this one'); });
      try { server.method('vendor/none'); } catch (error) { console.error(error.name); }`;
    await withServer(declare, async (client) => {
      const shown = era === 'legacy' ? await client.initialize() : await client.result('server/discover');
      const expected = era === 'legacy' ? undefined : { 'vendor/ext': { depth: 2 }, 'vendor/plain': {} };
      assert.deepEqual(shown.capabilities.extensions, expected);
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'vendor/ext': { a: 1 } } } };
      const result = await client.result('vendor/echo', { value: [1], ...(era === 'modern' ? { _meta } : {}) });
      assert.deepEqual([result.value, result.settings], [[1], era === 'modern' ? { a: 1 } : null]);
      assert.equal((await client.ask('vendor/undeclared')).error.code, -32601);
      client.send({ jsonrpc: '2.0', method: 'vendor/fails' });
      client.send({ jsonrpc: '2.0', method: 'vendor/said', params: { n: 7 } });
      client.send({ jsonrpc: '2.0', method: 'vendor/unheard', params: {} });
      await client.trace('said 7');
      await client.trace('not this one');
      assert.match(client.stderr, /ConfigurationError/);
      assert.equal(await client.end(), 0);
    });
  });

  test(`${era}: _meta goes both ways`, async () => {
    const declare = `
      const seen = ({ meta }) => ({ 'vendor/seen': meta?.['vendor/x'] ?? null });
      server.tool('t', {}, (_, context) => ({ content: [text('t')], _meta: seen(context) }));
      server.resource('mem://r', {}, (_, context) => ({ contents: [{ text: 'r', _meta: { own: 1 } }], _meta: seen(context) }));
      server.prompt('p', {}, (_, context) => ({ description: 'd', messages: [{ role: 'user', content: 'p' }], _meta: seen(context) }));`;
    await withServer(declare, async (client) => {
      if (era === 'legacy') await client.initialize();
      const result = (method, params) => client.result(method, { ...params, _meta: { 'vendor/x': [5] } });
      const tool = await result('tools/call', { name: 't', arguments: {} });
      assert.deepEqual([tool._meta['vendor/seen'], textOf(tool)], [[5], 't']);
      const resource = await result('resources/read', { uri: 'mem://r' });
      assert.deepEqual(resource._meta['vendor/seen'], [5]);
      assert.deepEqual(resource.contents, [{ uri: 'mem://r', text: 'r', _meta: { own: 1 } }]);
      const prompt = await result('prompts/get', { name: 'p' });
      assert.deepEqual([prompt._meta['vendor/seen'], prompt.description], [[5], 'd']);
      assert.deepEqual(prompt.messages, [{ role: 'user', content: { type: 'text', text: 'p' } }]);
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });

  test(`${era}: a page is a resource that its tool points at`, async () => {
    const declare = `
      const { AppView } = await import('ferromcp');
      const ui = { csp: { connectDomains: ['https://example.com'] } };
      const clock = new AppView('ui://clock/view.html', 'Clock', '<p>é</p>', { ui });
      const meta = clock.toolMeta({ 'vendor/x': 1, ui: { visibility: ['app'] } });
      server.appView(clock).tool('time', { meta }, () => '12:00');
      const refused = (body) => { try { body(); } catch (error) { console.error(error.name, error.message); } };
      refused(() => new AppView('https://example.com/', 'x', ''));
      refused(() => clock.toolMeta({ ui: null }));
      refused(() => server.appView(clock));`;
    await withServer(declare, async (client) => {
      const shown = era === 'legacy' ? await client.initialize() : await client.result('server/discover');
      const extensions = era === 'legacy' ? undefined : { 'io.modelcontextprotocol/ui': {} };
      assert.deepEqual(shown.capabilities.extensions, extensions);
      const _meta = { ui: { csp: { connectDomains: ['https://example.com'] } } };
      const page = { uri: 'ui://clock/view.html', mimeType: 'text/html;profile=mcp-app', _meta };
      assert.deepEqual((await client.result('resources/list')).resources, [{ ...page, name: 'Clock' }]);
      const { contents } = await client.result('resources/read', { uri: page.uri });
      assert.deepEqual(contents, [{ ...page, text: '<p>é</p>' }]);
      const [tool] = (await client.result('tools/list')).tools;
      assert.deepEqual(tool._meta, { 'vendor/x': 1, ui: { visibility: ['app'], resourceUri: page.uri } });
      assert.equal(await client.end(), 0);
      const [uri, ui, twice] = client.stderr.trimEnd().split('\n');
      assert.match(uri, /^ConfigurationError .*ui:\/\//);
      assert.match(ui, /^SerializationError ui: /);
      assert.match(twice, /^ConfigurationError .*declared already/);
    });
  });

  test(`${era}: what is disabled is neither listed nor served`, async () => {
    const declare = `
      server.tool('one', {}, () => '1');
      server.tool('two', {}, () => '2');
      server.resource('mem://a', {}, () => 'a');
      server.resource('mem://x/{id}', {}, ({ id }) => id);
      server.prompt('p', {}, () => 'p');
      const first = [server.disableTool('two'), server.disableTool('none'), server.enablePrompt('none')];
      server.tool('set', {}, ({ on }) => {
        const word = on ? 'enable' : 'disable';
        const found = [server[word + 'Tool']('one'), server[word + 'Tool']('two'), server[word + 'Resource']('mem://a')];
        return [...first, ...found, server[word + 'Resource']('mem://x/{id}'), server[word + 'Prompt']('p')];
      });`;
    await withServer(declare, async (client) => {
      if (era === 'legacy') await client.initialize();
      const listed = async () => {
        const { tools } = await client.result('tools/list');
        const { resources } = await client.result('resources/list');
        const { resourceTemplates } = await client.result('resources/templates/list');
        const { prompts } = await client.result('prompts/list');
        return [tools.map(({ name }) => name), resources.length, resourceTemplates.length, prompts.length];
      };
      const served = async () => {
        const answers = [
          await client.ask('tools/call', { name: 'one', arguments: {} }),
          await client.ask('resources/read', { uri: 'mem://a' }),
          await client.ask('resources/read', { uri: 'mem://x/1' }),
          await client.ask('prompts/get', { name: 'p' }),
        ];
        return answers.map(({ error }) => error === undefined);
      };
      const set = async (on) => JSON.parse(textOf(await client.call('set', { on })));
      assert.deepEqual(await listed(), [['one', 'set'], 1, 1, 1]);
      assert.equal((await client.ask('tools/call', { name: 'two', arguments: {} })).error.code, -32602);
      const all = [true, false, false, true, true, true, true, true];
      assert.deepEqual(await set(false), all);
      assert.deepEqual(await listed(), [['set'], 0, 0, 0]);
      assert.deepEqual(await served(), [false, false, false, false]);
      assert.deepEqual(await set(true), all);
      assert.deepEqual(await listed(), [['one', 'two', 'set'], 1, 1, 1]);
      assert.deepEqual(await served(), [true, true, true, true]);
      if (era === 'legacy') await client.message(({ method }) => method === 'notifications/tools/list_changed');
      assert.equal(await client.end(), 0);
      assert.equal(client.stderr, '');
    });
  });
}

test('the trace that a request belongs to', async () => {
  await withServer(`server.tool('trace', {}, (_, context) => context.traceContext);`, async (client) => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const trace = async (_meta) => JSON.parse(textOf(await client.result('tools/call', { name: 'trace', arguments: {}, _meta })));
    assert.deepEqual(await trace({ traceparent, tracestate: 'v=1', baggage: 5 }), { traceparent, tracestate: 'v=1' });
    assert.deepEqual(await trace({}), {});
  });
});
