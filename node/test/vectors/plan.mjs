// What of a vector runs through this door, and why the rest does not. Decided on the vector's text alone, so that no vector
// stops running by a change in the door.
import { readFileSync } from 'node:fs';

import { resolve } from './pattern.mjs';
import { parse, Str } from './text.mjs';

export const FOLDER = new URL('../../../tests/vectors/', import.meta.url);

export const MODERN = parse(`{
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
  "io.modelcontextprotocol/clientCapabilities": {}
}`);

const CAPABLE = parse(`{
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
  "io.modelcontextprotocol/clientCapabilities": {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {}
  }
}`);

const TASKS = parse(`{
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": {"name": "vector", "version": "1"},
  "io.modelcontextprotocol/clientCapabilities": {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}}
  }
}`);

/** Why a vector does not run at all. */
export const VECTOR_SKIP = {
  needs: "it needs what this door's runners can't do",
  clock: 'its limits hold a time, which only a runner with a clock of its own can let pass',
  connections: 'a server of this door has one connection',
  spelling: "JavaScript's numbers keep no spelling",
};

/** Why a step does not run, or not the whole of it. */
export const STEP_SKIP = {
  advance: "time can't be moved",
  event: 'the door does not tell host code of this event',
  reason: 'the runner does not hold the reason of a cancellation against anything',
};

const MEMBERS = new Set(['name', 'about', 'requirements', 'needs', 'server', 'http', 'each', 'steps']);

// What the runners of this door can do beyond the plain format, by the names that a vector's `needs` has.
const ABLE = new Set(['ask', 'tasks']);
const ENGINE_ABLE = new Set([...ABLE, 'principals']);

const TIMES = ['callTimeoutMs', 'coalesceMs', 'drainMs', 'heldMs', 'requestStateTtlMs'];

/** A vector, or the shared server. */
export function read(name) {
  return parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
}

const SHARED = read('server');

/** For each object of `each`: the server, the names, the steps, and whether it is about tasks. */
export function cases(vector) {
  for (const key of vector.keys()) if (!MEMBERS.has(key)) throw new Error(`unknown member ${key}`);
  return (vector.get('each') ?? [new Map()]).map((each) => {
    const names = new Map([['modern', MODERN], ['capable', CAPABLE], ['tasks', TASKS], ...each]);
    const server = resolve(new Map([...SHARED, ...(vector.get('server') ?? [])]), names);
    names.set('identity', new Map([['io.modelcontextprotocol/serverInfo', server.get('info')]]));
    // A whole step may be a name. What is bound later stands inside of steps.
    const steps = vector.get('steps').map((step) => (step instanceof Str ? resolve(step, names) : step));
    return { server, names, steps, tasks: needs(vector).includes('tasks') };
  });
}

/** What a vector's runner must be able to do. */
function needs(vector) {
  return (vector.get('needs') ?? []).map((need) => need.value);
}

/** Whether a vector needs what the runner of `Engine` can't do. */
export function engineLacks(vector) {
  return needs(vector).some((need) => !ENGINE_ABLE.has(need));
}

/** Why this vector does not run on a real server, if it does not. */
export function vectorSkip(name, vector) {
  if (needs(vector).some((need) => !ABLE.has(need))) return 'needs';
  for (const { server, steps } of cases(vector)) {
    if (TIMES.some((time) => server.get('limits')?.has(time))) return 'clock';
    if ([...(server.get('tasks') ?? new Map()).keys()].some((name) => name.endsWith('Ms'))) return 'clock';
    if (steps.some((step) => (step.get('on')?.text ?? '1') !== '1')) return 'connections';
  }
  return name === 'jsonrpc/numbers-untouched' ? 'spelling' : undefined;
}

/** Why this vector does not run over HTTP by a carrier, if it does not. Who a client is, `principals`, some find out. */
export function webSkip(vector, principals) {
  if (needs(vector).some((need) => !ABLE.has(need) && !(principals && need === 'principals'))) return 'needs';
  return [...vector.get('http').keys()].some((name) => name.endsWith('Ms')) ? 'clock' : undefined;
}

/** Why this step does not run, if so. Of a cancellation only the reason is left out. */
export function stepSkip(step) {
  if (step.has('advance')) return 'advance';
  if (step.has('cancelled') && step.has('reason')) return 'reason';
  if (step.has('event') && step.get('event').get('kind').value !== 'drained') return 'event';
  return undefined;
}
