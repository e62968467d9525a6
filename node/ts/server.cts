/** `Server`: what a user declares and runs. */
import { Bridge, type Sink } from './bridge.cjs';
import { Context, type LogLevel } from './context.cjs';
import {
  callable,
  declarePrompt,
  declareResource,
  declareTool,
  type CompletionHandler,
  type Declared,
  type Icon,
  type PromptArguments,
  type PromptHandler,
  type PromptOptions,
  type ResourceHandler,
  type ResourceOptions,
  type ToolHandler,
  type ToolOptions,
} from './declare.cjs';
import { ConfigurationError, done, taken } from './errors.cjs';
import { sendFailure, sendInvalid, type HandlerKind } from './failures.cjs';
import { integersOption, revive, stringify, type Integers } from './json.cjs';
import { endOnSignals, leaveWith, openBridge, type ServeOptions } from './lifetime.cjs';
import { sendCompletion, sendPrompt, sendResource, sendTool } from './results.cjs';
import { described, type AnySchema, type StandardResult } from './schema.cjs';

/** Who a server is, and how it is served. */
export interface ServerOptions {
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
  /** For the model: how to use this server. */
  readonly instructions?: string;
  /** What happens to a result that does not fit its tool's output schema. `strict`: the client gets an error. */
  readonly outputValidation?: 'strict' | 'warn' | 'off';
  /** What integers beyond 2^53 in a tool's arguments become. `bigint` when it is not given. */
  readonly integers?: Integers;
  /** Merged over the engine's configuration: revisions, page size, cache hints, limits. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A function that serves a whole method. */
export type MethodHandler = (params: Readonly<Record<string, unknown>>, context: Context) => unknown;

/** @internal Adds what was declared without the methods of `Server`. */
export let addDeclared: (server: Server, item: Declared) => void;

/** An MCP server: declare tools, resources and prompts, then `run()` it. */
export class Server {
  readonly name: string;
  readonly #config: Record<string, unknown>;
  readonly #integers: Integers;
  readonly #declared = new Map<string, Declared>();
  readonly #completions = new Map<string, CompletionHandler>();
  readonly #methods = new Map<string, MethodHandler>();
  #running: Running | undefined;

  static {
    addDeclared = (server, item) => server.#add(item);
  }

  constructor(name: string, options: ServerOptions = {}) {
    const { version = '0.0.0', title, description, websiteUrl, icons, instructions } = options;
    this.name = name;
    this.#integers = integersOption(options.integers);
    this.#config = {
      info: { name, version, title, description, websiteUrl, icons },
      outputValidation: options.outputValidation ?? 'strict',
      // Any function may log; the lists are declared by the engine when they hold something.
      capabilities: { logging: {} },
      instructions,
      ...options.config,
    };
  }

  /** Serves a function as a tool, also while the server is running. */
  tool<const Input extends AnySchema | undefined = undefined>(
    name: string,
    options: ToolOptions<Input>,
    handler: ToolHandler<Input>,
  ): this {
    return this.#add(declareTool(name, options, handler));
  }

  /** Serves a function's value under a URI, or under every URI of a template such as `mem://{id}`. */
  resource<const Uri extends string>(uri: Uri, options: ResourceOptions, handler: ResourceHandler<Uri>): this {
    return this.#add(declareResource(uri, options, handler));
  }

  /** Serves a function as a prompt. */
  prompt<const Args extends PromptArguments | undefined = undefined>(
    name: string,
    options: PromptOptions<Args>,
    handler: PromptHandler<Args>,
  ): this {
    return this.#add(declarePrompt(name, options, handler));
  }

  /** Completes one argument of a prompt (by its name) or of a resource template (by its URI template). */
  completion(ref: string, argument: string, handler: CompletionHandler): this {
    callable(handler, `completion of '${argument}' in '${ref}'`);
    this.#completions.set(`${ref}\n${argument}`, handler);
    return this;
  }

  /**
   * Serves a whole method: one of the specification in the engine's place, or one of an extension. `handler` takes the
   * parameters and gives the result object. Before the server runs.
   */
  method(name: string, handler: MethodHandler): this {
    callable(handler, `method '${name}'`);
    if (this.#running !== undefined) throw new ConfigurationError(`method '${name}': the server is running already`);
    this.#methods.set(name, handler);
    return this;
  }

  /** Stops serving a tool; false when there is none of this name. */
  removeTool(name: string): boolean {
    return this.#remove('tool', name);
  }

  /** Stops serving a resource or template; false when there is none under this URI. */
  removeResource(uri: string): boolean {
    return this.#remove('resource', uri) || this.#remove('template', uri);
  }

  /** Stops serving a prompt; false when there is none of this name. */
  removePrompt(name: string): boolean {
    return this.#remove('prompt', name);
  }

  /** Tells the peers that watch this resource that it has changed. */
  resourceUpdated(uri: string): void {
    if (this.#running !== undefined) done(this.#running.bridge.native.resourceUpdated(uri));
  }

  /** A log message that belongs to no request; only legacy peers can get one. */
  log(level: LogLevel, data: unknown, logger?: string): boolean {
    if (this.#running === undefined) return false;
    return taken(this.#running.bridge.native.logStream(level, stringify(data, 'data'), logger));
  }

  /**
   * Serves on standard input and output until the input ends and what is in flight is answered; then **ends the
   * process**, with `process.exitCode` or 0, whatever timers and connections are alive. SIGTERM, SIGINT and SIGHUP end it
   * in good order with 143, 130 and 129, unless the program listens for them itself.
   */
  async run(options: ServeOptions = {}): Promise<void> {
    const bridge = this.#start(options, true);
    endOnSignals(bridge);
    await leaveWith(bridge);
  }

  /** As `run()`, but returns when the server is over, and leaves signals and the process to the program. */
  async serve(options: ServeOptions = {}): Promise<void> {
    const bridge = this.#start(options, false);
    try {
      await bridge.finished;
    } finally {
      this.#running = undefined;
    }
  }

  /** Ends a server that is running: what is answered is sent, calls that run are told to stop and not waited for. */
  stop(): void {
    if (this.#running !== undefined) done(this.#running.bridge.native.stop());
  }

  #start(options: ServeOptions, owned: boolean): Bridge {
    if (this.#running !== undefined) throw new ConfigurationError(`server '${this.name}' is running already`);
    const config = { ...this.#config };
    if (this.#completions.size > 0) config['capabilities'] = { completions: {}, ...(config['capabilities'] as object) };
    // The engine looks in the first list for methods that it knows, and in the second for others.
    if (this.#methods.size > 0) config['delegate'] = config['extraMethods'] = [...this.#methods.keys()];
    const running = new Running(config, this.#integers, this.#completions, this.#methods);
    for (const item of this.#declared.values()) running.add(item);
    openBridge(running.bridge, options, owned);
    this.#running = running;
    return running.bridge;
  }

  #add(item: Declared): this {
    const place = `${item.kind}\n${item.key}`;
    if (this.#declared.has(place)) throw new ConfigurationError(`${item.kind} '${item.key}' is declared already`);
    this.#running?.add(item);
    this.#declared.set(place, item);
    return this;
  }

  #remove(kind: Declared['kind'], key: string): boolean {
    const known = this.#declared.delete(`${kind}\n${key}`);
    if (known && this.#running !== undefined) taken(this.#running.bridge.native.remove(kind, key));
    return known;
  }
}

/** A server at work: finds the function of each call, runs it, and sends what came of it. */
class Running implements Sink {
  readonly bridge: Bridge;
  readonly #integers: Integers;
  readonly #byTag: Declared[] = [];
  readonly #completions: ReadonlyMap<string, CompletionHandler>;
  readonly #methods: ReadonlyMap<string, MethodHandler>;
  /** Calls whose function has given the event loop back. */
  readonly #contexts = new Map<number, Context>();

  constructor(
    config: unknown,
    integers: Integers,
    completions: ReadonlyMap<string, CompletionHandler>,
    methods: ReadonlyMap<string, MethodHandler>,
  ) {
    this.bridge = new Bridge(config, this, integers);
    this.#integers = integers;
    this.#completions = completions;
    this.#methods = methods;
  }

  add(item: Declared): void {
    done(this.bridge.native.add(item.kind, item.definition, this.#byTag.length));
    this.#byTag.push(item);
  }

  call(number: number, tag: number, args: unknown, marked: boolean): void {
    const item = this.#byTag[tag] as Declared;
    if (marked && !this.#revive(number, item.kind, item.key, args)) return;
    this.#serve(number, item, item.key, args);
  }

  read(number: number, tag: number, variables: Record<string, string>, uri: string): void {
    this.#serve(number, this.#byTag[tag] as Declared, uri, variables);
  }

  complete(number: number, tag: number, argument: string, value: string, params: unknown): void {
    const { key } = this.#byTag[tag] as Declared;
    const handler = this.#completions.get(`${key}\n${argument}`);
    if (handler === undefined) return sendCompletion(this.bridge, number, []);
    const { context } = params as { context?: { arguments?: Record<string, string> } };
    const run = (ctx: Context): unknown => handler(value, context?.arguments ?? {}, ctx);
    this.#run(number, 'completion', `${key}/${argument}`, run, (result) => sendCompletion(this.bridge, number, result));
  }

  delegated(number: number, method: string, params: unknown, _id: number | string, marked: boolean): void {
    if (marked && !this.#revive(number, 'method', method, params)) return;
    const handler = this.#methods.get(method) as MethodHandler;
    const run = (context: Context): unknown => handler((params ?? {}) as Record<string, unknown>, context);
    this.#run(number, 'method', method, run, (result) => {
      this.bridge.answer(number, 'result', stringify(result ?? {}, 'result'));
    });
  }

  cancelled(number: number, reason: string): void {
    const context = this.#contexts.get(number);
    if (context !== undefined) Context.abort(context, reason);
  }

  notification(): void {}

  initialized(): void {}

  watched(): void {}

  /** Puts large integers into arguments; false when they are refused, and the call is answered. */
  #revive(number: number, kind: HandlerKind, name: string, args: unknown): boolean {
    try {
      revive(args, this.#integers);
      return true;
    } catch (error) {
      sendInvalid(this.bridge, number, kind, name, (error as Error).message);
      return false;
    }
  }

  #serve(number: number, item: Declared, uri: string, args: unknown): void {
    const { bridge } = this;
    const send = (value: unknown): void => {
      if (item.kind === 'tool') sendTool(bridge, number, value, item.structured);
      else if (item.kind === 'prompt') sendPrompt(bridge, number, value);
      else sendResource(bridge, number, value, uri, item.mimeType);
    };
    const { handler, validate } = item;
    if (validate === undefined) {
      this.#run(number, item.kind, item.key, (context) => handler(args as never, context), send);
      return;
    }
    const enter = (checked: StandardResult<unknown>, context: Context): unknown => {
      if (checked.issues !== undefined) throw new Invalid(described(checked.issues));
      return handler(checked.value as never, context);
    };
    const run = (context: Context): unknown => {
      const checked = validate(args);
      return checked instanceof Promise ? checked.then((result) => enter(result, context)) : enter(checked, context);
    };
    this.#run(number, item.kind, item.key, run, send);
  }

  #run(
    number: number,
    kind: HandlerKind,
    name: string,
    run: (context: Context) => unknown,
    send: (value: unknown) => void,
  ): void {
    const context = new Context(this.bridge, number);
    const fail = (error: unknown): void => {
      this.#contexts.delete(number);
      if (error instanceof Invalid) sendInvalid(this.bridge, number, kind, name, error.message);
      else sendFailure(this.bridge, number, kind, name, error);
    };
    try {
      const value = run(context);
      if (!isThenable(value)) return send(value);
      this.#contexts.set(number, context);
      value
        .then((result) => {
          this.#contexts.delete(number);
          send(result);
        })
        .then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  }
}

/** Arguments that their own schema refuses. */
class Invalid extends Error {}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
