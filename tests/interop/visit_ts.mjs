// What the official TypeScript client finds in a calculator, as one JSON object on stdout.
//
// Usage: node visit_ts.mjs legacy|REVISION COMMAND [ARGUMENT ...]
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, command, ...args] = process.argv.slice(2);
const negotiation = { versionNegotiation: { mode: mode === 'legacy' ? mode : { pin: mode } } };
const client = new Client({ name: 'interop', version: '1.0.0' }, negotiation);
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
const { tools } = await client.listTools();
const { structuredContent } = await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } });
await client.close();
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), sum: structuredContent.sum }));
