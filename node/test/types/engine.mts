// The types of the engine without a loop.
import { Engine, type EngineCall, type EngineOutput, type MCPError } from 'ferromcp';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

const engine = new Engine({ info: { name: 'types', version: '1' } }, { integers: 'string' });
engine.add('tool', { name: 'tool', inputSchema: { type: 'object' } }, 1, 0);
// @ts-expect-error there is no such kind
engine.add('thing', {}, 1, 0);

const take = (output: EngineOutput): void => {
  if (output.event === 'transmit') same<typeof output.bytes, Uint8Array>(true);
  else if (output.event === 'call') same<typeof output.call, EngineCall>(true);
  else if (output.event === 'response' && 'error' in output) void (output.error as MCPError).code;
  // @ts-expect-error not every output has a call
  void output.call;
};
for (let output = engine.poll(); output !== undefined; output = engine.poll()) take(output);
same<ReturnType<Engine['pollTimeout']>, number | undefined>(true);
const sent: boolean[] = [engine.respondText(1, 'text'), engine.fail(1, -32000, 'error'), engine.progress(1, 0.5)];
void sent;
