// Carriers of HTTP for the tests: each gives `send`, which takes a Request and gives its Response.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { toFetchHandler, toNodeHandler } from 'ferromcp';

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tests', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A listener of Node's, with `handler` behind it, for as long as `body` takes. */
export async function listening(handler, body) {
  const listener = createServer(handler);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  try {
    return await body(`http://127.0.0.1:${listener.address().port}/mcp`);
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

/** What serves a `Server` over HTTP, each as `(server, options, body)`; `body` gets the URL and `send`. */
export const CARRIERS = {
  async listen(server, options, body) {
    const http = await server.listen({ port: 0, announce: false, ...options });
    try {
      return await body(http.url, fetch);
    } finally {
      await http.close();
    }
  },
  async 'node:http'(server, options, body) {
    try {
      return await listening(toNodeHandler(server, options), (url) => body(url, fetch));
    } finally {
      server.stop();
    }
  },
  async fetch(server, options, body) {
    const handler = toFetchHandler(server, options);
    // In place of a listener, which would keep the program alive.
    const alive = setInterval(() => {}, 60_000);
    try {
      return await body('http://localhost/mcp', (url, init) => handler(new Request(url, init)));
    } finally {
      clearInterval(alive);
      server.stop();
    }
  },
};

/** A client of the modern revision: `ask` gives the response. */
export function modern(url, send, headers = {}) {
  let next = 1;
  return (method, params = {}, { signal, meta = {} } = {}) => {
    const id = next++;
    const name = params.name ?? params.uri;
    const own = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...META, ...meta } } });
    return send(url, { method: 'POST', headers: { ...own, ...headers }, body, ...(signal === undefined ? {} : { signal }) });
  };
}

/** A client of 2025-11-25 in a session of its own. */
export class Session {
  #next = 1;

  static async open(url, send, capabilities = {}, headers = {}) {
    const session = new Session();
    Object.assign(session, { url, send, headers });
    const clientInfo = { name: 'tests', version: '1' };
    session.opened = await session.ask('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
    session.id = session.opened.headers.get('mcp-session-id');
    session.known = (await message(session.opened)).result;
    session.headers = { ...headers, 'mcp-protocol-version': '2025-11-25', ...(session.id === null ? {} : { 'mcp-session-id': session.id }) };
    session.begun = await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return session;
  }

  post(body, headers = {}) {
    const own = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    return this.send(this.url, { method: 'POST', headers: { ...own, ...this.headers, ...headers }, body: JSON.stringify(body) });
  }

  ask(method, params = {}, headers = {}) {
    return this.post({ jsonrpc: '2.0', id: this.#next++, method, params }, headers);
  }

  get(headers = {}, signal) {
    const own = { accept: 'text/event-stream' };
    return this.send(this.url, { headers: { ...own, ...this.headers, ...headers }, ...(signal === undefined ? {} : { signal }) });
  }

  delete() {
    return this.send(this.url, { method: 'DELETE', headers: this.headers });
  }
}

/** The events of a stream, one after another: `{ id, message }`. */
export async function* events(response) {
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const whole = text.split('\n\n');
    text = whole.pop();
    for (const event of whole) {
      const fields = Object.fromEntries(event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
      yield { id: fields.id, message: fields.data ? JSON.parse(fields.data) : undefined };
    }
  }
}

/** All messages of a response, in either form. */
export async function messages(response) {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return [await response.json()];
  const all = [];
  for await (const { message } of events(response)) if (message !== undefined) all.push(message);
  return all;
}

/** The answer: the last message of a response. */
export async function message(response) {
  return (await messages(response)).at(-1);
}
