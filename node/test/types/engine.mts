// The types of the engine without a loop.
import { Engine, type EngineAnswer, type EngineCall, type EngineOutput, type MCPError } from 'ferromcp';

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
  else if (output.event === 'answers') same<typeof output.answers, readonly EngineAnswer[]>(true);
  else if (output.event === 'taskBegun') same<typeof output.id, string | undefined>(true);
  // @ts-expect-error not every output has a call
  void output.call;
};
for (let output = engine.poll(); output !== undefined; output = engine.poll()) take(output);
same<ReturnType<Engine['pollTimeout']>, number | undefined>(true);
const asked = engine.ask(1, [{ method: 'roots/list' }, { key: 'a', method: 'elicitation/create', params: {} }], { held: true });
if (asked.outcome === 'waiting') same<typeof asked.ask, number>(true);
// @ts-expect-error there are no results yet
else if (asked.outcome === 'suspended') void asked.results;
engine.setPrincipal(1, undefined);
same<ReturnType<Engine['taskId']>, string | undefined>(true);
const begins: boolean = engine.beginTask(1) && engine.enable('tool', 'tool', false, 0);
void begins;
const sent: boolean[] = [engine.respondText(1, 'text'), engine.fail(1, -32000, 'error'), engine.progress(1, 0.5)];
void sent;
