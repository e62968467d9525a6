/** Drop-in for the transports of `@modelcontextprotocol/server` and `@modelcontextprotocol/node` (2.x): only the import changes. */
import { NodeTransport, WebTransport, type StreamableHTTPServerTransportOptions } from './sdkhttp.cjs';
import { standardOnly, type StdioServerTransportOptions } from './streams.cjs';
import { serveFactory, type Factory, type Handle } from './serve.cjs';
import { EngineTransport } from './transport.cjs';

export type { Factory, Handle } from './serve.cjs';
export type { StreamableHTTPServerTransportOptions } from './sdkhttp.cjs';
export type { StdioServerTransportOptions } from './streams.cjs';
export type { RpcMessage, SendOptions } from './transport.cjs';

/** A server's transport over standard input and output. The client may speak any revision. */
export class StdioServerTransport extends EngineTransport {
  constructor(stdin?: unknown, stdout?: unknown, options: StdioServerTransportOptions = {}) {
    standardOnly(stdin, stdout);
    super('detected', options.exit === false ? 'alone' : 'exit', options);
  }
}

/** That package's `serveStdio` with our transport under it; its other options are its own. */
export function serveStdio(factory: Factory, options: Readonly<Record<string, unknown>> = {}): Handle {
  return serveFactory(factory, { transport: new StdioServerTransport(), ...options });
}

/** A session's transport over HTTP, for `node:http`, Express and Fastify. The client may speak any revision. */
export class NodeStreamableHTTPServerTransport extends NodeTransport {
  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super('detected', options);
  }
}

/** A session's transport over HTTP, for whatever speaks `fetch`. The client may speak any revision. */
export class WebStandardStreamableHTTPServerTransport extends WebTransport {
  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super('detected', options);
  }
}
