/** Drop-in for `@modelcontextprotocol/server/stdio` (2.x): only the import changes. */
import { standardOnly, type StdioServerTransportOptions } from './streams.cjs';
import { serveFactory, type Factory, type Handle } from './serve.cjs';
import { EngineTransport } from './transport.cjs';

export type { Factory, Handle } from './serve.cjs';
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
