/**
 * Errors as classes. The native module hands them over as data; they are made here and nowhere else.
 *
 * A program may hold two copies of this package, or meet it in two module systems. So `instanceof` asks for a mark that
 * all copies share, not for one copy's class.
 */
import type { NativeError, NativeFailure } from './native.cjs';

/** Beside the message: what a program switches on, details, and the reason. */
export interface ErrorOptions {
  data?: unknown;
  cause?: unknown;
}

const kindOf = Symbol.for('ferromcp.error');

/** The base of all errors of this package. */
export class FerroMCPError extends Error {
  /** A JSON-RPC error code, or a name that begins with `FERROMCP_`. */
  readonly code: number | string;
  /** Details, if there are any. */
  readonly data: unknown;

  constructor(code: number | string, message: string, options: ErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.data = options.data;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null || typeof this !== 'function') return false;
    // A program's own subclass has no kind of its own, and is found as any class is.
    if (!Object.hasOwn(this, kindOf)) return Function.prototype[Symbol.hasInstance].call(this, value);
    const kinds = (value as { [kindOf]?: readonly string[] })[kindOf];
    return Array.isArray(kinds) && kinds.includes((this as unknown as { [kindOf]: string })[kindOf]);
  }
}

/** The peer broke the protocol, or is to be told that it did: one JSON-RPC error object. */
export class MCPError extends FerroMCPError {
  declare readonly code: number;
  /** JSON text of the id that the peer can be answered under, if one could be read. */
  readonly id: string | undefined;
  /** A client answered with it; a function that does not catch it has failed, and its own client is told so. */
  readonly fromPeer: boolean;

  constructor(code: number, message: string, options: ErrorOptions & { id?: string; fromPeer?: boolean } = {}) {
    super(code, message, options);
    this.id = options.id;
    this.fromPeer = options.fromPeer === true;
  }
}

/** Thrown in a tool: the result is marked `isError` and carries this text and nothing else. */
export class ToolError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_TOOL', message, options);
  }
}

/** Thrown by a resource's function: there is nothing under this URI. The engine picks the code of the peer's revision. */
export class ResourceNotFound extends FerroMCPError {
  /** The URI; the one that was asked for, when it is not given. */
  readonly uri: string | undefined;

  constructor(uri?: string, options?: ErrorOptions) {
    super('FERROMCP_RESOURCE_NOT_FOUND', uri === undefined ? 'Resource not found' : `Resource not found: ${uri}`, options);
    this.uri = uri;
  }
}

/** A server, tool, resource or prompt was declared in a way that can't be served. */
export class ConfigurationError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_CONFIGURATION', message, options);
  }
}

/** This peer can't be sent requests: its revision has none, or it is gone. */
export class NoBackChannel extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_NO_BACK_CHANNEL', message, options);
  }
}

/**
 * This client did not declare what the request needs, so it is not sent (2025-11-25 `basic/lifecycle`, "Operation"). A function
 * that does not catch it ends with the error that the specification has for that.
 */
export class CapabilityNotDeclared extends NoBackChannel {
  /** `roots`, `sampling`, `sampling.tools`, `elicitation.form` or `elicitation.url`. */
  readonly capability: string;

  constructor(capability: string, options?: ErrorOptions) {
    super(`the client did not declare the capability '${capability}'`, options);
    this.capability = capability;
  }
}

/** The peer answered with something else than it was asked for. */
export class InvalidAnswer extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_INVALID_ANSWER', message, options);
  }
}

/** The peer did not answer a request of ours in time. */
export class TimedOut extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_TIMED_OUT', message, options);
  }
}

/** A value has no JSON form. */
export class SerializationError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_SERIALIZATION', message, options);
  }
}

/** The operating system refused something. */
export class SystemError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_SYSTEM', message, options);
  }
}

/** The store of tasks can't be opened; the message says why. */
export class TaskStoreError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_TASK_STORE', message, options);
  }
}

/** The native module for this platform could not be loaded. The message says which one, and what to do. */
export class NativeModuleError extends FerroMCPError {
  constructor(message: string, options?: ErrorOptions) {
    super('FERROMCP_NATIVE_MODULE', message, options);
  }
}

const classes = {
  FerroMCPError,
  MCPError,
  ToolError,
  ResourceNotFound,
  ConfigurationError,
  NoBackChannel,
  CapabilityNotDeclared,
  InvalidAnswer,
  TimedOut,
  SerializationError,
  SystemError,
  TaskStoreError,
  NativeModuleError,
};
for (const [name, type] of Object.entries(classes)) {
  const inherited = (Object.getPrototypeOf(type.prototype) as { [kindOf]?: readonly string[] })[kindOf] ?? [];
  const kinds = [...inherited, name];
  Object.defineProperty(type, kindOf, { value: name });
  Object.defineProperty(type.prototype, kindOf, { value: kinds });
  Object.defineProperty(type.prototype, 'name', { value: name, writable: true, configurable: true });
}

/** The class for what the native module found in a message. */
export function fromNative(error: NativeError): MCPError {
  return new MCPError(error.code, error.message, {
    ...(error.data === undefined ? {} : { data: JSON.parse(error.data) as unknown }),
    ...(error.id === undefined ? {} : { id: error.id }),
  });
}

const failures = {
  configuration: ConfigurationError,
  noBackChannel: NoBackChannel,
  serialization: SerializationError,
  system: SystemError,
  taskStore: TaskStoreError,
};

/** The error for what the native module could not do. */
export function failureOf({ kind, message, capability }: NativeFailure): FerroMCPError {
  if (kind === 'capabilityNotDeclared') return new CapabilityNotDeclared(capability ?? message);
  return new failures[kind](message);
}

/** Throws what the native module could not do. */
export function done(failure: NativeFailure | null): void {
  if (failure !== null) throw failureOf(failure);
}

/** The value of a command, or its failure thrown. */
export function taken<T extends boolean | number | string>(outcome: T | NativeFailure): T {
  if (typeof outcome === 'object') done(outcome);
  return outcome as T;
}

/** Why a request of ours has no result: the peer's error code, or a word. */
export type NoResult = number | 'invalid' | 'timedOut' | 'closed';

/** What a request of ours ends with when it has no result. */
export type OutgoingError = MCPError | InvalidAnswer | TimedOut | NoBackChannel;

/** The end of a request of ours that has no result, as the native module tells it. */
export function outgoing(code: NoResult, message: string | undefined, data: unknown): OutgoingError {
  if (code === 'timedOut') return new TimedOut('the peer did not answer in time');
  if (code === 'closed') return new NoBackChannel('the peer is gone');
  if (code === 'invalid') return new InvalidAnswer(message ?? '');
  const details = data === null || data === undefined ? {} : { data };
  return new MCPError(code, message ?? '', { ...details, fromPeer: true });
}
