/** The request that a function is serving: questions to its client, progress, log, cancellation, and who asks. */
import {
  elicit,
  elicitUrl,
  InputRequired,
  listRoots,
  sample,
  type AnswersOf,
  type AskOptions,
  type ElicitResult,
  type ElicitUrlResult,
  type InputRequest,
  type Root,
  type SampleParams,
  type SampleResult,
} from './asking.cjs';
import type { Bridge } from './bridge.cjs';
import { ConfigurationError, taken } from './errors.cjs';
import { stringify } from './json.cjs';
import { resultOf, type Answer, type Asker, type Question } from './rounds.cjs';
import type { AnySchema, OutputOf } from './schema.cjs';

/** The severities of log messages, least severe first. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Who a client says that it is. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly [member: string]: unknown;
}

/** The trace that a request belongs to, in the forms of W3C Trace Context and W3C Baggage; not checked. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

const TRACE = ['traceparent', 'tracestate', 'baggage'] as const;

interface Description {
  readonly requestId: number | bigint | string;
  readonly method: string;
  readonly protocolVersion: string;
  readonly params: Readonly<Record<string, unknown>> | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly clientInfo: Implementation | null;
  readonly clientCapabilities: Readonly<Record<string, unknown>>;
  readonly inputResponses: Readonly<Record<string, unknown>> | null;
  readonly requestState: string | null;
}

/** A function's client is asked, and the function runs again when it has answered: this run of it has to end. */
class Suspended extends DOMException {
  constructor() {
    super('the client is asked, and this function runs again with its answer', 'AbortError');
  }
}

/** Handed to every handler behind its arguments. Valid until the request is answered. */
export class Context {
  readonly #bridge: Bridge;
  readonly #number: number;
  readonly #held: boolean;
  #asker: Asker | undefined;
  #description: Description | undefined;
  #controller: AbortController | undefined;
  /** Settled when a call that wants to be a task is one, or is not. */
  #begun: { readonly promise: Promise<string | undefined>; readonly resolve: (id?: string) => void } | undefined;
  /** Why nobody waits for the answer any more. */
  #over: DOMException | undefined;

  /** @internal Made by the server. */
  constructor(bridge: Bridge, number: number, held: boolean) {
    this.#bridge = bridge;
    this.#number = number;
    this.#held = held;
  }

  /** @internal Called by the server: nobody waits for the answer any more. */
  static abort(context: Context, reason: string): void {
    // One that is suspended has been told so.
    if (context.#over !== undefined) return;
    const over = new DOMException(reason, 'AbortError');
    context.#end(over);
    context.#bridge.rounds.over(context.#number, over);
  }

  /** @internal Called by the server: the call is a task now, or goes on without. */
  static taskBegun(context: Context, id: string | undefined): void {
    context.#begun?.resolve(id);
    context.#begun = undefined;
  }

  /** @internal Whether what the function ends with matters to nobody: it says no more than that the call is over. */
  static isMoot(context: Context, error: unknown): boolean {
    const over = context.#over;
    if (over === undefined) return false;
    // What Node's own functions throw for a signal has its reason as the cause.
    return over instanceof Suspended || error === over || (error instanceof Error && error.cause === over);
  }

  /** Aborted when nobody waits for the answer any more: cancelled, too late, the client is asked first, or it is gone. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#over !== undefined) this.#controller.abort(this.#over);
    }
    return this.#controller.signal;
  }

  /** As `signal.aborted`, and true also where a function that never gave the event loop back was cancelled. */
  get cancelled(): boolean {
    return this.#over !== undefined || this.#bridge.native.isCancelled(this.#number);
  }

  /**
   * Why nobody waits for the answer any more; undefined while somebody does. In the peer's words where it gave some (`reason`
   * of `notifications/cancelled`).
   */
  get cancelReason(): string | undefined {
    return this.#over?.message ?? this.#bridge.native.cancelReason(this.#number) ?? undefined;
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
   * Ends the connection of this call's stream, and not the call: a legacy client over HTTP comes back for the rest (2025-11-25
   * `basic/transports`, "Sending Messages to the Server"), so a call that takes long holds no connection.
   *
   * @returns false where the client has no stream that it could come back to
   */
  closeSSEStream(): boolean {
    return taken(this.#bridge.native.closeSseStream(this.#number));
  }

  /**
   * The id of the task that this call is; undefined where it is none. A call of a tool that is declared with `task` is one from
   * the beginning, where its client takes tasks; that of any tool may become one by `beginTask`.
   */
  get taskId(): string | undefined {
    return this.#bridge.native.taskId(this.#number) ?? undefined;
  }

  /**
   * Turns this call into a task, if its client takes tasks (extension `io.modelcontextprotocol/tasks`): the client gets the task
   * at once, and what the function returns later is the task's result. What has to be asked first is best asked before.
   *
   * @returns the task's id; undefined where the call goes on without: its client takes none, or it can't be kept
   * @throws ConfigurationError where the client has as many tasks as it may
   */
  async beginTask(): Promise<string | undefined> {
    if (this.#begun !== undefined) return this.#begun.promise;
    const { taskId } = this;
    if (taskId !== undefined || this.#over !== undefined) return taskId;
    if (!taken(this.#bridge.native.beginTask(this.#number))) return undefined;
    let resolve!: (id?: string) => void;
    const promise = new Promise<string | undefined>((settle) => (resolve = settle));
    this.#begun = { promise, resolve };
    return promise;
  }

  /**
   * Asks the user by a form: a Standard Schema of a flat object, or the JSON Schema of one. What the user says is a value; so
   * are declining, and closing the question.
   *
   * All `elicit...`, `sample`, `listRoots` and `ask` of one turn of the event loop are one round for a modern client. In it,
   * without `reentry: 'held'`, the function **ends where it awaits them and runs again** when the client has answered; then
   * the answers are there.
   *
   * @throws CapabilityNotDeclared, NoBackChannel where the client can't be asked, InvalidAnswer, MCPError with the client's
   *   own error, TimedOut, ConfigurationError for what the specification does not allow
   */
  elicit<const S extends AnySchema>(
    message: string,
    schema: S,
    options: AskOptions = {},
  ): Promise<ElicitResult<OutputOf<S>>> {
    return this.#one(elicit(message, schema), options);
  }

  /** Asks the user to visit a URL, for what must not go through the client. As `elicit`. */
  elicitUrl(message: string, url: string | URL, options: AskOptions = {}): Promise<ElicitUrlResult> {
    return this.#one(elicitUrl(message, url), options);
  }

  /** Asks the client's model. As `elicit`. */
  sample(params: SampleParams, options: AskOptions = {}): Promise<SampleResult> {
    return this.#one(sample(params), options);
  }

  /** Asks which folders and files the client works on. As `elicit`. */
  listRoots(options: AskOptions = {}): Promise<readonly Root[]> {
    return this.#one(listRoots(), options);
  }

  /** Asks several things in one round: what `elicit`, `sample` ... of this package make, by key. As `elicit`. */
  ask<const Requests extends Readonly<Record<string, InputRequest>>>(
    requests: Requests,
    options: Omit<AskOptions, 'key'> = {},
  ): Promise<AnswersOf<Requests>> {
    const entries = Object.entries<InputRequest>(requests);
    return this.#ask(entries, options.timeoutMs, (values) => {
      return Object.fromEntries(entries.map(([key], at) => [key, values[at]])) as AnswersOf<Requests>;
    });
  }

  /**
   * A round by hand, to be **returned** by the function: the client is asked, and then the function is called again with
   * `inputResponses` and `requestState`. `state` goes through the client, which can neither read nor change it.
   */
  inputRequired(
    requests: Readonly<Record<string, Pick<InputRequest, 'method' | 'params'>>> = {},
    options: { readonly state?: string } = {},
  ): InputRequired {
    return new InputRequired(requests, options.state);
  }

  /**
   * What the client has answered to the round by hand: results by key as MCP writes them, and of what was asked alone. `read`
   * of a request makes a value of one. Undefined in the first call.
   */
  get inputResponses(): Readonly<Record<string, unknown>> | undefined {
    return this.#described.inputResponses ?? undefined;
  }

  /** The `state` of the last round by hand. */
  get requestState(): string | undefined {
    return this.#described.requestState ?? undefined;
  }

  #one<T>(request: InputRequest<T>, { key = '', timeoutMs }: AskOptions): Promise<T> {
    return this.#ask([[key, request]], timeoutMs, ([value]) => value as T);
  }

  #ask<T>(
    requests: readonly (readonly [key: string, request: InputRequest])[],
    timeoutMs: number | undefined,
    value: (values: readonly unknown[]) => T,
  ): Promise<T> {
    const ask = async (): Promise<T> => {
      if (this.#over !== undefined) throw this.#over;
      const questions = requests.map(([key, { method, params }]): Question => [key, method, stringify(params, 'params')]);
      const answers = await this.#bridge.rounds.ask((this.#asker ??= this.#asking()), questions, timeoutMs);
      // All of them, so that none is left that nobody looks at.
      return value(await Promise.all(requests.map(async ([, { read }], at) => read(resultOf(answers[at] as Answer)))));
    };
    const answered = ask();
    // That a call is over is no failure of a function that has asked something and does not wait for it.
    answered.catch(() => {});
    return answered;
  }

  #asking(): Asker {
    const suspend = (): DOMException => {
      const suspended = new Suspended();
      this.#end(suspended);
      return suspended;
    };
    return { number: this.#number, held: this.#held, suspend };
  }

  #end(over: DOMException): void {
    this.#over = over;
    Context.taskBegun(this, undefined);
    this.#controller?.abort(over);
  }

  /**
   * Asks a legacy client something; gives its result.
   *
   * @throws NoBackChannel where the client takes no requests, MCPError with its error, InvalidAnswer, TimedOut
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

  /** The name of the tool or prompt, or the URI of the resource, that the request is about. */
  get name(): string | undefined {
    const { name, uri } = this.params;
    const found = name ?? uri;
    return typeof found === 'string' ? found : undefined;
  }

  /** The arguments of a tool or prompt, as the peer sent them. */
  get arguments(): Readonly<Record<string, unknown>> {
    const found = this.params['arguments'];
    return typeof found === 'object' && found !== null ? (found as Readonly<Record<string, unknown>>) : {};
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

  /** Who is behind the request, as far as that was verified; undefined where nobody is known, and over stdio. */
  get principal(): string | undefined {
    return this.#bridge.native.principal(this.#number) ?? undefined;
  }

  /** What the peer can do, as it told it. */
  get clientCapabilities(): Readonly<Record<string, unknown>> {
    return this.#described.clientCapabilities;
  }

  /** The settings with which the client declares an extension; undefined: it does not, and nothing of it may be used. */
  clientExtension(name: string): Readonly<Record<string, unknown>> | undefined {
    const { extensions } = this.clientCapabilities as { extensions?: Readonly<Record<string, object | undefined>> };
    return extensions?.[name] as Readonly<Record<string, unknown>> | undefined;
  }

  /** What the request says of the trace that it belongs to; what is no text counts as missing. */
  get traceContext(): TraceContext {
    const meta = this.meta ?? {};
    const said = TRACE.filter((name) => typeof meta[name] === 'string').map((name) => [name, meta[name]]);
    return Object.fromEntries(said) as TraceContext;
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
