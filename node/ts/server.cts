/** `Server`: what a user declares and runs. */
import type { AppView } from './apps.cjs';
import type { Bridge } from './bridge.cjs';
import type { LogLevel } from './context.cjs';
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
import { HttpServer, httpText, type HttpConfig, type HttpOptions } from './http.cjs';
import { integersOption, stringify, type Integers } from './json.cjs';
import { endOnSignals, leaveWith, openBridge, type ServeOptions } from './lifetime.cjs';
import { native } from './loader.cjs';
import type { Middleware } from './middleware.cjs';
import type { NativeStart } from './native.cjs';
import { Running, type MethodHandler, type NotificationHandler } from './running.cjs';
import type { AnySchema } from './schema.cjs';

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
  /** How tasks are kept: `ttlMs`, `maxTtlMs`, `pollMs` and what else `docs/tasks.md` has. */
  readonly tasks?: Readonly<Record<string, unknown>>;
  /** Rates, calls at once, times that tools may take, and the audit log: what `docs/policy.md` has. */
  readonly policy?: Readonly<Record<string, unknown>>;
  /** Merged over the engine's configuration: revisions, page size, cache hints, limits. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** How a server of this package is run on standard input and output. */
export interface RunOptions extends ServeOptions {
  /**
   * Where tasks are kept (`docs/tasks.md`). `memory`, when it is not given: they end with the server. `sqlite:PATH` is a file,
   * `redis://HOST:PORT/DATABASE` a server for many machines.
   */
  readonly taskStore?: string;
}

/** What does not depend on what messages travel on. */
type CommonOptions = Pick<RunOptions, 'debug' | 'taskStore'>;

/** How a server of this package is served over HTTP by a listener of ours (`docs/http.md`). */
export interface ListenOptions extends CommonOptions, HttpOptions {}

/** The same by somebody else's listener. `path` is null when it is not given: every path. */
export interface CarrierOptions extends CommonOptions, HttpConfig {}

/** @internal Adds what was declared without the methods of `Server`. */
export let addDeclared: (server: Server, item: Declared) => void;

/** @internal Starts a server whose requests are brought by `admit`; `carried`: the JSON text of how they are served. */
export let startCarried: (server: Server, options: CommonOptions, carried: string) => Bridge;

/** An MCP server: declare tools, resources and prompts, then `run()` it. */
export class Server {
  readonly name: string;
  readonly #config: Record<string, unknown>;
  readonly #integers: Integers;
  readonly #declared = new Map<string, Declared>();
  readonly #completions = new Map<string, CompletionHandler>();
  readonly #methods = new Map<string, MethodHandler>();
  readonly #notifications = new Map<string, NotificationHandler>();
  readonly #extensions = new Map<string, object>();
  readonly #layers: Middleware[] = [];
  /** Places of what is declared and not shown. */
  readonly #hidden = new Set<string>();
  #policy: string | undefined;
  #running: Running | undefined;

  static {
    addDeclared = (server, item) => server.#add(item);
    startCarried = (server, options, carried) => {
      const bridge = server.#start(options, false, { carried });
      const over = (): void => server.#over(bridge);
      bridge.finished.then(over, over);
      return bridge;
    };
  }

  constructor(name: string, options: ServerOptions = {}) {
    const { version = '0.0.0', title, description, websiteUrl, icons, instructions } = options;
    this.name = name;
    this.#integers = integersOption(options.integers);
    this.#policy = options.policy === undefined ? undefined : stringify(options.policy, 'policy');
    this.#config = {
      info: { name, version, title, description, websiteUrl, icons },
      outputValidation: options.outputValidation ?? 'strict',
      // Any function may log; the lists are declared by the engine when they hold something.
      capabilities: { logging: {} },
      instructions,
      tasks: options.tasks,
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
    this.#beforeStart(`method '${name}'`);
    this.#methods.set(name, handler);
    return this;
  }

  /**
   * Declares an extension with its settings. Clients of 2025-11-25 and earlier know no extensions: they are not told of it, and
   * its methods are there for them. Before the server runs.
   */
  extension(name: string, settings: object = {}): this {
    this.#beforeStart(`extension '${name}'`);
    this.#extensions.set(name, settings);
    return this;
  }

  /** Adds a page of MCP Apps, and declares the extension unless it is declared. Before the server runs. */
  appView(view: AppView): this {
    this.#beforeStart(`page '${view.uri}'`);
    const extension = native.appExtension();
    if (!this.#extensions.has(extension)) this.extension(extension);
    return this.#add(view.declared);
  }

  /** Tells a function of each notification of this method that the engine has no use for. */
  onNotification(method: string, handler: NotificationHandler): this {
    callable(handler, `notification '${method}'`);
    this.#notifications.set(method, handler);
    return this;
  }

  /** Puts something round each call of a function; what is added first is the outermost. Before the server runs. */
  use(middleware: Middleware): this {
    callable(middleware, 'use');
    this.#beforeStart('use');
    this.#layers.push(middleware);
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

  /** Shows a tool again that was hidden, and tells clients; false when there is none of this name. */
  enableTool(name: string): boolean {
    return this.#enable('tool', name, true);
  }

  /** Hides a tool: it is neither listed nor called until it is enabled. Calls that run go on. */
  disableTool(name: string): boolean {
    return this.#enable('tool', name, false);
  }

  /** As `enableTool`, for a resource or template. */
  enableResource(uri: string): boolean {
    return this.#enable('resource', uri, true) || this.#enable('template', uri, true);
  }

  /** As `disableTool`, for a resource or template. */
  disableResource(uri: string): boolean {
    return this.#enable('resource', uri, false) || this.#enable('template', uri, false);
  }

  /** As `enableTool`, for a prompt. */
  enablePrompt(name: string): boolean {
    return this.#enable('prompt', name, true);
  }

  /** As `disableTool`, for a prompt. */
  disablePrompt(name: string): boolean {
    return this.#enable('prompt', name, false);
  }

  /** Tells the peers that watch this resource that it has changed. */
  resourceUpdated(uri: string): void {
    if (this.#running !== undefined) done(this.#running.bridge.native.resourceUpdated(uri));
  }

  /**
   * Tells the client that was asked for a visit to a URL under this `elicitationId`, by a question or by an error -32042, that
   * the visit is complete (2025-11-25 `client/elicitation`, "Completion Notifications for URL Mode Elicitation"). The call that
   * asked may be over. False: no client was asked under it, or it was told before; a modern client is never told.
   */
  completeElicitation(elicitationId: string): boolean {
    return this.#running !== undefined && taken(this.#running.bridge.native.completeElicitation(elicitationId));
  }

  /**
   * Takes new keys for what goes through modern clients that are asked, also while the server is running: each 32 bytes, or
   * their base64 text. The first seals, all of them open. Processes that share the keys serve each other's retries; without any
   * this process makes one of its own.
   */
  setStateKeys(keys: readonly (string | Uint8Array)[]): void {
    const texts = keys.map(keyText);
    if (this.#running !== undefined) done(this.#running.bridge.native.setStateKeys(texts));
    this.#config['stateKeys'] = texts;
  }

  /** A log message that belongs to no request; only legacy peers can get one. */
  log(level: LogLevel, data: unknown, logger?: string): boolean {
    if (this.#running === undefined) return false;
    return taken(this.#running.bridge.native.logStream(level, stringify(data, 'data'), logger));
  }

  /** Takes the policy of a server that was made without one. Before the server runs. */
  setPolicy(policy: Readonly<Record<string, unknown>>): this {
    this.#beforeStart('policy');
    if (this.#policy !== undefined) throw new ConfigurationError(`server '${this.name}' has a policy of its own`);
    this.#policy = stringify(policy, 'policy');
    return this;
  }

  /**
   * Serves on standard input and output until the input ends and what is in flight is answered; then **ends the
   * process**, with `process.exitCode` or 0, whatever timers and connections are alive. SIGTERM, SIGINT and SIGHUP end it
   * in good order with 143, 130 and 129, unless the program listens for them itself.
   */
  async run(options?: RunOptions): Promise<void>;
  async run(transport: 'stdio', options?: RunOptions): Promise<void>;
  /** As `run()`, over HTTP: `run('http', { host: '127.0.0.1', port: 8000, path: '/mcp' })`. Serves until a signal ends it. */
  async run(transport: 'http', options?: ListenOptions): Promise<void>;
  async run(first: 'stdio' | 'http' | RunOptions = {}, second: RunOptions | ListenOptions = {}): Promise<void> {
    const bridge = this.#open(first, second, true);
    endOnSignals(bridge);
    await leaveWith(bridge);
  }

  /** As `run()`, but returns when the server is over, and leaves signals and the process to the program. */
  async serve(options?: RunOptions): Promise<void>;
  async serve(transport: 'stdio', options?: RunOptions): Promise<void>;
  async serve(transport: 'http', options?: ListenOptions): Promise<void>;
  async serve(first: 'stdio' | 'http' | RunOptions = {}, second: RunOptions | ListenOptions = {}): Promise<void> {
    const bridge = this.#open(first, second, false);
    try {
      await bridge.finished;
    } finally {
      this.#over(bridge);
    }
  }

  /**
   * As `serve('http', options)`, but returns when the server listens.
   *
   * @throws ConfigurationError for an option that is wrong, SystemError where the address can't be listened on
   */
  async listen(options: ListenOptions = {}): Promise<HttpServer> {
    const bridge = this.#open('http', options, false);
    const over = (): void => this.#over(bridge);
    const finished = bridge.finished.finally(over);
    // Whoever waits for it sees the error; nobody has to.
    finished.catch(() => {});
    return new HttpServer(bridge, finished, options.path);
  }

  /** Ends a server that is running: what is answered is sent, calls that run are told to stop and not waited for. */
  stop(): void {
    if (this.#running !== undefined) done(this.#running.bridge.native.stop());
  }

  #beforeStart(what: string): void {
    if (this.#running !== undefined) throw new ConfigurationError(`${what}: the server is running already`);
  }

  #open(first: 'stdio' | 'http' | RunOptions, second: RunOptions | ListenOptions, owned: boolean): Bridge {
    if (typeof first === 'object') return this.#start(first, owned);
    if (first === 'stdio') return this.#start(second as RunOptions, owned);
    if (first !== 'http') throw new ConfigurationError(`transport: '${String(first)}' is neither 'stdio' nor 'http'`);
    const { debug, taskStore, ...http } = second as ListenOptions;
    return this.#start({ ...(debug === undefined ? {} : { debug }), ...(taskStore === undefined ? {} : { taskStore }) }, owned, {
      http: httpText(http),
    });
  }

  #over(bridge: Bridge): void {
    if (this.#running?.bridge === bridge) this.#running = undefined;
  }

  #start({ taskStore, ...options }: RunOptions, owned: boolean, carrier: NativeStart = {}): Bridge {
    this.#beforeStart(`server '${this.name}'`);
    const config = { ...this.#config };
    if (this.#completions.size > 0) config['capabilities'] = { completions: {}, ...(config['capabilities'] as object) };
    if (this.#extensions.size > 0) {
      const capabilities = config['capabilities'] as { readonly extensions?: object };
      const extensions = { ...capabilities.extensions, ...Object.fromEntries(this.#extensions) };
      config['capabilities'] = { ...capabilities, extensions };
    }
    // The engine looks in the first list for methods that it knows, and in the second for others.
    if (this.#methods.size > 0) config['delegate'] = config['extraMethods'] = [...this.#methods.keys()];
    const running = new Running(config, this.#integers, {
      completions: this.#completions,
      methods: this.#methods,
      notifications: this.#notifications,
      layers: [...this.#layers],
    });
    for (const [place, item] of this.#declared) {
      running.add(item);
      if (this.#hidden.has(place)) taken(running.bridge.native.enable(item.kind, item.key, false));
    }
    const policy = this.#policy;
    const kept = taskStore === undefined ? {} : { taskStore };
    const more = { ...carrier, ...kept, ...(policy === undefined ? {} : { policy }) };
    openBridge(running.bridge, options, owned, more);
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
    const place = `${kind}\n${key}`;
    const known = this.#declared.delete(place);
    this.#hidden.delete(place);
    if (known && this.#running !== undefined) taken(this.#running.bridge.native.remove(kind, key));
    return known;
  }

  #enable(kind: Declared['kind'], key: string, shown: boolean): boolean {
    const place = `${kind}\n${key}`;
    if (!this.#declared.has(place)) return false;
    if (shown) this.#hidden.delete(place);
    else this.#hidden.add(place);
    if (this.#running !== undefined) taken(this.#running.bridge.native.enable(kind, key, shown));
    return true;
  }
}

/** The base64 text of a key for `requestState`. */
function keyText(key: string | Uint8Array): string {
  return typeof key === 'string' ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('base64');
}
