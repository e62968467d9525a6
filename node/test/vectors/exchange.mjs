// A client of HTTP on bare sockets: it sends what a step says, and reads a response as it comes. Decides nothing about MCP but
// which headers every client sends. Each request has a connection of its own.
import assert from 'node:assert/strict';
import { connect } from 'node:net';

import { DEADLINE } from './host.mjs';
import { parse, Str, write } from './text.mjs';

// The member of `params` that the header `Mcp-Name` mirrors.
const NAMES = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
const KEYS = new Set(['method', 'path', 'headers', 'body', 'text', 'bytes']);

/** The bytes of a request, and its fields. A body whose length is not announced is sent in one chunk. */
export function request(step, host, announced) {
  for (const key of step.keys()) assert.ok(KEYS.has(key), `a request has no ${key}`);
  let body;
  if (step.has('body')) body = Buffer.from(write(step.get('body')));
  else if (step.has('text')) body = Buffer.from(step.get('text').value);
  else if (step.has('bytes')) body = Buffer.from(step.get('bytes').value, 'hex');
  const all = fields(step, host, body !== undefined);
  if (body !== undefined && !all.some(([name]) => name.toLowerCase() === 'content-length')) {
    if (announced) {
      all.push(['Content-Length', String(body.length)]);
    } else {
      all.push(['Transfer-Encoding', 'chunked']);
      body = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
    }
  }
  const first = `${step.get('method')?.value ?? 'POST'} ${step.get('path')?.value ?? '/mcp'} HTTP/1.1`;
  const lines = [first, ...all.map(([name, value]) => `${name}: ${value}`), '', ''];
  return [Buffer.concat([Buffer.from(lines.join('\r\n')), body ?? Buffer.alloc(0)]), all];
}

function fields(step, host, hasBody) {
  const all = new Map();
  const put = (name, values) => all.set(name.toLowerCase(), [name, values]);
  put('Host', [host]);
  put('Accept', ['application/json, text/event-stream']);
  if (hasBody) put('Content-Type', ['application/json']);
  const at = (value, key) => (value instanceof Map ? value.get(key) : undefined);
  const body = step.get('body');
  const method = at(body, 'method');
  const params = at(body, 'params');
  const version = at(at(params, '_meta'), 'io.modelcontextprotocol/protocolVersion');
  if (version instanceof Str && method instanceof Str) {
    put('MCP-Protocol-Version', [version.value]);
    put('Mcp-Method', [method.value]);
    const name = at(params, NAMES[method.value]);
    if (name instanceof Str) put('Mcp-Name', [name.value]);
  }
  for (const layer of [step.get('headers') ?? []].flat()) {
    for (const [name, value] of layer) put(name, value === null ? [] : [value].flat().map((one) => one.value));
  }
  return [...all.values()].flatMap(([name, values]) => values.map((value) => [name, value]));
}

/** One block of an event stream. */
class Event {
  comment = false;
  fields = [];

  constructor(block) {
    for (const line of block.split('\n').filter((line) => line !== '')) {
      const at = line.includes(':') ? line.indexOf(':') : line.length;
      const name = line.slice(0, at);
      if (name === '') {
        this.comment = true;
        continue;
      }
      assert.ok(['id', 'retry', 'event', 'data'].includes(name), `a stream has a field ${name}`);
      this.fields.push([name, line.slice(at + 1).replace(/^ /, '')]);
    }
  }

  /** The value of a field; `data` of several lines is one. */
  field(name) {
    const values = this.fields.filter(([key]) => key === name).map(([, value]) => value);
    return values.length === 0 ? undefined : values.join('\n');
  }

  /** The text of a message; none in comments, and in events that only carry an id. */
  get message() {
    return this.field('data') || undefined;
  }
}

/** A request that was sent, and what has come back and was not looked at. */
export class Exchange {
  status;
  headers = new Map();
  body = Buffer.alloc(0);
  /** A step has looked at the head. */
  seen = false;
  over = false;
  /** The session that the request names, unless it asks for events again. */
  session;
  #socket;
  #raw = Buffer.alloc(0);
  #rest;
  #wrong;
  #wake = () => {};

  constructor(port, data, fields) {
    const named = new Map(fields.map(([name, value]) => [name.toLowerCase(), value]));
    if (!named.has('last-event-id')) this.session = named.get('mcp-session-id');
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.write(data);
    this.#socket.on('data', (chunk) => {
      this.#raw = Buffer.concat([this.#raw, chunk]);
      try {
        this.#take();
      } catch (error) {
        this.#wrong = error;
      }
      if (this.over) this.close();
      this.#wake();
    });
    const broken = () => {
      if (!this.over) this.#wrong ??= new assert.AssertionError({ message: `the response breaks off: ${this.show()}` });
      this.#wake();
    };
    this.#socket.on('error', broken).on('close', broken);
  }

  get isStream() {
    return this.headers.get('content-type')?.value === 'text/event-stream';
  }

  /** Returns as soon as there is what is waited for, which is what `found` gives. */
  async until(found, failure, ms = DEADLINE) {
    const end = performance.now() + ms;
    for (;;) {
      const value = found();
      if (value !== undefined && value !== false) return value;
      if (this.#wrong !== undefined) throw this.#wrong;
      const left = end - performance.now();
      assert.ok(left > 0, `${failure}: ${this.show()}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Reads to the end. */
  async finish(ms) {
    await this.until(() => this.over, 'the response does not end', ms);
  }

  /** The next block of the stream, if a whole one is there. */
  event() {
    const at = this.body.indexOf('\n\n');
    if (at < 0) return undefined;
    const block = this.body.subarray(0, at);
    this.body = this.body.subarray(at + 2);
    return new Event(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(block));
  }

  /** The one JSON value of the response. */
  async whole(ms) {
    assert.equal(this.headers.get('content-type')?.value, 'application/json', `it is no JSON: ${this.show()}`);
    await this.finish(ms);
    const body = this.body;
    this.body = Buffer.alloc(0);
    return parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  }

  /** Closes the connection, whatever is still to come. */
  close() {
    this.#socket.removeAllListeners('close').destroy();
  }

  /** For a failure. */
  show() {
    return `${this.status} ${write(this.headers)} ${this.body.toString().slice(0, 400)}`;
  }

  #take() {
    if (this.status === undefined && !this.#head()) return;
    if (this.#rest === undefined) {
      this.#chunks();
    } else {
      this.body = Buffer.concat([this.body, this.#raw]);
      this.#rest -= this.#raw.length;
      assert.ok(this.#rest >= 0, 'there is more than was announced');
      this.#raw = Buffer.alloc(0);
      this.over = this.#rest === 0;
    }
  }

  #head() {
    const at = this.#raw.indexOf('\r\n\r\n');
    if (at < 0) return false;
    const [first, ...lines] = this.#raw.subarray(0, at).toString('latin1').split('\r\n');
    this.#raw = this.#raw.subarray(at + 4);
    for (const line of lines) {
      const [, name, value] = /^([^:]+):[ \t]*(.*?)[ \t]*$/.exec(line);
      const before = this.headers.get(name.toLowerCase());
      this.headers.set(name.toLowerCase(), new Str(before === undefined ? value : `${before.value}, ${value}`));
    }
    this.status = Number(first.split(' ')[1]);
    if (this.headers.get('transfer-encoding')?.value === 'chunked') return true;
    const length = this.headers.get('content-length')?.value ?? ([204, 304].includes(this.status) ? '0' : undefined);
    assert.ok(length !== undefined, 'the end of the body is not told');
    this.#rest = Number(length);
    return true;
  }

  #chunks() {
    for (let at; !this.over && (at = this.#raw.indexOf('\r\n')) >= 0; ) {
      const size = parseInt(this.#raw.subarray(0, at).toString(), 16);
      const end = at + 2 + size;
      if (this.#raw.length < end + 2) return;
      assert.equal(this.#raw.subarray(end, end + 2).toString(), '\r\n', 'a chunk has another length than it says');
      this.body = Buffer.concat([this.body, this.#raw.subarray(at + 2, end)]);
      this.#raw = this.#raw.subarray(end + 2);
      this.over = size === 0;
    }
  }
}
