/** Drop-in for `@modelcontextprotocol/sdk/server/stdio.js` (1.x): only the import changes. */
import { EngineTransport } from './transport.cjs';
import { standardOnly, type StdioServerTransportOptions } from './streams.cjs';

export type { StdioServerTransportOptions } from './streams.cjs';
export type { RpcMessage, SendOptions } from './transport.cjs';

/** A server's transport over standard input and output. The client may speak any revision. */
export class StdioServerTransport extends EngineTransport {
  constructor(stdin?: unknown, stdout?: unknown, options: StdioServerTransportOptions = {}) {
    standardOnly(stdin, stdout);
    super('fronted', options.exit === false ? 'alone' : 'exit', options);
  }
}
