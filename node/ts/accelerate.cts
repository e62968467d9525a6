/**
 * `accelerate`: tool calls of an official SDK's server without that SDK's protocol layer, whose checks the engine has made
 * already. What is validated, called and caught inside the SDK's own handler stays as it is.
 *
 * This is done on request only, for servers whose inside is known (`compared.cts`); else nothing changes.
 */
import { innerOf, type Inner } from './compared.cjs';
import { MCPError } from './errors.cjs';
import { codes } from './failures.cjs';
import { standInOf } from './standin.cjs';
import { EngineTransport, type Lane, type RpcMessage } from './transport.cjs';

/** How a server is accelerated. */
export interface AccelerateOptions {
  /** Told why a server stays as it is. */
  readonly onFallback?: (reason: string) => void;
}

const accelerated = new WeakSet<object>();

/**
 * Lets tool calls of an `McpServer` take the short way, wherever it is connected to a transport of this package
 * (`serve`, `StdioServerTransport`). Gives the same server back.
 */
export function accelerate<S extends object>(server: S, options: AccelerateOptions = {}): S {
  const inner = innerOf(server);
  if (typeof inner === 'string') {
    options.onFallback?.(inner);
    return server;
  }
  if (accelerated.has(inner)) return server;
  accelerated.add(inner);
  const lane = laneOf(inner);
  const connect = inner.connect;
  inner.connect = function (transport) {
    if (transport instanceof EngineTransport) EngineTransport.inform(transport, { lane, standIn: standInOf(server) });
    return connect.call(this, transport);
  };
  return server;
}

/** What the SDK's handler is called with, and what becomes of its end. */
function laneOf(inner: Inner): Lane {
  const handlers = inner._requestHandlers;
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
    if (this.signal.aborted) throw new MCPError(codes.connectionClosed, 'Request was cancelled');
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
