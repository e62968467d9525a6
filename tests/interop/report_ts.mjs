// What the official TypeScript clients see of a server, as one JSON object on stdout.
//
// Usage: node report_ts.mjs sdk|client legacy|auto|REVISION COMMAND [ARGUMENT ...]
//   sdk     @modelcontextprotocol/sdk, the first generation (legacy only)
//   client  @modelcontextprotocol/client, the second generation (both eras)

const [generation, mode, command, ...args] = process.argv.slice(2);

async function connect() {
  const info = { name: 'interop', version: '1.0.0' };
  if (generation === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client(info);
    await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
    return client;
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
  const client = new Client(info, { versionNegotiation: { mode: negotiation } });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
  return client;
}

const client = await connect();
const text = result => result.content[0].text;
const progress = [];
const seen = {
  // The first generation does not tell what it negotiated.
  revision: client.getNegotiatedProtocolVersion?.() ?? null,
  server: client.getServerVersion()?.name,
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools.map(tool => tool.name).sort(),
  resources: (await client.listResources()).resources.map(found => found.uri).sort(),
  templates: (await client.listResourceTemplates()).resourceTemplates.map(found => found.uriTemplate),
  prompts: (await client.listPrompts()).prompts.map(found => found.name).sort(),
  add: text(await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } })),
  echo: text(await client.callTool({ name: 'echo', arguments: { text: 'h\u00e9llo \u{1f378}' } })),
  together: (
    await Promise.all([
      client.callTool({ name: 'slow', arguments: { ms: 100 } }),
      client.callTool({ name: 'aecho', arguments: { text: 'meanwhile' } }),
    ])
  ).map(text),
  wrong: (await client.callTool({ name: 'add', arguments: { a: 'x' } })).isError,
};
const onprogress = update => progress.push(update.progress);
const call = { name: 'progress', arguments: { n: 3, ms: 20 } };
// The first generation takes a result schema between parameters and options.
await (generation === 'sdk' ? client.callTool(call, undefined, { onprogress }) : client.callTool(call, { onprogress }));
seen.progress = progress;
seen.greeting = (await client.readResource({ uri: 'mem://greeting' })).contents[0].text;
seen.item = (await client.readResource({ uri: 'mem://item/7' })).contents[0].text;
seen.prompt = (await client.getPrompt({ name: 'ask', arguments: { topic: 'MCP' } })).messages[0].content.text;
const argument = { name: 'topic', value: 'py' };
seen.completion = (await client.complete({ ref: { type: 'ref/prompt', name: 'ask' }, argument })).completion.values;
try {
  await client.readResource({ uri: 'mem://no/such/thing' });
} catch (error) {
  seen.unknown = error.code;
}
await client.close();
console.log(JSON.stringify(seen));
