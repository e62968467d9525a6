// The client over HTTP: runs the steps of one vector against a server in this process, in real time. Host code, names and
// patterns are as over a stream of lines.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { toNodeHandler } from 'ferromcp';

import { Catalogue } from './door.mjs';
import { Exchange, request } from './exchange.mjs';
import { DEADLINE } from './host.mjs';
import { hold, holdAll, Mismatch, resolve } from './pattern.mjs';
import { MODERN, stepSkip } from './plan.mjs';
import { errorPattern, SILENCE, turn } from './script.mjs';
import { Num, parse, plain, shorten, Str, write } from './text.mjs';

/** What a server of a vector is reached by, each as `(server, options, principal)`: where it listens, and its two ends. */
export const CARRIERS = {
  async listen(server, options) {
    const http = await server.listen({ ...options, port: 0, announce: false });
    return { port: http.port, stop: () => server.stop(), close: () => http.close() };
  },
  async 'node:http'(server, options, principal) {
    const listener = createServer(toNodeHandler(server, { path: '/mcp', ...options, principal }));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const close = async () => {
      const closed = once(listener, 'close');
      listener.close();
      listener.closeAllConnections();
      await closed;
    };
    return { port: listener.address().port, stop: () => server.stop(), close };
  },
};

/** One run of one vector over HTTP. `change` alters what the server sends before it is looked at. */
export class WebScript {
  checks = 0;
  #names;
  #tasks;
  #carry;
  #change;
  #patience;
  #http;
  #catalogue;
  #host;
  #endpoint;
  #exchanges = new Map();
  #ids = new Set();
  #principal;
  #unproved = false;
  #changed = false;
  #stopped = false;

  constructor({ server, names, tasks }, http, carry, { change = (message) => message, patience = DEADLINE } = {}) {
    this.#names = new Map(names);
    this.#tasks = tasks;
    this.#http = http;
    this.#carry = carry;
    this.#change = change;
    this.#patience = patience;
    this.#catalogue = new Catalogue(server);
    this.#host = this.#catalogue.host;
  }

  /** Does all steps; afterwards nothing may be left over. */
  async run(steps) {
    this.#endpoint = await this.#carry(this.#catalogue.server, plain(this.#http), () => this.#principal);
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
      await this.#beSilent();
    } finally {
      await this.#host.releaseAll();
      for (const exchange of this.#exchanges.values()) exchange.close();
      if (!this.#stopped) this.#endpoint.stop();
      await this.#endpoint.close();
    }
  }

  async #step(step) {
    if (stepSkip(step) === 'advance') return;
    const [verb, ...more] = [...step.keys()].filter((key) => key !== 'on' && key !== 'reason');
    assert.deepEqual(more, []);
    const on = step.get('on');
    await this.#verbs[verb](step.get(verb), on?.value ?? on?.text ?? '1');
  }

  // What the client sends

  #exchange(step) {
    const { port } = this.#endpoint;
    // Where bodies are bounded the bound has to be met on the way.
    return new Exchange(port, ...request(step, `127.0.0.1:${port}`, !this.#http.has('maxBodyBytes')));
  }

  async #send(step, on) {
    const before = this.#exchanges.get(on);
    if (before !== undefined) {
      await before.finish(this.#patience);
      assert.ok(before.seen, `the response to ${on} was not looked at`);
    }
    if (this.#tasks) {
      await this.#prove();
      await turn();
      await this.#host.settle();
      await turn();
    }
    this.#exchanges.set(on, this.#exchange(step));
    this.#unproved = true;
  }

  async #initialize(operand) {
    const wanted = operand instanceof Str ? new Map([['version', operand]]) : operand;
    const version = wanted.get('version');
    const on = 'initialize';
    const params = {
      protocolVersion: version,
      capabilities: wanted.get('capabilities') ?? {},
      clientInfo: { name: 'vector', version: '1' },
    };
    await this.#send(parse(write({ body: { jsonrpc: '2.0', id: 'initialize', method: 'initialize', params } })), on);
    const pattern = { $open: { id: 'initialize', result: { $open: { protocolVersion: version } } } };
    this.#fit(parse(write(pattern)), await this.#message(on));
    const own = new Map([['MCP-Protocol-Version', version]]);
    const session = this.#at(on).headers.get('mcp-session-id');
    if (session !== undefined) {
      assert.match(session.value, /^[!-~]+$/);
      this.#names.set('session', session);
      own.set('Mcp-Session-Id', session);
    }
    this.#names.set('own', own);
    await this.#verbs.ended(true, on);
    await this.#send(parse(write({ headers: own, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })), on);
    await this.#verbs.response(parse('{"status":202,"text":""}'), on);
  }

  // What comes back

  #at(on) {
    const exchange = this.#exchanges.get(on);
    assert.ok(exchange !== undefined, `there is no request ${on}`);
    return exchange;
  }

  /** The exchange, as soon as the head of its response is there. */
  async #head(on) {
    const exchange = this.#at(on);
    await exchange.until(() => exchange.status, 'nothing is sent', this.#patience);
    exchange.seen = true;
    return exchange;
  }

  async #nextEvent(exchange) {
    assert.ok(exchange.isStream, `it is no stream: ${exchange.show()}`);
    const event = await exchange.until(
      () => {
        const found = exchange.event();
        assert.ok(found !== undefined || !exchange.over, 'the stream has ended');
        return found;
      },
      'nothing is sent',
      this.#patience,
    );
    const id = event.field('id');
    if (exchange.session !== undefined && id !== undefined) {
      const key = `${exchange.session} ${id}`;
      assert.ok(!this.#ids.has(key), 'the id of an event stands twice in a session');
      this.#ids.add(key);
    }
    return event;
  }

  async #whole(exchange) {
    return this.#change(await exchange.whole(this.#patience));
  }

  /** The next message of a response, in whichever form. */
  async #message(on) {
    const exchange = await this.#head(on);
    assert.equal(exchange.status, 200, `the response is ${exchange.show()}`);
    if (!exchange.isStream) return this.#whole(exchange);
    let text;
    while (text === undefined) text = (await this.#nextEvent(exchange)).message;
    return this.#change(parse(text));
  }

  #fit(pattern, value) {
    this.checks++;
    try {
      this.#bind(hold(pattern, value));
    } catch (error) {
      error.message += `\n  in ${shorten(value)}`;
      throw error;
    }
  }

  #bind(bound) {
    for (const [name, value] of bound) this.#names.set(name, value);
  }

  #checkHead(exchange, wanted) {
    if (wanted.has('status')) this.#fit(wanted.get('status'), new Num(String(exchange.status)));
    if (wanted.has('headers')) this.#fit(new Map([['$open', wanted.get('headers')]]), exchange.headers);
  }

  // That nothing comes back

  /** What runs comes to its end; then nothing has come that no step has looked at. */
  async #beSilent() {
    await this.#host.settle();
    await turn();
    if (!this.#stopped) await this.#probe();
    if (this.#changed) await new Promise((resolve) => setTimeout(resolve, SILENCE));
    this.#changed = false;
    await turn();
    for (const [on, exchange] of this.#exchanges) {
      const unexpected = (what) => new Mismatch(`unexpected on ${on}: ${what}`);
      if (exchange.status !== undefined && !exchange.seen) throw unexpected(exchange.show());
      for (let event; exchange.isStream && (event = exchange.event()) !== undefined; ) {
        if (event.message !== undefined) throw unexpected(event.message);
      }
      if (exchange.body.length > 0) throw unexpected(exchange.show());
    }
  }

  /** Returns when the server has taken all that was sent. */
  async #prove() {
    if (this.#unproved && !this.#stopped) await this.#probe();
  }

  /** Asks something that is answered at once. */
  async #probe() {
    const body = { jsonrpc: '2.0', id: 'probe', method: 'server/discover', params: { _meta: MODERN } };
    await this.#exchange(parse(write({ body }))).finish(DEADLINE);
    this.#unproved = false;
  }

  #verbs = {
    send: (operand, on) => this.#send(operand, on),
    initialize: (operand) => this.#initialize(operand),
    principal: (operand) => {
      this.#principal = operand.value;
    },
    gone: async (_, on) => {
      const exchange = this.#at(on);
      await turn();
      assert.ok(!exchange.over, 'the response is over');
      exchange.close();
      this.#exchanges.delete(on);
    },
    transmit: async (operand, on) => this.#fit(operand, await this.#message(on)),
    transmitAll: async (operand, on) => {
      const messages = [];
      while (messages.length < operand.length) messages.push(await this.#message(on));
      this.checks++;
      this.#bind(holdAll(operand, messages));
    },
    error: async (operand, on) => {
      if (!operand.has('status')) return this.#fit(errorPattern(operand), await this.#message(on));
      const exchange = await this.#head(on);
      this.#checkHead(exchange, operand);
      return this.#fit(errorPattern(operand), await this.#whole(exchange));
    },
    refused: async (operand, on) => {
      const exchange = await this.#head(on);
      this.#checkHead(exchange, operand instanceof Map && operand.has('status') ? operand : new Map([['status', operand]]));
      await exchange.finish(this.#patience);
      if (exchange.body.length === 0) return;
      const pattern = errorPattern(new Map());
      const patterns = [pattern, new Map([...pattern, ['id', null]])];
      this.#fit(new Map([['$oneOf', patterns]]), await this.#whole(exchange));
    },
    response: async (operand, on) => {
      for (const key of operand.keys()) assert.ok(['status', 'headers', 'body', 'text'].includes(key), `a response has no ${key}`);
      const exchange = await this.#head(on);
      this.#checkHead(exchange, operand);
      if (operand.has('body')) this.#fit(operand.get('body'), await this.#whole(exchange));
      if (operand.has('text')) {
        await exchange.finish(this.#patience);
        const text = exchange.body.toString();
        exchange.body = Buffer.alloc(0);
        this.#fit(operand.get('text'), new Str(text));
      }
    },
    sse: async (operand, on) => {
      const exchange = await this.#head(on);
      let event;
      do event = await this.#nextEvent(exchange);
      while (event.fields.length === 0);
      const found = new Map();
      for (const name of operand.keys()) {
        const value = event.field(name);
        if (value === undefined) continue;
        if (name === 'data' && /^[{[]/.test(value)) found.set(name, this.#change(parse(value)));
        else found.set(name, name === 'retry' ? new Num(value) : new Str(value));
      }
      this.#fit(operand, found);
    },
    comment: async (_, on) => {
      const event = await this.#nextEvent(await this.#head(on));
      assert.ok(event.comment && event.fields.length === 0, 'it is no comment');
    },
    ended: async (_, on) => {
      const exchange = await this.#head(on);
      await exchange.finish(this.#patience);
      for (let event; exchange.isStream && (event = exchange.event()) !== undefined; ) {
        assert.equal(event.message, undefined, 'before the end there is a message');
      }
      assert.equal(exchange.body.length, 0, `there is ${exchange.show()}`);
    },
    open: async (_, on) => {
      await turn();
      assert.ok(!this.#at(on).over, 'the response is over');
    },
    silence: async () => {
      this.checks++;
      await this.#beSilent();
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
    catalogue: async (operand) => {
      await this.#prove();
      this.#changed = true;
      this.#catalogue.add(operand.get('add') ?? []);
      this.#catalogue.remove(operand.get('remove') ?? []);
    },
    shutdown: async () => {
      await this.#prove();
      this.#stopped = true;
      this.#endpoint.stop();
    },
  };
}
