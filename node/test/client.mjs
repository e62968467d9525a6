// A client for the tests: a server process and its pipes, one JSON message a line.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const fixture = (name) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
export const cli = fileURLToPath(new URL('../dist/cli.cjs', import.meta.url));

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const DEADLINE = 10_000;

/** One server process. It speaks the modern revision until `initialize` is sent. */
export class Client {
  stderr = '';
  messages = [];
  #wake = () => {};
  #next = 1;
  #modern = true;

  /** `args`: what follows `node`; `source`: a module's text in their place. */
  constructor({ args, source, env = {} }) {
    const given = source === undefined ? args : ['--input-type=module', '--eval', source];
    // Resolved from here, where the package finds itself by its own name.
    const cwd = fileURLToPath(new URL('.', import.meta.url));
    this.child = spawn(process.execPath, given, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' });
    this.child.stdin.on('error', () => {});
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
      this.#wake();
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.messages.push(JSON.parse(line));
      this.#wake();
    });
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      this.#wake();
      return signal ?? code;
    });
  }

  /** Sends a request and gives its id. */
  request(method, params = {}) {
    const id = this.#next++;
    const meta = this.#modern ? { ...META, progressToken: id } : { progressToken: id };
    this.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, ...params._meta } } });
    return id;
  }

  send(message) {
    this.child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** The first message that fits. It is taken out. */
  async message(fits) {
    let found = -1;
    await this.#until(() => (found = this.messages.findIndex(fits)) >= 0, 'no such message');
    return this.messages.splice(found, 1)[0];
  }

  /** Waits for a text on standard error. */
  trace(text) {
    return this.#until(() => this.stderr.includes(text), `no trace of ${text}`);
  }

  async #until(condition, failure) {
    const end = performance.now() + DEADLINE;
    while (!condition()) {
      assert.ok(this.child.exitCode === null && performance.now() < end, `${failure}; stderr: ${this.stderr}`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, end - performance.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  answer(id) {
    return this.message((message) => message.id === id && message.method === undefined);
  }

  async ask(method, params) {
    return this.answer(this.request(method, params));
  }

  /** A result, or the error thrown. */
  async result(method, params) {
    const { result, error } = await this.ask(method, params);
    assert.equal(error, undefined, JSON.stringify(error));
    return result;
  }

  call(name, args) {
    return this.result('tools/call', { name, arguments: args ?? {} });
  }

  async initialize(capabilities = {}, protocolVersion = '2025-11-25') {
    this.#modern = false;
    const clientInfo = { name: 'tests', version: '1' };
    const result = await this.result('initialize', { protocolVersion, capabilities, clientInfo });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return result;
  }

  /** Ends the input and gives the exit code, or the signal. */
  async end() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), DEADLINE);
    const code = await this.exited;
    clearTimeout(timer);
    return code;
  }
}

/** Runs `body` with a client, whose process does not outlive it. */
export async function withClient(options, body) {
  const client = new Client(options);
  try {
    return await body(client);
  } finally {
    client.child.kill('SIGKILL');
    await client.exited;
  }
}

/** A client of a server that `declare` is the text of, with `server` for the server. */
export function withServer(declare, body, options = '{}', more = {}) {
  const source = `
    import { CapabilityNotDeclared, Json, MCPError, NoBackChannel, ResourceNotFound, Server, ToolError, image, text } from 'ferromcp';
    const server = new Server('test', ${options});
    ${declare}
    await server.run();`;
  return withClient({ source, ...more }, body);
}
