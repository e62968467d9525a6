/** `serve`: an existing server on the engine, whichever library it was made with. */
import { innerOf } from './compared.cjs';
import { ConfigurationError } from './errors.cjs';
import type { HttpOptions } from './http.cjs';
import { peer } from './peers.cjs';
import { Server } from './server.cjs';
import { standInOf } from './standin.cjs';
import { EngineTransport, type Knowledge, type TransportOptions } from './transport.cjs';

/** A server of one of the official SDKs. */
export interface Connectable {
  connect(transport: any): Promise<void>;
  close(): Promise<void>;
}

/** Makes a server for each era that a client may open with, as `serveStdio` of `@modelcontextprotocol/server` wants it. */
export type Factory = (context: any) => Connectable | Promise<Connectable>;

/** What `serveStdio` gives. */
export interface Handle {
  close(): Promise<void>;
}

/** How an existing server is served. `ask` is for those of the official SDKs: a `Server` says `reentry` with each function. */
export interface ServableOptions extends TransportOptions, HttpOptions {
  /** On what; `stdio` when it is not given. `http` is for a `Server`, with the options of `docs/http.md` beside it. */
  readonly transport?: 'stdio' | 'http';
  /** Whether the process ends with the server, also on signals; true by default. */
  readonly exit?: boolean;
}

/**
 * Serves on standard input and output, or over HTTP: a `Server` of this package, an `McpServer` or `Server` of
 * `@modelcontextprotocol/sdk` 1.x or `@modelcontextprotocol/server` 2.x, or a factory of the latter.
 *
 * Returns when the server is connected. The process ends when the client has closed its side and all is answered.
 */
export async function serve(app: Server | Connectable | Factory, options: ServableOptions = {}): Promise<void> {
  const ending = options.exit === false ? 'alone' : 'run';
  if (app instanceof Server) {
    const { policy, exit, ask: _, transport = 'stdio', ...rest } = options;
    if (policy !== undefined) app.setPolicy(policy);
    // Which of both it is, and what is wrong with the rest, is found there.
    const on = transport as 'http';
    return exit === false ? app.serve(on, rest) : app.run(on, rest);
  }
  if (options.transport === 'http') {
    throw new ConfigurationError('a server of an SDK is served over stdio; over HTTP a Server is, or its transport for HTTP');
  }
  if (typeof app === 'function') {
    serveFactory(app, { transport: new EngineTransport('detected', ending, options) });
    return;
  }
  if (!isConnectable(app)) {
    throw new ConfigurationError('serve() takes a Server, an McpServer of an official SDK, or a factory of servers');
  }
  const transport = new EngineTransport('fronted', ending, options);
  EngineTransport.inform(transport, { entry: entryOf(app), standIn: standInOf(app) });
  await app.connect(transport);
}

/**
 * Where a server takes requests in, once it has found out that a message is one: the engine knows that already, and finding
 * out again is a third of what the SDK does for a call. Undefined for servers whose inside is not known, which take messages
 * as ever.
 */
function entryOf(server: object): Knowledge['entry'] {
  const inner = innerOf(server);
  if (typeof inner === 'string' || typeof inner._onrequest !== 'function') return undefined;
  return (request) => inner._onrequest?.(request, undefined);
}

/** Whether a value is a server of an official SDK. */
export function isConnectable(value: unknown): value is Connectable {
  if (typeof value !== 'object' || value === null) return false;
  const { connect, close } = value as Partial<Connectable>;
  return typeof connect === 'function' && typeof close === 'function';
}

interface StdioModule {
  serveStdio(factory: Factory, options: object): Handle;
}

/** `serveStdio` of the program's own `@modelcontextprotocol/server`. */
export function serveFactory(factory: Factory, options: object): Handle {
  const module = peer('@modelcontextprotocol/server/stdio') as StdioModule | undefined;
  if (module === undefined) {
    throw new ConfigurationError('a factory is served by @modelcontextprotocol/server 2.x, which is not installed here');
  }
  // The inner server, because the outer one's class may be of the package's other build.
  const inner: Factory = async (context) => {
    const made = await factory(context);
    const { server } = made as { server?: unknown };
    return isConnectable(server) ? server : made;
  };
  return module.serveStdio(inner, options);
}
