/**
 * `accelerate`: tool calls of an official SDK's server without that SDK's protocol layer, whose checks the engine has made
 * already. What is validated, called and caught inside the SDK's own handler stays as it is.
 *
 * The handlers are found in a table that the SDKs call private. So this is done on request only, for versions that the
 * tests compare, where the table looks as it should; else nothing changes.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { MCPError } from './errors.cjs';
import { peerFile } from './peers.cjs';
import { EngineTransport, type Lane, type RpcMessage } from './transport.cjs';

/** The minor versions that the tests compare. */
const COMPARED = {
  '@modelcontextprotocol/sdk': { module: '@modelcontextprotocol/sdk/server/mcp.js', minor: '1.32' },
  '@modelcontextprotocol/server': { module: '@modelcontextprotocol/server', minor: '2.4' },
} as const;

/** How a server is accelerated. */
export interface AccelerateOptions {
  /** Told why a server stays as it is. */
  readonly onFallback?: (reason: string) => void;
}

type Handler = (request: RpcMessage, extra: unknown) => Promise<unknown>;

/** What is used of an SDK's inner server. */
interface Inner {
  _onrequest?(request: RpcMessage, extra: undefined): void;
  _requestHandlers?: unknown;
  connect(transport: unknown): Promise<void>;
  notification(notification: object, options?: object): Promise<void>;
  request(request: object, schema: unknown, options?: object): Promise<unknown>;
  buildContext?(context: object, info: undefined): object;
}

const accelerated = new WeakSet<object>();

/**
 * Lets tool calls of an `McpServer` take the short way, wherever it is connected to a transport of this package
 * (`serve`, `StdioServerTransport`). Gives the same server back.
 */
export function accelerate<S extends object>(server: S, options: AccelerateOptions = {}): S {
  const inner = ((server as { server?: unknown }).server ?? server) as Inner;
  const reason = obstacle(inner);
  if (reason !== undefined) {
    options.onFallback?.(reason);
    return server;
  }
  if (accelerated.has(inner)) return server;
  accelerated.add(inner);
  const lane = laneOf(inner);
  const connect = inner.connect;
  inner.connect = function (transport) {
    if (transport instanceof EngineTransport) EngineTransport.take(transport, lane);
    return connect.call(this, transport);
  };
  return server;
}

/**
 * Where a compared version takes requests in, once it has found out that a message is one: the engine knows that already,
 * and finding out again is a third of what the SDK does for a call. Undefined for others, which take messages as ever.
 */
export function entryOf(server: object): ((request: RpcMessage) => void) | undefined {
  const inner = ((server as { server?: unknown }).server ?? server) as Inner;
  if (obstacle(inner) !== undefined || typeof inner._onrequest !== 'function') return undefined;
  return (request) => inner._onrequest?.(request, undefined);
}

/** Why a server can't be accelerated, if it can't. */
function obstacle(inner: Inner): string | undefined {
  const { _requestHandlers: handlers } = inner;
  if (!(handlers instanceof Map) || typeof inner.connect !== 'function' || typeof inner.notification !== 'function') {
    return 'it does not look like a server of an official SDK';
  }
  const name = typeof inner.buildContext === 'function' ? '@modelcontextprotocol/server' : '@modelcontextprotocol/sdk';
  const { module, minor } = COMPARED[name];
  const found = versionOf(name, module);
  if (found === undefined) return `the version of ${name} can't be found out`;
  if (!found.startsWith(`${minor}.`)) return `${name} ${found} is not compared, only ${minor}.x is`;
  return undefined;
}

function versionOf(name: string, module: string): string | undefined {
  let folder = peerFile(module);
  while (folder !== undefined && folder !== dirname(folder)) {
    folder = dirname(folder);
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string; version?: string };
      if (manifest.name === name) return manifest.version;
    } catch {
      // No manifest in this folder.
    }
  }
  return undefined;
}

/** What the SDK's handler is called with, and what becomes of its end. */
function laneOf(inner: Inner): Lane {
  const handlers = inner._requestHandlers as Map<string, Handler>;
  const modern = inner.buildContext !== undefined;
  return (request, controller) => {
    const handler = handlers.get(request.method as string);
    // A task has a life of its own, which the SDK's protocol layer leads.
    if (handler === undefined || request.params?.['task'] !== undefined) return undefined;
    const context = modern ? contextOf(inner, request, controller) : new Extra(inner, request, controller);
    return handler(request, context);
  };
}

/** What 1.x hands to a handler. */
class Extra {
  readonly requestId: number | string;
  readonly _meta: unknown;
  readonly #inner: Inner;
  readonly #controller: () => AbortController;

  constructor(inner: Inner, request: RpcMessage, controller: () => AbortController) {
    this.requestId = request.id as number | string;
    this._meta = request.params?._meta;
    this.#inner = inner;
    this.#controller = controller;
  }

  get signal(): AbortSignal {
    return this.#controller().signal;
  }

  readonly sendNotification = async (notification: object): Promise<void> => {
    if (this.signal.aborted) return;
    await this.#inner.notification(notification, { relatedRequestId: this.requestId });
  };

  readonly sendRequest = async (request: object, schema: unknown, options?: object): Promise<unknown> => {
    if (this.signal.aborted) throw new MCPError(-32000, 'Request was cancelled');
    return this.#inner.request(request, schema, { ...options, relatedRequestId: this.requestId });
  };
}

/** What 2.x hands to a handler. */
function contextOf(inner: Inner, request: RpcMessage, controller: () => AbortController): object {
  const related = { relatedRequestId: request.id };
  const base = {
    sessionId: undefined,
    mcpReq: {
      id: request.id,
      method: request.method,
      _meta: request.params?._meta,
      requestState: () => undefined,
      signal: controller().signal,
      send: (asked: object, schemaOrOptions?: object, options?: object) => {
        const schema = schemaOrOptions !== undefined && '~standard' in schemaOrOptions;
        return schema
          ? inner.request(asked, schemaOrOptions, { ...options, ...related })
          : inner.request(asked, { ...schemaOrOptions, ...related });
      },
      notify: (notification: object, options?: object) => inner.notification(notification, { ...options, ...related }),
    },
    http: undefined,
  };
  return (inner.buildContext as NonNullable<Inner['buildContext']>).call(inner, base, undefined);
}
