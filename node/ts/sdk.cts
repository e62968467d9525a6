/** Drop-in for the transports of `@modelcontextprotocol/sdk` (1.x): only the import changes. */
import { EngineTransport } from './transport.cjs';
import { NodeTransport, WebTransport, type StreamableHTTPServerTransportOptions } from './sdkhttp.cjs';
import { standardOnly, type StdioServerTransportOptions } from './streams.cjs';

export type { StreamableHTTPServerTransportOptions } from './sdkhttp.cjs';
export type { StdioServerTransportOptions } from './streams.cjs';
export type { RpcMessage, SendOptions } from './transport.cjs';

/** A server's transport over standard input and output. The client may speak any revision. */
export class StdioServerTransport extends EngineTransport {
  constructor(stdin?: unknown, stdout?: unknown, options: StdioServerTransportOptions = {}) {
    standardOnly(stdin, stdout);
    super('fronted', options.exit === false ? 'alone' : 'exit', options);
  }
}

/** A session's transport over HTTP, for `node:http`, Express and Fastify. The client may speak any revision. */
export class StreamableHTTPServerTransport extends NodeTransport {
  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super('fronted', options);
  }
}

/** A session's transport over HTTP, for whatever speaks `fetch`. The client may speak any revision. */
export class WebStandardStreamableHTTPServerTransport extends WebTransport {
  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super('fronted', options);
  }
}
