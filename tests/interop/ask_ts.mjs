// Calls tools that ask their client, with the official TypeScript client, and answers. Gives what the tools said and the forms
// that were asked as one JSON object on stdout.
//
// Usage: node ask_ts.mjs legacy|REVISION CALLS ANSWERS COMMAND [ARGUMENT ...]
//        CALLS is a JSON list of [name, arguments], ANSWERS a JSON object of elicitation results by message
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, calls, answers, command, ...args] = process.argv.slice(2);
const negotiation = { versionNegotiation: { mode: mode === 'legacy' ? mode : { pin: mode } } };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const client = new Client({ name: 'interop', version: '1.0.0' }, { ...negotiation, capabilities });
const seen = { revision: '', said: [], forms: [] };
client.setRequestHandler('elicitation/create', ({ params }) => {
  seen.forms.push(params.requestedSchema);
  return JSON.parse(answers)[params.message];
});
client.setRequestHandler('sampling/createMessage', () => {
  return { role: 'assistant', content: { type: 'text', text: 'cheerful' }, model: 'm' };
});
client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b' }] }));
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
seen.revision = client.getNegotiatedProtocolVersion();
for (const [name, input] of JSON.parse(calls)) {
  seen.said.push((await client.callTool({ name, arguments: input })).content[0].text);
}
await client.close();
console.log(JSON.stringify(seen));
