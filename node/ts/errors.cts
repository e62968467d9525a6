/** Errors as classes. The native module hands them over as data; they are made here and nowhere else. */
import type { NativeError } from './native.cjs';

/** The peer broke the protocol, or is to be told that it did: one JSON-RPC error object. */
export class MCPError extends Error {
  override readonly name = 'MCPError';
  /** The JSON-RPC error code. */
  readonly code: number;
  /** The error's data, if it has any. */
  readonly data: unknown;
  /** JSON text of the id that the peer can be answered under, if one could be read. */
  readonly id: string | undefined;

  constructor(code: number, message: string, options: { data?: unknown; id?: string; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.data = options.data;
    this.id = options.id;
  }
}

/** The native module for this platform could not be loaded. The message says which one, and what to do. */
export class NativeModuleError extends Error {
  override readonly name = 'NativeModuleError';
  /** For programs that switch on it. */
  readonly code = 'FERROMCP_NATIVE_MODULE';
}

/** The class for what the native module handed over. */
export function fromNative(error: NativeError): MCPError {
  return new MCPError(error.code, error.message, {
    ...(error.data === undefined ? {} : { data: JSON.parse(error.data) as unknown }),
    ...(error.id === undefined ? {} : { id: error.id }),
  });
}
