// The client: runs the steps of one vector against a server in this process, in real time. Nothing sleeps: what has to
// happen is waited for, and that nothing happens is proved by a request that is answered next.
import assert from 'node:assert/strict';

import { Catalogue, COALESCE_MS, Connection } from './door.mjs';
import { DEADLINE } from './host.mjs';
import { hold, holdAll, Mismatch, resolve } from './pattern.mjs';
import { MODERN, stepSkip } from './plan.mjs';
import { parse, plain, shorten, Str, write } from './text.mjs';

// So long, in milliseconds, a silence is listened to where no request can prove it, or a change is due.
export const SILENCE = COALESCE_MS + 10;

const any = new Map([['$any', true]]);

/** One run of one vector. `change` alters what the server sends before it is looked at. */
export class Script {
  checks = 0;
  #names;
  #change;
  #catalogue;
  #host;
  #connection;
  #messages = [];
  #probes = 0;
  #last = '';
  #unproved = false;
  #changed = false;
  #listens = false;
  #over = false;
  /** Nothing but what host code has come to tells a task's client how it stands. */
  #tasks;

  constructor({ server, names, tasks }, change = (message) => message) {
    this.#names = new Map(names);
    this.#tasks = tasks;
    this.#change = change;
    this.#catalogue = new Catalogue(server);
    this.#host = this.#catalogue.host;
  }

  /** Does all steps; afterwards nothing may be left over. */
  async run(steps) {
    this.#connection = new Connection(this.#catalogue);
    let complete = false;
    try {
      for (const [number, step] of steps.entries()) {
        const resolved = resolve(step, this.#names);
        try {
          await this.#step(resolved);
        } catch (error) {
          error.message = `step ${number} ${shorten(resolved)}: ${error.message}`;
          throw error;
        }
      }
      await this.#beSilent(true);
      complete = true;
    } finally {
      await this.#end(complete);
    }
  }

  async #end(complete) {
    const waited = await this.#host.releaseAll();
    this.#connection.endInput();
    for (let line; (line = await this.#connection.line(DEADLINE)) !== undefined; ) {
      // Calls that wait are answered, subscriptions end; nothing else has anything to say.
      assert.ok(!complete || waited || this.#listens, `left over: ${line}`);
    }
    assert.ok(this.#connection.ended, 'the server does not end');
    await this.#connection.close();
  }

  async #step(step) {
    const skipped = stepSkip(step);
    if (skipped === 'advance' || skipped === 'event') return;
    const [verb, ...more] = [...step.keys()].filter((key) => key !== 'on' && key !== 'reason');
    assert.deepEqual(more, []);
    await this.#verbs[verb](step.get(verb), step);
  }

  async #send(data) {
    if (this.#tasks) await this.#calm();
    this.#last = data;
    this.#unproved = true;
    this.#listens ||= data.includes('subscriptions/listen');
    await this.#connection.send(data);
  }

  /** Returns when host code has done all that it can do without the client. */
  async #calm() {
    await this.#prove();
    await turn();
    await this.#host.settle();
    await turn();
  }

  async #read(ms) {
    const line = await this.#connection.line(ms);
    if (line === undefined) return false;
    assert.ok(!line.endsWith('\r'), 'a line ends with CR');
    this.#messages.push(parse(line));
    return true;
  }

  async #message() {
    if (this.#messages.length === 0 && !(await this.#read(DEADLINE))) assert.fail('nothing is sent');
    return this.#change(this.#messages.shift());
  }

  async #hold(pattern) {
    const message = await this.#message();
    this.checks++;
    try {
      this.#bind(hold(pattern, message));
    } catch (error) {
      error.message += `\n  in ${shorten(message)}`;
      throw error;
    }
  }

  #bind(bound) {
    for (const [name, value] of bound) this.#names.set(name, value);
  }

  /** What runs comes to its end; then nothing has been sent but the answer to a request of our own. */
  async #beSilent(last) {
    // Where the end of the input makes nobody speak, the end of the output proves it.
    const asks = this.#canAsk() && (!last || this.#listens || this.#host.waits);
    await this.#host.settle();
    await turn();
    if (this.#changed || !(asks || last)) await this.#read(SILENCE);
    this.#changed = false;
    if (asks) await this.#probe();
    if (this.#messages.length > 0) throw new Mismatch(`unexpected: ${shorten(this.#messages[0])}`);
  }

  #canAsk() {
    return !this.#over && (this.#last.length === 0 || this.#last.at(-1) === '\n' || this.#last.at(-1) === 10);
  }

  /** Returns when the server has taken all that was sent. */
  async #prove() {
    if (this.#unproved && this.#canAsk()) await this.#probe();
  }

  /** Asks something that is answered at once. What comes before the answer is kept for later steps. */
  async #probe() {
    const id = `probe ${++this.#probes}`;
    const modern = this.#last.includes('io.modelcontextprotocol/protocolVersion');
    const request = { jsonrpc: '2.0', id, method: modern ? 'server/discover' : 'ping' };
    await this.#connection.send(`${write(modern ? { ...request, params: { _meta: MODERN } } : request)}\n`);
    while (await this.#read(DEADLINE)) {
      const message = this.#messages.at(-1);
      if (message instanceof Map && message.get('id')?.value === id) {
        this.#messages.pop();
        this.#unproved = false;
        return;
      }
    }
    assert.fail('the server does not answer any more');
  }

  #verbs = {
    receive: (operand) => this.#send(`${write(operand)}\n`),
    receiveText: (operand) => this.#send(operand.value),
    receiveBytes: (operand) => this.#send(Buffer.from(operand.value, 'hex')),
    initialize: async (operand) => {
      const wanted = operand instanceof Str ? new Map([['version', operand]]) : operand;
      const params = {
        protocolVersion: wanted.get('version'),
        capabilities: wanted.get('capabilities') ?? {},
        clientInfo: { name: 'vector', version: '1' },
      };
      await this.#send(`${write({ jsonrpc: '2.0', id: 'initialize', method: 'initialize', params })}\n`);
      const result = new Map([['$open', new Map([['protocolVersion', wanted.get('version')]])]]);
      await this.#hold(new Map([['$open', new Map([['id', new Str('initialize')], ['result', result]])]]));
      await this.#send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    },
    end: async (operand) => {
      await this.#prove();
      this.#over = true;
      if (operand.value === 'input') this.#connection.endInput();
      else this.#connection.lose();
    },
    transmit: (operand) => this.#hold(operand),
    error: (operand) => this.#hold(errorPattern(operand)),
    transmitAll: async (operand) => {
      const messages = [];
      while (messages.length < operand.length) messages.push(await this.#message());
      this.checks++;
      this.#bind(holdAll(operand, messages));
    },
    silence: async () => {
      this.checks++;
      await this.#beSilent(false);
    },
    release: (operand) => this.#host.release(operand.value),
    called: async (operand) => {
      this.checks++;
      await this.#prove();
      await turn();
      assert.deepEqual((await this.#host.takeCalled(operand.length)).sort(), plain(operand).sort());
    },
    cancelled: async (operand) => {
      this.checks++;
      await this.#host.takeCancelled(operand.value);
    },
    event: async () => {
      this.checks++;
      assert.ok(!(await this.#read(DEADLINE)), 'something is sent before the end');
      assert.ok(this.#connection.ended, 'the server does not end');
    },
    catalogue: async (operand) => {
      await this.#prove();
      this.#changed = true;
      this.#catalogue.add(operand.get('add') ?? []);
      this.#catalogue.remove(operand.get('remove') ?? []);
    },
    refuses: async (operand, step) => {
      await this.#prove();
      this.checks++;
      const [[kind, definition]] = operand;
      const reason = step.get('reason')?.value ?? '';
      assert.throws(
        () => this.#catalogue.addReadyMade(kind, definition, this.#host.function(kind, 'refused', [])),
        (error) => error.code === 'FERROMCP_CONFIGURATION' && error.message.includes(reason),
      );
    },
    updated: async (operand) => {
      await this.#prove();
      this.#catalogue.server.resourceUpdated(operand.value);
    },
    shutdown: async () => {
      await this.#prove();
      this.#over = true;
      this.#connection.stop();
    },
  };
}

/** The pattern of an error response that a step describes. */
export function errorPattern(operand) {
  const error = new Map([
    ['code', operand.get('code') ?? any],
    ['message', operand.get('message') ?? new Map([['$line', true]])],
    ['data', operand.get('data') ?? new Map([['$optional', any]])],
  ]);
  const pattern = new Map([['jsonrpc', new Str('2.0')], ['error', error]]);
  if (operand.has('id')) pattern.set('id', operand.get('id'));
  return pattern;
}

/** Lets the loop do what is due on it: an answer is sent some turns after its function's end. */
export async function turn() {
  for (let count = 0; count < 4; count++) await new Promise((resolve) => setImmediate(resolve));
}
