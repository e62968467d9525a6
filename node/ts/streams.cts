/** What the drop-in transports take beside their servers. */
import { ConfigurationError } from './errors.cjs';
import type { TransportOptions } from './transport.cjs';

/** Beside what the SDK's class takes. */
export interface StdioServerTransportOptions extends TransportOptions {
  /** Whether the process ends when the client has closed its side and all is answered; true by default. */
  readonly exit?: boolean;
  /** Taken for compatibility: the engine's own limits hold. */
  readonly maxBufferSize?: number;
}

/** The standard streams, checked: no others can be served. */
export function standardOnly(input: unknown, output: unknown): void {
  // Not read where nothing is given: a stream that is looked at is opened.
  if ((input !== undefined && input !== process.stdin) || (output !== undefined && output !== process.stdout)) {
    throw new ConfigurationError("only the process's standard streams are served; the option fds names others");
  }
}
