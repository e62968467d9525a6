/** The request that a function is serving: progress, log, cancellation, and who asks. */
import type { Bridge } from './bridge.cjs';
import { ConfigurationError, taken } from './errors.cjs';
import { stringify } from './json.cjs';

/** The severities of log messages, least severe first. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Who a client says that it is. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
}

interface Description {
  readonly requestId: number | bigint | string;
  readonly method: string;
  readonly protocolVersion: string;
  readonly params: Readonly<Record<string, unknown>> | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly clientInfo: Implementation | null;
  readonly clientCapabilities: Readonly<Record<string, unknown>>;
}

/** Handed to every handler behind its arguments. Valid until the request is answered. */
export class Context {
  readonly #bridge: Bridge;
  readonly #number: number;
  #description: Description | undefined;
  #controller: AbortController | undefined;
  #reason: string | undefined;

  /** @internal Made by the server. */
  constructor(bridge: Bridge, number: number) {
    this.#bridge = bridge;
    this.#number = number;
  }

  /** @internal Called by the server: nobody waits for the answer any more. */
  static abort(context: Context, reason: string): void {
    context.#reason = reason;
    context.#controller?.abort(aborted(reason));
  }

  /** Aborted when nobody waits for the answer any more: cancelled, too late, or the client is gone. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(aborted(this.#reason));
    }
    return this.#controller.signal;
  }

  /** As `signal.aborted`, and true also where a function that never gave the event loop back was cancelled. */
  get cancelled(): boolean {
    return this.#reason !== undefined || this.#bridge.native.isCancelled(this.#number);
  }

  /**
   * Why nobody waits for the answer any more; undefined while somebody does. In the peer's words where it gave some (`reason`
   * of `notifications/cancelled`).
   */
  get cancelReason(): string | undefined {
    return this.#reason ?? this.#bridge.native.cancelReason(this.#number) ?? undefined;
  }

  /**
   * Progress so far, out of `total`. Sent when the peer gave a progress token and the value has risen.
   *
   * @returns whether it was sent
   */
  reportProgress(progress: number, total?: number, message?: string): boolean {
    return taken(this.#bridge.native.progress(this.#number, progress, total, message));
  }

  /**
   * A log message to the peer, when it wants this level. `data` is any JSON value.
   *
   * @returns whether it was sent
   */
  log(level: LogLevel, data: unknown, logger?: string): boolean {
    return taken(this.#bridge.native.log(this.#number, level, stringify(data, 'data'), logger));
  }

  /** `log('debug', data)`. */
  debug(data: unknown, logger?: string): boolean {
    return this.log('debug', data, logger);
  }

  /** `log('info', data)`. */
  info(data: unknown, logger?: string): boolean {
    return this.log('info', data, logger);
  }

  /** `log('warning', data)`. */
  warning(data: unknown, logger?: string): boolean {
    return this.log('warning', data, logger);
  }

  /** `log('error', data)`. */
  error(data: unknown, logger?: string): boolean {
    return this.log('error', data, logger);
  }

  /**
   * Sends a notification that belongs to this request.
   *
   * @returns whether it was sent
   */
  notify(method: string, params?: object): boolean {
    const text = params === undefined ? undefined : stringify(params, 'params');
    return taken(this.#bridge.native.notify(this.#number, method, text));
  }

  /**
   * Asks a legacy client something; gives its result.
   *
   * @throws NoBackChannel where the client takes no requests, MCPError with its error, TimedOut
   */
  async request(method: string, params?: object, options: { timeoutMs?: number } = {}): Promise<unknown> {
    return this.#bridge.request(this.#number, method, params, options.timeoutMs)[1];
  }

  /** The id that the peer gave the request. */
  get requestId(): number | bigint | string {
    return this.#described.requestId;
  }

  /** The request's method. */
  get method(): string {
    return this.#described.method;
  }

  /** The request's parameters, as the peer wrote them. */
  get params(): Readonly<Record<string, unknown>> {
    return this.#described.params ?? {};
  }

  /** The revision in force for this request, such as `2026-07-28`. */
  get protocolVersion(): string {
    return this.#described.protocolVersion;
  }

  /** Name, version and more, as the peer told it; undefined when it did not. */
  get clientInfo(): Implementation | undefined {
    return this.#described.clientInfo ?? undefined;
  }

  /** What the peer can do, as it told it. */
  get clientCapabilities(): Readonly<Record<string, unknown>> {
    return this.#described.clientCapabilities;
  }

  /** The request's `_meta`. */
  get meta(): Readonly<Record<string, unknown>> | undefined {
    return this.#described.meta ?? undefined;
  }

  get #described(): Description {
    if (this.#description === undefined) {
      const found = this.#bridge.describe(this.#number);
      if (found === undefined) throw new ConfigurationError('this request is answered, and what was known of it is gone');
      this.#description = found as Description;
    }
    return this.#description;
  }
}

function aborted(reason: string): DOMException {
  return new DOMException(reason, 'AbortError');
}
