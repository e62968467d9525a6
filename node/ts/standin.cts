/**
 * What an `McpServer` of an official SDK answers to its lists and to the handshake, known before it is asked.
 *
 * The SDK makes each of these answers from what was registered, so it is the same until that changes. It is taken from the
 * SDK itself once, and left with the engine, which sends it where a function holds JavaScript's thread
 * (`src/stand_in.rs`); else JavaScript is asked, which looks whether the registrations are still what they were. That holds
 * for the SDK's own handlers alone, so a handler has to show first that it is one: a program may have put another in its
 * place. A registration that is changed by assignment, of which the SDK tells nobody, is noticed when JavaScript is asked.
 */
import { innerOf, type Handler, type Inner } from './compared.cjs';
import { stringifyAsIs } from './json.cjs';
import { native } from './loader.cjs';
import type { NativeServer } from './native.cjs';
import type { RpcMessage } from './transport.cjs';

/** Asks the SDK's server as a client would, and gives its result. */
export type Consult = (method: string, params: object) => Promise<unknown>;

type Registries = Readonly<Record<string, object>>;

interface Registered {
  readonly resourceTemplate?: { readonly listCallback?: unknown };
}

interface ListKind {
  /** What notifications call it. */
  readonly list: 'tools' | 'prompts' | 'resources';
  /** The result's member. */
  readonly member: string;
  /** Where the SDK has its registrations. */
  readonly registries: readonly string[];
}

const LISTS: Readonly<Record<string, ListKind>> = {
  'tools/list': { list: 'tools', member: 'tools', registries: ['_registeredTools'] },
  'prompts/list': { list: 'prompts', member: 'prompts', registries: ['_registeredPrompts'] },
  'resources/list': {
    list: 'resources',
    member: 'resources',
    registries: ['_registeredResources', '_registeredResourceTemplates'],
  },
  'resources/templates/list': {
    list: 'resources',
    member: 'resourceTemplates',
    registries: ['_registeredResourceTemplates'],
  },
};

interface Known {
  readonly text: string;
  readonly handler: Handler;
  readonly registrations: readonly unknown[];
}

/** What is known of a server's answers; undefined for a server whose inside is not known. */
export function standInOf(server: object): StandIn | undefined {
  const inner = innerOf(server);
  return typeof inner === 'string' ? undefined : new StandIn(inner, server as Registries);
}

/** What is known of one server's answers. */
export class StandIn {
  readonly #inner: Inner;
  readonly #registries: Registries;
  #native: NativeServer | undefined;
  #consult: Consult | undefined;
  #handshakes: [revision: string, text: string][] = [];
  readonly #known = new Map<string, Known>();
  /** Handlers, and whether they are the SDK's own. */
  readonly #own = new WeakMap<Handler, Promise<boolean>>();
  readonly #learning = new Map<string, Promise<string | undefined>>();

  constructor(inner: Inner, registries: Registries) {
    this.#inner = inner;
    this.#registries = registries;
  }

  /** Learns how the server answers handshakes. Before a client is heard. */
  async meet(shake: (revision: string) => Promise<unknown>): Promise<void> {
    this.#handshakes = [];
    if (!(await this.#shakesAsMade())) return;
    for (const revision of native.legacyRevisions()) {
      this.#handshakes.push([revision, stringifyAsIs(await shake(revision), 'result')]);
    }
  }

  /** The engine is about to serve. */
  begin(server: NativeServer, consult: Consult): void {
    this.#native = server;
    this.#consult = consult;
    for (const [revision, text] of this.#handshakes) server.standIn('initialize', revision, text);
  }

  /** Learns all lists. */
  async learn(): Promise<void> {
    await Promise.all(Object.keys(LISTS).map((method) => this.answer(method)));
  }

  /** The text of a method's result; undefined where the server has to be asked. */
  answer(method: string): string | Promise<string | undefined> | undefined {
    const kind = LISTS[method];
    const handler = this.#inner._requestHandlers.get(method);
    if (kind === undefined || handler === undefined) return undefined;
    const known = this.#known.get(method);
    if (known?.handler === handler && same(known.registrations, this.#registrations(kind))) return known.text;
    this.#forget(method);
    let learning = this.#learning.get(method);
    if (learning === undefined) {
      learning = this.#learn(method, kind, handler).finally(() => this.#learning.delete(method));
      this.#learning.set(method, learning);
    }
    return learning;
  }

  /** The server tells that a list has changed. */
  changed(list: 'tools' | 'prompts' | 'resources'): void {
    for (const [method, kind] of Object.entries(LISTS)) if (kind.list === list) this.#forget(method);
  }

  /** The server answers something: what ran may have put other handlers in their places. */
  answers(): void {
    for (const [method, { handler }] of this.#known) {
      if (this.#inner._requestHandlers.get(method) !== handler) this.#forget(method);
    }
  }

  #forget(method: string): void {
    if (this.#known.delete(method)) this.#native?.standIn(method, null, null);
  }

  async #learn(method: string, kind: ListKind, handler: Handler): Promise<string | undefined> {
    let own = this.#own.get(handler);
    if (own === undefined) {
      own = this.#readsNothingElse(method, kind, handler);
      this.#own.set(handler, own);
    }
    if (!(await own)) return undefined;
    const registrations = this.#registrations(kind);
    if (registrations === undefined) return undefined;
    let text: string;
    try {
      text = stringifyAsIs(await (this.#consult as Consult)(method, {}), 'result');
    } catch {
      // Whoever asks is told by the server itself.
      return undefined;
    }
    if (this.#inner._requestHandlers.get(method) === handler && same(registrations, this.#registrations(kind))) {
      this.#known.set(method, { text, handler, registrations });
      this.#native?.standIn(method, null, text);
    }
    return text;
  }

  /** All that a list is made of; undefined where it is made anew for each request. */
  #registrations(kind: ListKind): unknown[] | undefined {
    const found: unknown[] = [];
    try {
      for (const name of kind.registries) {
        for (const [key, entry] of Object.entries(this.#registries[name] as Record<string, Registered>)) {
          if (kind.member === 'resources' && entry.resourceTemplate?.listCallback !== undefined) return undefined;
          found.push(key);
          // Plain data may be changed where it lies.
          for (const value of Object.values(entry)) found.push(value, isPlain(value) ? JSON.stringify(value) : undefined);
        }
      }
    } catch {
      // Something that has no JSON form.
      return undefined;
    }
    return found;
  }

  /** Whether a handler of a list reads the registrations, and nothing of who asks. */
  async #readsNothingElse(method: string, { member, registries }: ListKind, handler: Handler): Promise<boolean> {
    const usual = (name: string): boolean => {
      const descriptor = Object.getOwnPropertyDescriptor(this.#registries, name);
      return descriptor?.writable === true && descriptor.configurable === true;
    };
    if (!registries.every(usual)) return false;
    const read = new Set<string>();
    const spied = spy(
      this.#registries,
      registries.map((name) => [name, () => (read.add(name), {})]),
      (context) => handler({ jsonrpc: '2.0', id: 0, method, params: {} }, context),
    );
    const { [member]: list } = ((await spied) ?? {}) as Record<string, unknown>;
    return Array.isArray(list) && list.length === 0 && read.size === registries.length;
  }

  /** Whether the handshake is the SDK's own. */
  async #shakesAsMade(): Promise<boolean> {
    const inner = this.#inner;
    const handler = inner._requestHandlers.get('initialize');
    if (handler === undefined || typeof inner._oninitialize !== 'function' || Object.hasOwn(inner, '_oninitialize')) {
      return false;
    }
    const result = {};
    const [protocolVersion] = native.legacyRevisions();
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: '', version: '' } };
    const spied = spy(inner, [['_oninitialize', () => () => result]], (context) => {
      return handler({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, context);
    });
    return (await spied) === result;
  }
}

/**
 * Calls `body` while some members of `target` give something else, and they alone: before it returns they are as they were.
 * The result is undefined where `body` fails or looks at the context that it is given.
 */
function spy(
  target: object,
  members: readonly (readonly [name: string, get: () => unknown])[],
  body: (context: object) => Promise<unknown>,
): Promise<unknown> {
  let looked = false;
  const look = (): undefined => {
    looked = true;
  };
  const context = new Proxy({}, { get: look, has: () => (look(), false), ownKeys: () => (look(), []) });
  const before = members.map(([name]) => Object.getOwnPropertyDescriptor(target, name));
  let outcome: Promise<unknown>;
  for (const [name, get] of members) Object.defineProperty(target, name, { get, configurable: true, enumerable: true });
  try {
    outcome = Promise.resolve(body(context));
  } catch (error) {
    outcome = Promise.reject(error as Error);
  } finally {
    for (const [at, [name]] of members.entries()) {
      const descriptor = before[at];
      if (descriptor === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, descriptor);
    }
  }
  return outcome.then(
    (result) => (looked ? undefined : result),
    () => undefined,
  );
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

function same(one: readonly unknown[], other: readonly unknown[] | undefined): boolean {
  return one.length === other?.length && one.every((value, at) => Object.is(value, other[at]));
}
