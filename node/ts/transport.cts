/**
 * A transport of the official TypeScript SDKs with the engine behind it: the SDK's server sees requests that are known to
 * be well-formed, and the engine does the rest.
 *
 * Two manners. **Fronted**: the SDK's server speaks its own legacy revision, whatever the client speaks; the engine asks
 * it once who it is, answers `server/discover` and subscriptions itself, and puts each answer into the client's revision.
 * **Through**: whatever is more than framing is left to the SDK, which knows both eras itself.
 */
import { Bridge, type Sink } from './bridge.cjs';
import { ConfigurationError, MCPError, NoBackChannel, done, taken } from './errors.cjs';
import { codes, report, sendError } from './failures.cjs';
import { HeldCalls } from './held.cjs';
import { mark, stringify, stringifyAsIs } from './json.cjs';
import { endOnSignals, leaveWith, openBridge, type ServeOptions } from './lifetime.cjs';
import type { StandIn } from './standin.cjs';
import { version } from './version.cjs';

/** A JSON-RPC message, as both SDKs have it. */
export interface RpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>>; readonly [name: string]: unknown };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What a message that is sent belongs to. */
export interface SendOptions {
  readonly relatedRequestId?: number | string | undefined;
}

/**
 * How the transport works with what is connected to it. `detected`: a server of the second generation names its revisions
 * when it connects and is fronted; who does not is that package's `serveStdio`, which wants everything through.
 */
export type Manner = 'fronted' | 'detected';

/** What ends with the transport: the process (on signals too, with `run`), or nothing (`alone`). */
export type Ending = 'run' | 'exit' | 'alone';

/** A short way for tool calls: the end of the call, or undefined where it must take the long one. */
export type Lane = (request: RpcMessage, controller: () => AbortController) => Promise<unknown> | undefined;

/** How the server's requests reach clients. */
export interface TransportOptions extends ServeOptions {
  /**
   * Whether a request of the server's to a modern client, which takes none, becomes an input-required result: the call that asks
   * waits in this process for the client's retry. Else it fails.
   */
  readonly ask?: 'held' | undefined;
  /** Rates, calls at once, times that tools may take, and the audit log: what `docs/policy.md` has. */
  readonly policy?: Readonly<Record<string, unknown>> | undefined;
}

/** What is known of the server beside its messages. */
export interface Knowledge {
  /** Gives it requests without asking again whether they are some. */
  readonly entry?: ((request: RpcMessage) => void) | undefined;
  readonly lane?: Lane | undefined;
  readonly standIn?: StandIn | undefined;
}

interface Probe {
  readonly serverInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
}

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const LEGACY = '2025-11-25';

/** What the engine leaves to the SDK's server in both manners, although it could serve it. */
const OWN_STATE = ['initialize', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];

/** In the manner `through` the SDK says itself what it can do, and refuses what it can't. */
const EVERYTHING = {
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
};

const LISTS: Readonly<Record<string, 'tools' | 'prompts' | 'resources'>> = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resources',
};

/** The transport. Its members are those of the SDKs' `Transport` interface. */
export class EngineTransport implements Sink {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  // The SDKs' own types of messages, which are not known here.
  onmessage?: ((message: any, extra?: any) => void) | undefined;
  sessionId?: string;

  #fronted: boolean;
  readonly #ending: Ending;
  readonly #options: TransportOptions;
  /** The JSON text of how it is served over HTTP, where it is. */
  readonly #carried: string | undefined;
  /** What the SDK's server is told of the HTTP requests that its requests came by. */
  readonly #extras = new Map<number | string, object>();
  #bridge: Bridge | undefined;
  #started = false;
  /** Requests of our own to the SDK's server. */
  readonly #consulted = new Map<number | string, (answer: RpcMessage) => void>();
  #consultations = 0;
  /** The SDK's server has heard of the client. */
  #introduced = false;
  /** It is about to hear of a modern client; calls on the short way would be there before. */
  #introducing = false;
  #closed = false;
  readonly #numbers = new Map<number | string, number>();
  readonly #ids = new Map<number, number | string>();
  #knowledge: Knowledge = {};
  /** Calls on the short way whose signal was asked for, or undefined where it was not. */
  readonly #running = new Map<number, AbortController | undefined>();
  /** Requests of the SDK's server, by their ids there. */
  readonly #asked = new Map<number | string, number>();
  readonly #held: HeldCalls | undefined;

  constructor(manner: Manner, ending: Ending, options: TransportOptions = {}, carried?: string) {
    if (options.ask !== undefined && options.ask !== 'held') {
      throw new ConfigurationError(`ask: ${String(options.ask)} is not 'held'`);
    }
    if (options.ask === 'held') this.#held = new HeldCalls();
    this.#fronted = manner === 'fronted';
    this.#ending = ending;
    this.#options = options;
    this.#carried = carried;
  }

  /** @internal The native server; undefined before the start and after the end. */
  static bridgeOf(transport: EngineTransport): Bridge | undefined {
    return transport.#bridge;
  }

  /** @internal What the SDK's server is to be told of the HTTP request that brings its request `id`, until that is answered. */
  static tell(transport: EngineTransport, id: number | string, extra: object): void {
    transport.#extras.set(id, extra);
  }

  /** @internal Takes back what was told and not asked for. */
  static untell(transport: EngineTransport, id: number | string, extra: object): void {
    if (transport.#extras.get(id) === extra) transport.#extras.delete(id);
  }

  /** @internal The number of the SDK's request `id`. */
  static numberOf(transport: EngineTransport, id: number | string): number | undefined {
    return transport.#numbers.get(id);
  }

  /** @internal Says what is known of the server that is to be connected; what was said before holds on. */
  static inform(transport: EngineTransport, knowledge: Knowledge): void {
    transport.#knowledge = { ...transport.#knowledge, ...knowledge };
  }

  /** Called by servers of the second generation before `start`. */
  setSupportedProtocolVersions(_versions: string[]): void {
    this.#fronted = true;
  }

  async start(): Promise<void> {
    if (this.#started) throw new ConfigurationError('this transport was started already');
    this.#started = true;
    const bridge = new Bridge(this.#fronted ? fronted(await this.#probe()) : through(), this);
    if (this.#fronted) this.#standIn?.begin(bridge.native, (method, params) => this.#consult(method, params));
    const { policy } = this.#options;
    const more = {
      ...(policy === undefined ? {} : { policy: stringify(policy, 'policy') }),
      ...(this.#carried === undefined ? {} : { carried: this.#carried }),
    };
    openBridge(bridge, this.#options, this.#ending !== 'alone', more);
    this.#bridge = bridge;
    if (this.#ending === 'run') endOnSignals(bridge);
    const over = (): void => {
      this.#bridge = undefined;
      // A program that has closed the transport itself goes on.
      if (this.#closed) return;
      this.#closing();
      if (this.#ending !== 'alone') void leaveWith(bridge);
    };
    bridge.finished.then(over, over);
    // The client is heard already, so this costs it nothing that its own question would not.
    if (this.#fronted) await this.#standIn?.learn();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    if (this.#bridge !== undefined) done(this.#bridge.native.stop());
    this.#closing();
  }

  async send(message: RpcMessage, options: SendOptions = {}): Promise<void> {
    const { id, method } = message;
    if (method === undefined) this.#respond(message);
    else if (id === undefined) this.#notify(method, message.params, options.relatedRequestId);
    else this.#ask(id, method, message.params, options.relatedRequestId);
  }

  // What the engine hands over.

  delegated(number: number, method: string, params: unknown, id: number | string): void {
    if (method === 'initialize') this.#introduced = true;
    else if (!this.#introduced && this.#fronted) this.#introduce(number);
    const known = this.#fronted ? this.#standIn?.answer(method) : undefined;
    if (known === undefined) return this.#serve(number, method, params, id);
    if (typeof known === 'string') return this.#bridge?.answer(number, 'result', known);
    void known.then((text) => {
      if (text === undefined) this.#serve(number, method, params, id);
      else this.#bridge?.answer(number, 'result', text);
    });
  }

  cancelled(number: number, reason: string): void {
    const requestId = this.#ids.get(number);
    if (requestId === undefined) return;
    this.#forget(number, requestId);
    this.#bridge?.rounds.over(number, new NoBackChannel(reason));
    // The SDKs don't answer what was cancelled.
    this.#bridge?.answer(number, 'givenUp', '');
    if (this.#running.has(number)) {
      this.#running.get(number)?.abort(reason);
      this.#running.delete(number);
      return;
    }
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
  }

  notification(method: string, params: unknown): void {
    this.#deliver({ jsonrpc: '2.0', method, ...(params === null ? {} : { params }) });
  }

  taskBegun(): void {}

  initialized(): void {
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  watched(): void {}

  call(): void {}

  read(): void {}

  complete(): void {}

  // What the SDK's server sends.

  #respond({ id, result, error }: RpcMessage): void {
    const consulted = this.#consulted.get(id ?? '');
    if (consulted !== undefined) return consulted({ jsonrpc: '2.0', result, error } as RpcMessage);
    const number = id === undefined ? undefined : this.#numbers.get(id);
    if (number === undefined || this.#bridge === undefined) return;
    this.#forget(number, id as number | string);
    this.#bridge.rounds.ended(number);
    this.#standIn?.answers();
    if (error !== undefined) return sendError(this.#bridge, number, error.code, error.message, error.data);
    try {
      this.#bridge.answer(number, 'result', stringifyAsIs(result ?? {}, 'result'));
    } catch (failure) {
      sendError(this.#bridge, number, codes.internalError, (failure as Error).message);
    }
  }

  #notify(method: string, params: RpcMessage['params'], related: number | string | undefined): void {
    const bridge = this.#bridge;
    if (bridge === undefined) return;
    // The SDK counts on the order in which it sends.
    bridge.flush();
    if (method === 'notifications/cancelled') {
      const asked = this.#asked.get(params?.['requestId'] as number | string);
      if (asked !== undefined) taken(bridge.native.abandon(asked, params?.['reason'] as string | undefined));
      return;
    }
    if (this.#fronted) {
      const list = LISTS[method];
      if (list !== undefined) {
        this.#standIn?.changed(list);
        return done(bridge.native.notifyChanged(list));
      }
      if (method === 'notifications/resources/updated') return done(bridge.native.resourceUpdated(String(params?.['uri'])));
    }
    const text = params === undefined ? undefined : stringifyAsIs(params, 'params');
    const subscription = params?._meta?.[SUBSCRIPTION_ID] as number | string | undefined;
    const number = this.#numbers.get(related ?? subscription ?? '');
    if (number !== undefined) taken(bridge.native.notify(number, method, text));
    else taken(bridge.native.notifyStream(method, text));
  }

  #ask(id: number | string, method: string, params: unknown, related: number | string | undefined): void {
    const bridge = this.#bridge;
    const refuse = (error: unknown): void => {
      this.#asked.delete(id);
      const { code, message, data } = error as MCPError;
      const shown = { code: typeof code === 'number' ? code : codes.internalError, message, ...(data === undefined ? {} : { data }) };
      this.#deliver({ jsonrpc: '2.0', id, error: shown });
    };
    const accept = (result: unknown): void => {
      this.#asked.delete(id);
      this.#deliver({ jsonrpc: '2.0', id, result });
    };
    if (bridge === undefined) {
      // As an answer that comes later, as one from the client would.
      queueMicrotask(() => refuse(new ConfigurationError('the transport is closed')));
      return;
    }
    bridge.flush();
    const call = related === undefined ? undefined : this.#numbers.get(related);
    try {
      // The SDK has a clock of its own for it.
      const [key, answer] = bridge.request(call, method, params, 0);
      this.#asked.set(id, key);
      answer.then(accept, refuse);
    } catch (error) {
      if (this.#held === undefined) queueMicrotask(() => refuse(error));
      else this.#held.ask(bridge, call, method, params, error).then(accept, refuse);
    }
  }

  // Between them.

  get #standIn(): StandIn | undefined {
    return this.#knowledge.standIn;
  }

  /** Gives a request to the SDK's server. */
  #serve(number: number, method: string, params: unknown, id: number | string): void {
    // An id that a number can't hold would meet others.
    const known = typeof id === 'string' || Number.isSafeInteger(id) ? id : `ferromcp:${number}`;
    this.#numbers.set(known, number);
    this.#ids.set(number, known);
    const request = { jsonrpc: '2.0', id: known, method, ...(params === null ? {} : { params }) } as RpcMessage;
    if (this.#held === undefined) this.#enter(number, request);
    else this.#held.run(number, () => this.#enter(number, request));
  }

  #enter(number: number, request: RpcMessage): void {
    const { entry, lane } = this.#knowledge;
    const extra = this.#extras.get(request.id as number | string);
    // Both ways know nothing of what there is beside a request.
    if (extra !== undefined) return this.#deliver(request, this.onmessage, extra);
    const short = lane !== undefined && request.method === 'tools/call' && this.#fronted && !this.#introducing;
    if (!short || !this.#shortcut(number, request, lane)) this.#deliver(request, entry);
  }

  /** Calls the SDK's handler without its protocol layer; false where that is needed. */
  #shortcut(number: number, request: RpcMessage, lane: Lane): boolean {
    const controller = (): AbortController => {
      let found = this.#running.get(number);
      if (found === undefined) {
        found = new AbortController();
        // A call that is over has no entry any more, and nobody to abort it.
        if (this.#running.has(number)) this.#running.set(number, found);
      }
      return found;
    };
    this.#running.set(number, undefined);
    let ended: Promise<unknown> | undefined;
    try {
      ended = lane(request, controller);
    } catch (error) {
      ended = Promise.reject(error as Error);
    }
    if (ended === undefined) {
      this.#running.delete(number);
      return false;
    }
    const id = request.id as number | string;
    ended.then(
      (result) => {
        if (this.#running.delete(number)) this.#respond({ jsonrpc: '2.0', id, result });
      },
      (error: { code?: unknown; message?: string; data?: unknown }) => {
        if (!this.#running.delete(number)) return;
        const code = Number.isSafeInteger(error.code) ? (error.code as number) : codes.internalError;
        this.#respond({ jsonrpc: '2.0', id, error: { code, message: error.message ?? 'Internal error', data: error.data } });
      },
    );
    return true;
  }

  /** Asks the SDK's server who it is, in handshakes that no client sees. */
  async #probe(): Promise<Probe> {
    const clientInfo = { name: 'ferromcp', version: version() };
    const shake = (protocolVersion: string): Promise<unknown> => {
      return this.#consult('initialize', { protocolVersion, capabilities: {}, clientInfo });
    };
    try {
      await this.#standIn?.meet(shake);
      // The newest comes last, and is what the server goes on with.
      return (await shake(LEGACY)) as Probe;
    } catch (error) {
      throw new ConfigurationError('the server refuses its handshake', { cause: error });
    }
  }

  /** Asks the SDK's server something that no client has asked; gives its result, or throws its error. */
  #consult(method: string, params: object): Promise<unknown> {
    // No client can know of such an id.
    const id = `${mark}${this.#consultations++}`;
    return new Promise((resolve, reject) => {
      this.#consulted.set(id, ({ result, error }) => {
        this.#consulted.delete(id);
        if (error === undefined) resolve(result);
        else reject(new MCPError(error.code, error.message));
      });
      this.#deliver({ jsonrpc: '2.0', id, method, params });
    });
  }

  /** Tells the SDK's server of a modern client, which shakes no hands. */
  #introduce(number: number): void {
    this.#introduced = true;
    const known = this.#bridge?.describe(number);
    if (known === undefined) return;
    const { clientInfo, clientCapabilities } = known as Record<string, object | null>;
    const params = {
      protocolVersion: LEGACY,
      capabilities: clientCapabilities ?? {},
      clientInfo: clientInfo ?? { name: 'unknown', version: '0' },
    };
    // A server that refuses serves as one that has not heard of the client.
    this.#introducing = true;
    const met = (): void => {
      this.#introducing = false;
    };
    this.#consult('initialize', params).then(met, met);
    this.#deliver({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  #forget(number: number, id: number | string): void {
    this.#numbers.delete(id);
    this.#ids.delete(number);
    this.#extras.delete(id);
  }

  #deliver(message: object, entry = this.onmessage, extra?: object): void {
    try {
      entry?.(message as RpcMessage, extra);
    } catch (error) {
      if (this.onerror === undefined) report('Error in a handler of messages', error);
      else this.onerror(error as Error);
    }
  }

  #closing(): void {
    this.#closed = true;
    this.onclose?.();
  }
}

function through(): object {
  return {
    info: { name: 'ferromcp', version: version() },
    catalogue: 'delegated',
    capabilities: EVERYTHING,
    delegate: [...OWN_STATE, 'server/discover', 'subscriptions/listen'],
    identify: false,
    outputValidation: 'off',
  };
}

function fronted({ serverInfo, capabilities, instructions }: Probe): object {
  return {
    info: serverInfo,
    instructions,
    catalogue: 'delegated',
    capabilities,
    delegate: OWN_STATE,
    outputValidation: 'off',
  };
}
