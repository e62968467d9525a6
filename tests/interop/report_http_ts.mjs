// What the official TypeScript clients get from a server over HTTP, as one JSON object on stdout: see test_http_clients.py.
//
// Usage: node report_http_ts.mjs sdk|client legacy|auto|REVISION URL
//   sdk     @modelcontextprotocol/sdk, the first generation (legacy only)
//   client  @modelcontextprotocol/client, the second generation (both eras)

const [generation, mode, url] = process.argv.slice(2);
const isFirst = generation === 'sdk';
const library = isFirst
  ? {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    }
  : await import('@modelcontextprotocol/client');
// The first generation knows methods by the schemas of their messages.
const types = isFirst ? await import('@modelcontextprotocol/sdk/types.js') : undefined;

const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
const options = isFirst ? {} : { versionNegotiation: { mode: negotiation } };
const capabilities = { elicitation: { form: {} } };
const client = new library.Client({ name: 'interop', version: '1.0.0' }, { ...options, capabilities });
const seen = { progress: [], logs: [], asked: [] };
const change = Promise.withResolvers?.() ?? withResolvers();

function withResolvers() {
  let resolve;
  return { promise: new Promise(done => (resolve = done)), resolve };
}

client.setRequestHandler(types?.ElicitRequestSchema ?? 'elicitation/create', ({ params }) => {
  seen.asked.push(params.message);
  return { action: 'accept', content: { value: 'Ada' } };
});
client.setNotificationHandler(types?.LoggingMessageNotificationSchema ?? 'notifications/message', ({ params }) => {
  seen.logs.push([params.level, params.data]);
});
client.setNotificationHandler(types?.ToolListChangedNotificationSchema ?? 'notifications/tools/list_changed', () =>
  change.resolve(),
);

const transport = new library.StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
seen.session = transport.sessionId ?? null;
seen.revision = transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.() ?? null;
const isModern = !seen.session;
const names = async () => (await client.listTools()).tools.map(({ name }) => name);
// The first generation takes a result schema between parameters and options.
const call = async (params, options = {}) => {
  const result = await (isFirst ? client.callTool(params, undefined, options) : client.callTool(params, options));
  return result.content[0].text;
};

seen.tools = await names();
seen.add = await call({ name: 'add', arguments: { a: 2, b: 40 } });
const onprogress = ({ progress }) => seen.progress.push(progress);
await call({ name: 'progress', arguments: { n: 3, ms: 20 } }, { onprogress });
const _meta = { 'io.modelcontextprotocol/logLevel': 'warning' };
if (!isModern) await client.setLoggingLevel('warning');
await call({ name: 'logs', arguments: { n: 1 }, ...(isModern ? { _meta } : {}) });
seen.said = await call({ name: 'ask_name', arguments: {} });
const subscription = isModern ? await client.listen({ toolsListChanged: true }) : undefined;
seen.grown = await call({ name: 'grow', arguments: { name: `grown_for_ts_${generation}_${mode}` } });
await change.promise;
await subscription?.close();
seen.then = await names();
if (!isModern) await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
