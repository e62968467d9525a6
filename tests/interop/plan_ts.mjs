// Does what a plan says with the official TypeScript client, and gives what came of it as one JSON object on stdout.
//
// Usage: node plan_ts.mjs legacy|REVISION PLAN COMMAND [ARGUMENT ...]      PLAN is JSON, see plan.py
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, plan, command, ...args] = process.argv.slice(2);
const { calls, reads, prompts } = JSON.parse(plan);
const negotiation = { versionNegotiation: { mode: mode === 'legacy' ? mode : { pin: mode } } };
const client = new Client({ name: 'interop', version: '1.0.0' }, negotiation);
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
const seen = {
  revision: client.getNegotiatedProtocolVersion(),
  tools: (await client.listTools()).tools.map(({ name }) => name).sort(),
  calls: [],
  progress: [],
  reads: [],
  prompts: [],
};
for (const [name, args] of calls) {
  const onprogress = ({ progress }) => seen.progress.push(progress);
  const { content, isError = false } = await client.callTool({ name, arguments: args }, { onprogress });
  seen.calls.push([isError, content[0].text]);
}
for (const uri of reads) {
  try {
    seen.reads.push((await client.readResource({ uri })).contents[0].text);
  } catch (error) {
    seen.reads.push(error.code);
  }
}
for (const [name, args] of prompts) {
  seen.prompts.push((await client.getPrompt({ name, arguments: args })).messages[0].content.text);
}
await client.close();
console.log(JSON.stringify(seen));
