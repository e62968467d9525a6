// A server of a vector on the Node door: a `Server`, served on pipes in this process. Decides how an entry is declared: as
// users do it where that can say the definition, else the definition goes to the same server ready made.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Server } from 'ferromcp';

import { DEADLINE, Host } from './host.mjs';
import { plain, write } from './text.mjs';

const { addDeclared } = createRequire(import.meta.url)('../../dist/server.cjs');

const KINDS = { tools: 'tool', resources: 'resource', templates: 'template', prompts: 'prompt' };
const KEYS = { tool: 'name', resource: 'uri', template: 'uriTemplate', prompt: 'name' };

/** Changes of a list are told together after this time: shorter than `silence` is listened to. */
export const COALESCE_MS = 20;

// What the methods of `Server` can say.
const SAYS = {
  tool: new Set(['name', 'title', 'description', 'annotations', 'icons', '_meta', 'inputSchema', 'outputSchema', 'execution']),
  resource: new Set(['uri', 'name', 'title', 'description', 'mimeType', 'size', 'annotations', 'icons', '_meta']),
  template: new Set(['uriTemplate', 'name', 'title', 'description', 'mimeType', 'annotations', 'icons', '_meta']),
};

const TASK = { optional: 'optional', required: 'required', forbidden: 'never' };

/** The server of a vector and its entries. */
export class Catalogue {
  host = new Host();
  #whole = new Map();

  constructor(description) {
    const config = plain(new Map([...description].filter(([key]) => !(key in KINDS))));
    const { info, instructions, outputValidation, limits, ...rest } = config;
    const { name, ...options } = info;
    this.server = new Server(name, {
      ...options,
      instructions,
      outputValidation,
      config: { ...rest, limits: { coalesceMs: COALESCE_MS, ...limits } },
    });
    const entries = new Map(Object.keys(KINDS).map((lists) => [lists, description.get(lists) ?? []]));
    this.#serveWhole(entries);
    this.add(entries);
  }

  /** Declares entries as `server.json` has them. */
  add(entries) {
    for (const [lists, members] of entries) for (const entry of members) this.#add(KINDS[lists], entry);
  }

  /** Takes entries away. */
  remove(keys) {
    for (const [lists, names] of keys) {
      const method = { tools: 'removeTool', prompts: 'removePrompt' }[lists] ?? 'removeResource';
      for (const name of plain(names)) assert.ok(this.server[method](name), `there is no ${name} to remove`);
    }
  }

  /** Declares an entry by its definition as it stands. */
  addReadyMade(kind, definition, handler, held = false) {
    const { mimeType, outputSchema, [KEYS[kind]]: key = '' } = plain(definition);
    const structured = outputSchema !== undefined;
    const item = { kind, key, definition: write(definition), handler, validate: undefined, structured, mimeType, held };
    addDeclared(this.server, item);
  }

  #add(kind, entry) {
    const definition = entry.get('definition');
    const said = plain(definition);
    const key = said[KEYS[kind]] ?? '';
    const handler = this.host.function(kind, key, entry.get('behaviour') ?? []);
    const sayable = kind in SAYS && Object.keys(said).every((member) => SAYS[kind].has(member)) && 'name' in said;
    const reentry = plain(entry.get('reentry'));
    // What JavaScript would write in another way is declared as it stands.
    if (sayable && write(definition) === JSON.stringify(said)) this.#declare(kind, key, { ...said, reentry }, handler);
    else this.addReadyMade(kind, definition, handler, reentry === 'held');
    for (const [argument, completion] of entry.get('completions') ?? []) {
      if (!this.#whole.has(`${key}/${argument}`)) {
        this.server.completion(key, argument, this.host.completion(key, argument, completion));
      }
    }
  }

  #declare(kind, key, { _meta: meta, execution, ...options }, handler) {
    if (kind === 'tool') this.server.tool(key, { ...options, meta, task: TASK[execution?.taskSupport] }, handler);
    else this.server.resource(key, { ...options, meta }, handler);
  }

  /** Entries whose host code gives whole results are served as whole methods. */
  #serveWhole(entries) {
    const methods = new Set();
    for (const [lists, members] of entries) {
      for (const entry of members) {
        const key = entry.get('definition').get(KEYS[KINDS[lists]])?.value;
        for (const act of entry.get('behaviour') ?? []) {
          if (!act.has('result')) continue;
          assert.equal(lists, 'resources', 'whole results are given to reads and completions here');
          methods.add('resources/read');
          this.#whole.set(key, act.get('result'));
        }
        for (const [argument, completion] of entry.get('completions') ?? []) {
          if (!completion.has('result')) continue;
          methods.add('completion/complete');
          this.#whole.set(`${key}/${argument}`, completion.get('result'));
        }
      }
    }
    for (const method of methods) {
      this.server.method(method, ({ uri, ref, argument }) => {
        const key = uri ?? `${ref.name}/${argument.name}`;
        return this.host.wholeResult(key, this.#whole.get(key));
      });
    }
    if (methods.has('completion/complete')) this.server.completion('', '', () => []);
  }
}

const pipes = [];

/** Two new pipes: [the server's input, our end, our end, the server's output]. */
function openPipes() {
  if (pipes.length === 0) {
    const folder = mkdtempSync(join(tmpdir(), 'ferromcp-'));
    const names = Array.from({ length: 64 }, (_, number) => join(folder, String(number)));
    execFileSync('mkfifo', names);
    pipes.push(...names);
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  }
  const [up, down] = [pipes.pop(), pipes.pop()];
  // A reader that does not wait for a writer has to come first.
  const serverInput = openSync(up, constants.O_RDONLY | constants.O_NONBLOCK);
  const input = openSync(up, constants.O_WRONLY);
  const output = openSync(down, constants.O_RDONLY | constants.O_NONBLOCK);
  const serverOutput = openSync(down, constants.O_WRONLY);
  rmSync(up);
  rmSync(down);
  return [serverInput, input, output, serverOutput];
}

/** The client's ends of the pipes that a server is served on. */
export class Connection {
  ended = false;
  #chunks = Buffer.alloc(0);
  #wake = () => {};

  constructor({ server }) {
    const [serverInput, input, output, serverOutput] = openPipes();
    this.#input = new Socket({ fd: input, readable: false, writable: true });
    this.#output = new Socket({ fd: output, readable: true, writable: false });
    this.#input.on('error', () => {});
    this.#output.on('data', (chunk) => {
      this.#chunks = Buffer.concat([this.#chunks, chunk]);
      this.#wake();
    });
    const over = () => {
      this.ended = true;
      this.#wake();
    };
    this.#output.on('end', over).on('error', over).on('close', over);
    this.finished = server.serve({ fds: [serverInput, serverOutput] });
    this.stop = () => server.stop();
  }

  #input;
  #output;

  /** Writes bytes as they are. */
  send(data) {
    return new Promise((resolve) => this.#input.write(data, resolve));
  }

  /** The next line without its end; undefined when there is none in this time, or the output has ended. */
  async line(ms) {
    const end = performance.now() + ms;
    for (;;) {
      const at = this.#chunks.indexOf(10);
      if (at >= 0) {
        const line = this.#chunks.subarray(0, at);
        this.#chunks = this.#chunks.subarray(at + 1);
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
      }
      const left = end - performance.now();
      if (this.ended) assert.equal(this.#chunks.length, 0, 'the output ends within a line');
      if (this.ended || left <= 0) return undefined;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** The client sends no more. */
  endInput() {
    this.#input.destroy();
  }

  /** Nothing can be sent any more, either way. */
  lose() {
    this.#output.destroy();
    this.#input.destroy();
    this.ended = true;
  }

  /** Waits for the end of the server, whose input has ended. */
  async close() {
    const late = new Promise((_, reject) => setTimeout(reject, DEADLINE, new Error('serve() does not return')).unref());
    await Promise.race([this.finished, late]);
    this.lose();
  }
}
