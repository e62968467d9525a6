// A vector on the Node door's `Engine`: the client, the clock and the host code are all here, and nothing waits. Time passes
// when the script says so, so that vectors about time run as well.
import assert from 'node:assert/strict';

import { CapabilityNotDeclared, Engine, Json, MCPError, TimedOut } from 'ferromcp';

import { firstAct, handedBack, requests } from './asking.mjs';
import { hold, holdAll, Mismatch, resolve } from './pattern.mjs';
import { parse, plain, shorten, Str, write } from './text.mjs';

const KINDS = { tools: 'tool', resources: 'resource', templates: 'template', prompts: 'prompt' };
const NAMES = { tool: 'name', resource: 'uri', template: 'uriTemplate', prompt: 'name' };
/** Milliseconds of the script's clock in which something has to be sent. */
const PATIENCE = 60_000;

/** The functions of a vector's server, and the calls that run. */
class Host {
  called = [];
  cancelled = [];
  #engine;
  #entries = [];
  #running = new Map();
  #asked = new Map();
  /** By the number of what `input` acts have asked. */
  #waiting = new Map();

  constructor(engine) {
    this.#engine = engine;
  }

  add(kind, entry, now) {
    const definition = entry.get('definition');
    this.#engine.add(kind, new Json(write(definition)), this.#entries.length, now);
    const name = definition.get(NAMES[kind])?.value;
    const acts = entry.get('behaviour') ?? [];
    const held = entry.get('reentry')?.value === 'held';
    this.#entries.push({ kind, name, acts, held, completions: entry.get('completions') ?? new Map() });
  }

  start(call) {
    const entry = this.#entries[call.tag];
    if (call.target === 'completion') return this.#complete(entry, call);
    assert.equal(call.target, entry.kind);
    this.called.push(entry.name);
    const next = firstAct(entry.acts, call);
    const running = { entry, call, next, held: false, answer: ['unavailable', true], inputs: [] };
    this.#running.set(call.key, running);
    this.#run(running);
  }

  release(name) {
    const running = [...this.#running.values()].find(({ held, entry }) => held && entry.name === name);
    assert.ok(running !== undefined, `no call of ${name} waits`);
    running.held = false;
    this.#run(running);
  }

  cancel(key, reason) {
    const running = this.#running.get(key);
    if (running !== undefined) this.cancelled.push([running.entry.name, reason]);
  }

  response({ request, result, error }) {
    const running = this.#asked.get(request);
    this.#asked.delete(request);
    if (error === undefined) running.answer = [JSON.stringify(result), false];
    else if (error instanceof MCPError) running.answer = [`${error.code} ${error.message}`, true];
    else running.answer = [error instanceof TimedOut ? 'timed out' : 'unavailable', true];
    this.#run(running);
  }

  /** A call that wanted to be a task is one, or goes on without. */
  begun({ call }) {
    const running = this.#running.get(call);
    if (running !== undefined) this.#run(running);
  }

  /** What an `input` act has asked is answered. */
  answers({ ask, answers }) {
    const running = this.#waiting.get(ask);
    this.#waiting.delete(ask);
    const failed = answers.find(({ error }) => error !== undefined);
    if (failed !== undefined) return this.#raise(running, failed.error);
    running.inputs.push(...answers.map(({ result }) => result));
    return this.#run(running);
  }

  #complete(entry, { key, argument, value }) {
    const completion = entry.completions.get(argument);
    if (completion === undefined) return this.#engine.respondCompletion(key, []);
    this.called.push(`${entry.name}/${argument}`);
    if (completion.has('raise')) return this.#engine.fail(key, -32603, completion.get('raise').value);
    if (completion.has('result')) return this.#whole(key, completion.get('result'));
    const { values, total, hasMore } = plain(completion);
    return this.#engine.respondCompletion(key, values.filter((item) => item.startsWith(value)), total, hasMore);
  }

  /** Does acts until one has to wait or none is left. */
  #run(running) {
    const { entry, call } = running;
    const engine = this.#engine;
    while (running.next < entry.acts.length) {
      const [[verb, operand]] = entry.acts[running.next++];
      const said = plain(operand);
      if (verb === 'wait') {
        running.held = true;
        return;
      }
      if (verb === 'progress') engine.progress(call.key, said[0], said[1] ?? undefined, said[2] ?? undefined);
      else if (verb === 'log') engine.log(call.key, said[0], said[2], said[1] ?? undefined);
      else if (verb === 'notify') engine.notify(call.key, said.method, said.params);
      else if (verb === 'begin') {
        if (engine.beginTask(call.key)) return;
      } else if (verb === 'answered') engine.respondText(call.key, ...running.answer);
      else if (verb === 'ask') {
        if (this.#ask(running, said)) return;
      } else if (verb === 'input') {
        if (!this.#input(running, operand)) return;
      } else if (verb === 'round') {
        try {
          engine.respondInputRequired(call.key, requests(operand.get('requests')), said.state);
        } catch (error) {
          this.#raise(running, error);
        }
      } else if (verb === 'inputs') this.#text(entry.kind, call, JSON.stringify(running.inputs));
      else if (verb === 'handedBack') this.#text(entry.kind, call, handedBack(call));
      else this.#answer(entry.kind, call, verb, operand, said);
    }
    this.#running.delete(call.key);
  }

  #ask(running, { method, params, timeoutMs }) {
    const { stream, key } = running.call;
    try {
      this.#asked.set(this.#engine.request(stream, method, params, { related: key, timeoutMs }), running);
      return true;
    } catch (error) {
      assert.equal(error.code, 'FERROMCP_NO_BACK_CHANNEL');
      return false;
    }
  }

  /** Whether the run goes on at once. */
  #input(running, operand) {
    const { entry, call } = running;
    const asked = Object.entries(requests(operand)).map(([key, { method, params }]) => ({ key, method, params }));
    try {
      const { outcome, results, ask } = this.#engine.ask(call.key, asked, { held: entry.held });
      if (outcome === 'answered') running.inputs.push(...results);
      else if (outcome === 'waiting') this.#waiting.set(ask, running);
      else this.#running.delete(call.key);
      return outcome === 'answered';
    } catch (error) {
      this.#raise(running, error);
      return false;
    }
  }

  /** Host code fails, because nothing could be asked or there is no answer. */
  #raise({ entry, call }, error) {
    this.#running.delete(call.key);
    if (error instanceof CapabilityNotDeclared) this.#engine.failCapability(call.key, error.capability);
    else if (entry.kind === 'tool') this.#engine.respondText(call.key, error.message, true);
    else this.#engine.fail(call.key, -32603, error.message);
  }

  #text(kind, { key, params }, text) {
    if (kind === 'tool') return this.#engine.respondText(key, text);
    if (kind === 'prompt') return this.#engine.respondPrompt(key, [{ role: 'user', content: { type: 'text', text } }]);
    return this.#engine.respondContents(key, [{ uri: params.uri, text }]);
  }

  #whole(key, result) {
    try {
      return this.#engine.respondResult(key, new Json(write(result)));
    } catch (error) {
      return this.#engine.fail(key, -32603, error.message);
    }
  }

  #answer(kind, call, verb, operand, said) {
    const engine = this.#engine;
    const { key } = call;
    const asked = call.params?.uri;
    switch (`${verb} ${kind}`) {
      case 'echo tool':
        return engine.respondText(key, call.arguments[said] ?? '');
      case 'echo prompt':
        return engine.respondPrompt(key, [{ role: 'user', content: { type: 'text', text: call.arguments[said] ?? '' } }]);
      case 'reflect tool':
        return engine.respondTool(key, { content: [], structuredContent: call.arguments });
      case 'reflect template': {
        const text = JSON.stringify(call.variables, Object.keys(call.variables).sort());
        return engine.respondContents(key, [{ uri: asked, mimeType: 'application/json', text }]);
      }
      case 'revision tool':
        return engine.respondText(key, call.protocolVersion);
      case 'meta tool': {
        const found = call.meta?.[said];
        return engine.respondText(key, found === undefined ? 'absent' : JSON.stringify(found));
      }
      case 'return tool':
        return engine.respondTool(key, { content: [], ...said });
      case 'return resource':
      case 'return template':
        return engine.respondContents(key, said);
      case 'return prompt':
        return engine.respondPrompt(key, said.messages ?? [], said.description);
      case 'raise tool':
        return engine.respondText(key, said, true);
    }
    if (verb === 'result') return this.#whole(key, operand);
    if (verb === 'raise') return engine.fail(key, -32603, said);
    assert.equal(verb, 'fail');
    return engine.fail(key, said.code, said.message, said.data);
  }
}

/** One run of one vector. `cut`: how many bytes are fed at a time. */
export class EngineScript {
  checks = 0;
  #names;
  #cut;
  #engine;
  #host;
  #now = 0;
  #streams = new Map();
  #sent = new Map();
  #events = [];

  constructor({ server, names }, cut = Infinity) {
    this.#names = new Map(names);
    this.#cut = cut;
    this.#engine = new Engine(plain(new Map([...server].filter(([key]) => !(key in KINDS)))));
    this.#host = new Host(this.#engine);
    for (const [lists, kind] of Object.entries(KINDS)) {
      for (const entry of server.get(lists) ?? []) this.#host.add(kind, entry, 0);
    }
    this.#drain();
    this.#advance(PATIENCE);
    this.#events = [];
  }

  /** Does all steps; afterwards nothing may be left over. */
  run(steps) {
    for (const [number, step] of steps.entries()) {
      const resolved = resolve(step, this.#names);
      try {
        const [verb, ...more] = [...resolved.keys()].filter((key) => key !== 'on' && key !== 'reason');
        assert.deepEqual(more, []);
        this.#verbs[verb](resolved.get(verb), resolved);
      } catch (error) {
        error.message = `step ${number} ${shorten(resolved)}: ${error.message}`;
        throw error;
      }
    }
    this.#silent();
  }

  // The client

  #stream(step) {
    const number = step.get('on')?.text ?? '1';
    if (!this.#streams.has(number)) {
      const stream = this.#engine.open(this.#now);
      this.#streams.set(number, stream);
      this.#sent.set(stream, []);
    }
    return this.#streams.get(number);
  }

  #send(data, step) {
    const bytes = Buffer.from(data);
    const stream = this.#stream(step);
    for (let at = 0; at < bytes.length; at += this.#cut) {
      this.#engine.receive(stream, bytes.subarray(at, at + this.#cut), this.#now);
      this.#drain();
    }
  }

  /** The next message of a stream; time passes until there is one. */
  #message(step) {
    const sent = this.#sent.get(this.#stream(step));
    const end = this.#now + PATIENCE;
    while (sent.length === 0) {
      const due = this.#engine.pollTimeout();
      assert.ok(due !== undefined && due <= end, 'nothing is sent');
      this.#pass(due);
    }
    return sent.shift();
  }

  #hold(pattern, step) {
    const message = this.#message(step);
    this.checks++;
    try {
      for (const [name, value] of hold(pattern, message)) this.#names.set(name, value);
    } catch (error) {
      error.message += `\n  in ${shorten(message)}`;
      throw error;
    }
  }

  #silent() {
    for (const [message] of this.#sent.values()) if (message !== undefined) throw new Mismatch(`unexpected: ${shorten(message)}`);
  }

  // Time

  #pass(until) {
    this.#now = Math.max(this.#now, until);
    this.#engine.handleTimeout(this.#now);
    this.#drain();
  }

  #advance(ms) {
    const end = this.#now + ms;
    for (let due; (due = this.#engine.pollTimeout()) !== undefined && due <= end; ) this.#pass(due);
    this.#now = end;
  }

  /** Takes all outputs and does what they ask for. */
  #drain() {
    for (let output; (output = this.#engine.poll()) !== undefined; ) {
      if (output.event === 'transmit') this.#take(output);
      else if (output.event === 'call') this.#host.start(output.call);
      else if (output.event === 'response') this.#host.response(output);
      else if (output.event === 'answers') this.#host.answers(output);
      else if (output.event === 'taskBegun') this.#host.begun(output);
      else if (output.event === 'cancelled') this.#host.cancel(output.key, output.reason);
      else this.#events.push(output);
    }
  }

  #take({ stream, bytes }) {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    assert.ok(text.endsWith('\n'), 'a transmission ends within a line');
    for (const line of text.slice(0, -1).split('\n')) this.#sent.get(stream).push(parse(line));
  }

  #verbs = {
    receive: (operand, step) => this.#send(`${write(operand)}\n`, step),
    receiveText: (operand, step) => this.#send(operand.value, step),
    receiveBytes: (operand, step) => this.#send(Buffer.from(operand.value, 'hex'), step),
    initialize: (operand, step) => {
      const wanted = operand instanceof Str ? new Map([['version', operand]]) : operand;
      const params = {
        protocolVersion: wanted.get('version'),
        capabilities: wanted.get('capabilities') ?? {},
        clientInfo: { name: 'vector', version: '1' },
      };
      this.#send(`${write({ jsonrpc: '2.0', id: 'initialize', method: 'initialize', params })}\n`, step);
      const result = new Map([['$open', new Map([['protocolVersion', wanted.get('version')]])]]);
      this.#hold(new Map([['$open', new Map([['result', result]])]]), step);
      this.#send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n', step);
      this.#events = this.#events.filter(({ event }) => event !== 'initialized');
    },
    end: (operand, step) => {
      const stream = this.#stream(step);
      if (operand.value === 'input') this.#engine.endOfInput(stream, this.#now);
      else this.#engine.close(stream, this.#now);
      this.#drain();
    },
    transmit: (operand, step) => this.#hold(operand, step),
    error: (operand, step) => {
      const any = new Map([['$any', true]]);
      const error = new Map([
        ['code', operand.get('code') ?? any],
        ['message', operand.get('message') ?? new Map([['$line', true]])],
        ['data', operand.get('data') ?? new Map([['$optional', any]])],
      ]);
      const pattern = new Map([['jsonrpc', new Str('2.0')], ['error', error]]);
      if (operand.has('id')) pattern.set('id', operand.get('id'));
      this.#hold(pattern, step);
    },
    transmitAll: (operand, step) => {
      const messages = operand.map(() => this.#message(step));
      this.checks++;
      for (const [name, value] of holdAll(operand, messages)) this.#names.set(name, value);
    },
    silence: (operand) => {
      this.checks++;
      this.#advance(plain(operand));
      this.#silent();
    },
    advance: (operand) => this.#advance(plain(operand)),
    release: (operand) => {
      this.#host.release(operand.value);
      this.#drain();
    },
    called: (operand) => {
      this.checks++;
      assert.deepEqual(this.#host.called.splice(0).sort(), plain(operand).sort());
    },
    cancelled: (operand, step) => {
      this.checks++;
      const at = this.#host.cancelled.findIndex(([name]) => name === operand.value);
      assert.ok(at >= 0, 'host code was told of no cancellation');
      const [[, reason]] = this.#host.cancelled.splice(at, 1);
      if (step.has('reason')) assert.equal(reason, step.get('reason').value);
    },
    event: (operand) => {
      this.checks++;
      const { kind, uri, diagnostic, method } = plain(operand);
      if (kind === 'none') return assert.deepEqual(this.#events, []);
      const wanted = { event: kind, uri, kind: diagnostic, method };
      const fits = (event) => Object.entries(wanted).every(([name, value]) => value === undefined || event[name] === value);
      const at = this.#events.findIndex(fits);
      assert.ok(at >= 0, `events: ${JSON.stringify(this.#events)}`);
      this.#events.splice(at, 1);
    },
    catalogue: (operand) => {
      for (const [lists, kind] of Object.entries(KINDS)) {
        for (const entry of operand.get('add')?.get(lists) ?? []) this.#host.add(kind, entry, this.#now);
        for (const name of operand.get('remove')?.get(lists) ?? []) assert.ok(this.#engine.remove(kind, name.value, this.#now));
      }
      this.#drain();
    },
    refuses: (operand, step) => {
      this.checks++;
      const [[kind, definition]] = operand;
      const reason = step.get('reason')?.value ?? '';
      assert.throws(
        () => this.#host.add(kind, new Map([['definition', definition]]), this.#now),
        (error) => error.code === 'FERROMCP_CONFIGURATION' && error.message.includes(reason),
      );
      this.#drain();
    },
    principal: (operand, step) => this.#engine.setPrincipal(this.#stream(step), operand.value),
    updated: (operand) => {
      this.#engine.resourceUpdated(operand.value);
      this.#drain();
    },
    shutdown: () => {
      this.#engine.shutdown(this.#now);
      this.#drain();
    },
  };
}
