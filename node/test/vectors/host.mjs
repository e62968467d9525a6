// The host code of a vector: what its tools, resources, prompts and completions do when they are called. Decides what each
// act is as JavaScript that serves a request. How a function gets to the server is decided in door.mjs.
import assert from 'node:assert/strict';
import { once } from 'node:events';

import { MCPError, TimedOut, ToolError } from 'ferromcp';

import { firstAct, handedBack, requests } from './asking.mjs';
import { plain, write } from './text.mjs';

/** Milliseconds for anything that is waited for. Only a test that fails waits for so long. */
export const DEADLINE = 10_000;

const ASIDE = new Set(['closeStream', 'log', 'notify', 'progress']);
const failed = (text) => ({ content: [{ type: 'text', text }], isError: true });

/** What the functions of one server have seen, and those of them that wait. */
export class Host {
  #called = [];
  #cancelled = [];
  #held = new Map();
  #busy = 0;
  #closing = false;
  #late = [];
  #changed = new EventTarget();

  /** The function behind one entry; `what` is `tool`, `resource`, `template` or `prompt`. */
  function(what, key, acts) {
    return async (args, context) => {
      this.#count(1);
      this.#note(this.#called, key);
      try {
        return await this.#serve(what, key, acts, args, context);
      } finally {
        this.#count(-1);
      }
    };
  }

  /** The function behind one completion. */
  completion(key, argument, operand) {
    return (value) => {
      this.#note(this.#called, `${key}/${argument}`);
      if (operand.has('raise')) throw new Error(plain(operand.get('raise')));
      const values = plain(operand.get('values')).filter((item) => item.startsWith(value));
      return { values, total: plain(operand.get('total')), hasMore: operand.get('hasMore') };
    };
  }

  /** What a method's function gives for an entry that answers with a whole result object. */
  wholeResult(key, result) {
    this.#note(this.#called, key);
    return plain(result);
  }

  // What the script asks and does

  async takeCalled(count) {
    await this.#await(() => this.#called.length >= count, 'host code is not called');
    return this.#called.splice(0);
  }

  async takeCancelled(key) {
    await this.#await(() => this.#cancelled.includes(key), `no call of ${key} is told of a cancellation`);
    this.#cancelled.splice(this.#cancelled.indexOf(key), 1);
  }

  async release(key) {
    await this.#await(() => this.#held.get(key)?.length > 0, `no call of ${key} waits`);
    this.#held.get(key).shift()();
  }

  /** Lets every call go on, and those that are still to wait; whether there was one. */
  async releaseAll() {
    this.#closing = true;
    const waited = this.waits;
    for (const calls of this.#held.values()) for (const release of calls.splice(0)) release();
    return waited;
  }

  get waits() {
    return [...this.#held.values()].some((calls) => calls.length > 0);
  }

  /** Returns when no function runs, but for those that wait, and does the acts that follow answers. */
  async settle() {
    await this.#await(() => this.#busy === 0, 'host code does not end');
    for (const act of this.#late.splice(0)) act();
  }

  // How the acts run

  async #serve(what, key, acts, args, context) {
    let answered = failed('unavailable');
    const inputs = [];
    const first = firstAct(acts, context);
    for (const [number, act] of acts.entries()) {
      if (number < first) continue;
      const [[verb, operand]] = act;
      if (verb === 'wait') await this.#wait(key, context);
      else if (verb === 'begin') await this.#begin(context);
      else if (verb === 'ask') answered = await this.#ask(operand, context);
      else if (verb === 'input') inputs.push(...(await this.#input(key, operand, context)));
      else if (verb === 'round') return round(operand, context);
      else if (ASIDE.has(verb)) aside(verb, operand, context);
      else {
        for (const late of acts.slice(number + 1)) {
          const [[name, parts]] = late;
          assert.ok(ASIDE.has(name), `${name} can't follow an answer here`);
          this.#late.push(() => aside(name, parts, context));
        }
        if (verb === 'answered') return answered;
        if (verb === 'inputs') return textOf(what, JSON.stringify(inputs));
        return answer(what, verb, operand, context, args);
      }
    }
    return assert.fail('no act answers');
  }

  async #wait(key, { signal }) {
    let release;
    const released = new Promise((resolve) => (release = resolve));
    if (!this.#held.has(key)) this.#held.set(key, []);
    this.#held.get(key).push(release);
    this.#count(-1);
    const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    const told = aborted.then(() => this.#note(this.#cancelled, key));
    if (this.#closing) await this.releaseAll();
    await Promise.race([released, told]);
    // One that was cancelled waits on, as a function that does not listen would, until it is released.
    this.#count(1);
    if (signal.aborted) throw signal.reason;
  }

  async #begin(context) {
    this.#count(-1);
    try {
      await context.beginTask();
    } finally {
      this.#count(1);
    }
  }

  async #ask(operand, context) {
    const { method, params, timeoutMs } = plain(operand);
    this.#count(-1);
    try {
      const text = write(await asMap(context.request(method, params, { timeoutMs })));
      return { content: [{ type: 'text', text }] };
    } catch (error) {
      if (error instanceof MCPError) return failed(`${error.code} ${error.message}`);
      return failed(error instanceof TimedOut ? 'timed out' : 'unavailable');
    } finally {
      this.#count(1);
    }
  }

  async #input(key, operand, context) {
    this.#count(-1);
    try {
      return Object.values(await context.ask(requests(operand)));
    } catch (error) {
      // One that is suspended is told by an error of another class.
      if (error.constructor === DOMException) this.#note(this.#cancelled, key);
      throw error;
    } finally {
      this.#count(1);
    }
  }

  #count(number) {
    this.#busy += number;
    this.#tell();
  }

  #note(names, name) {
    names.push(name);
    this.#tell();
  }

  #tell() {
    this.#changed.dispatchEvent(new Event('changed'));
  }

  async #await(condition, failure) {
    const signal = AbortSignal.timeout(DEADLINE);
    while (!condition()) {
      try {
        await once(this.#changed, 'changed', { signal });
      } catch {
        assert.fail(failure);
      }
    }
  }
}

const asMap = async (value) => value;

/** What follows it is done in the run that comes back. */
function round(operand, context) {
  return context.inputRequired(requests(operand.get('requests')), { state: plain(operand.get('state')) });
}

/** A text, as each kind of call has it. */
function textOf(what, text) {
  return what === 'tool' || what === 'prompt' ? text : [{ text }];
}

function aside(verb, operand, context) {
  if (verb === 'progress') {
    const [progress, total, message] = plain(operand);
    context.reportProgress(progress, total ?? undefined, message ?? undefined);
  } else if (verb === 'log') {
    const [level, logger, data] = plain(operand);
    context.log(level, data, logger ?? undefined);
  } else if (verb === 'closeStream') {
    context.closeSSEStream();
  } else {
    const { method, params } = plain(operand);
    context.notify(method, params);
  }
}

function answer(what, verb, operand, context, args) {
  switch (verb) {
    case 'echo':
      return args[operand.value] ?? '';
    case 'reflect':
      if (what === 'tool') return { content: [], structuredContent: args };
      return [{ text: JSON.stringify(args, Object.keys(args).sort()), mimeType: 'application/json' }];
    case 'handedBack':
      return textOf(what, handedBack(context));
    case 'revision':
      return context.protocolVersion;
    case 'meta': {
      const found = context.meta?.[operand.value];
      return found === undefined ? 'absent' : JSON.stringify(found);
    }
    case 'raise':
      throw what === 'tool' ? new ToolError(operand.value) : new Error(operand.value);
    case 'fail': {
      const { code, message, data } = plain(operand);
      throw new MCPError(code, message, { data });
    }
    case 'return':
      return what === 'tool' ? { content: [], ...plain(operand) } : plain(operand);
  }
  return assert.fail(`no act is called ${verb}`);
}
