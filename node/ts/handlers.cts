/** Handlers of requests for somebody else's listener: `node:http`, Express and Fastify, and whatever speaks `fetch`. */
import type { Bridge } from './bridge.cjs';
import { admit, Body, bodyBytes, type Exchange, type Head } from './carrier.cjs';
import { done } from './errors.cjs';
import { httpText } from './http.cjs';
import { native } from './loader.cjs';
import type { NativePart } from './native.cjs';
import { startCarried, type CarrierOptions, type Server } from './server.cjs';

/** Who is behind a request, as the middleware of the official SDKs leaves it. */
interface AuthInfo {
  readonly clientId?: unknown;
}

/** What is used of a request of `node:http` or `node:http2`. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: string[];
  /** As the middleware of the official SDKs leaves it. */
  readonly auth?: AuthInfo | undefined;
  /** As body parsers leave it. */
  readonly body?: unknown;
  readonly readableDidRead: boolean;
  readonly socket: { readonly localAddress?: string | undefined };
  on(event: string, listener: (...args: any[]) => void): unknown;
  off(event: string, listener: (...args: any[]) => void): unknown;
  pause(): unknown;
}

/** What is used of its response. */
export interface NodeResponse {
  readonly destroyed?: boolean;
  /** Of HTTP/1 alone. */
  shouldKeepAlive?: boolean;
  writeHead(status: number, headers: any): unknown;
  flushHeaders?(): void;
  write(chunk: Uint8Array): boolean;
  end(chunk: Uint8Array): unknown;
  destroy?(): unknown;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Serves one request. `parsedBody` is its body where that was read already: bytes, text, or what its JSON has become. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse, parsedBody?: unknown) => Promise<void>;

/** How requests of `node:http` are served. */
export interface NodeHandlerOptions extends CarrierOptions {
  /**
   * Who is behind a request, as far as that was verified: what one has, another can't use. `request.auth.clientId` when it is not
   * given, which is an OAuth client, and so the same for all of its users.
   */
  readonly principal?: (request: any) => string | undefined;
}

/** Beside a request of `fetch`. */
export interface FetchOptions {
  /** Its body, where that was read already. */
  readonly parsedBody?: unknown;
  /** Who is behind it, as the middleware of the official SDKs tells. */
  readonly authInfo?: AuthInfo | undefined;
}

/** Serves one request. */
export type FetchHandler = (request: Request, options?: FetchOptions) => Promise<Response>;

/** How requests of `fetch` are served. */
export interface FetchHandlerOptions extends CarrierOptions {
  /** As in `NodeHandlerOptions`; `options.authInfo.clientId` when it is not given. */
  readonly principal?: (request: Request, options: FetchOptions) => string | undefined;
}

/**
 * A handler for `node:http`, `node:http2` and Express, and for Fastify with `request.raw` and `reply.raw`. It serves at every path
 * that it gets, unless `path` names one, and starts the server with the first request. A body that a parser has read is taken from
 * `request.body`.
 *
 * @throws ConfigurationError for an option that is wrong
 */
export function toNodeHandler(server: Server, options: NodeHandlerOptions = {}): NodeHandler {
  const { principal = clientOf, ...rest } = options;
  const carrier = new Carrier(server, rest);
  return (request, response, parsedBody) => {
    const bridge = carrier.bridge(request.socket.localAddress);
    return serveNode(bridge, headOfNode(request, principal(request)), request, response, parsedBody);
  };
}

/** A server that is started with the first request. */
class Carrier {
  readonly #server: Server;
  readonly #options: Pick<CarrierOptions, 'debug' | 'taskStore'>;
  readonly #http: string;
  readonly #addresses = new Set<string>();
  #bridge: Bridge | undefined;

  constructor(server: Server, { debug, taskStore, ...http }: CarrierOptions) {
    this.#server = server;
    this.#options = { ...(debug === undefined ? {} : { debug }), ...(taskStore === undefined ? {} : { taskStore }) };
    this.#http = httpText({ path: null, ...http });
    done(native.checkHttp(this.#http));
  }

  /** `address`: of this machine, to which the request came. */
  bridge(address: string | undefined): Bridge {
    const bridge = (this.#bridge ??= startCarried(this.#server, this.#options, this.#http));
    if (address !== undefined && !this.#addresses.has(address) && this.#addresses.size < MOST_ADDRESSES) {
      this.#addresses.add(address);
      bridge.native.allowHost(address);
    }
    return bridge;
  }
}

/** Addresses of this machine that are remembered. 64: a machine has few. */
const MOST_ADDRESSES = 64;

/** @internal The OAuth client behind a request. */
export function clientOf({ auth }: { readonly auth?: AuthInfo | undefined }): string | undefined {
  return typeof auth?.clientId === 'string' ? auth.clientId : undefined;
}

/** @internal */
export function headOfNode({ method = 'GET', url = '/', rawHeaders }: NodeRequest, principal: string | undefined): Head {
  return { method, target: url, headers: fields(rawHeaders), principal };
}

/** HTTP/2 has the authority in place of `Host`. */
function fields(raw: string[]): string[] {
  if (raw[0]?.startsWith(':') !== true) return raw;
  return raw.map((field, at) => (at % 2 === 0 && field === ':authority' ? 'host' : field));
}

/** @internal What a drop-in for another package's transport does to requests and responses. */
export interface Hooks {
  /** The whole body, before it is served. */
  body?(bytes: Uint8Array): void;
  /** A response's first piece; gives what is sent in its place. */
  head?(part: NativePart): Promise<NativePart>;
  /** The response is over, or its client is gone. */
  over?(): void;
}

/** @internal Serves a request of `node:http`. */
export async function serveNode(
  bridge: Bridge,
  head: Head,
  request: NodeRequest,
  response: NodeResponse,
  parsedBody: unknown,
  hooks: Hooks = {},
): Promise<void> {
  const admitted = admit(bridge, head);
  if ('end' in admitted) return void respond(response, admitted);
  // Express hands over the next handler here.
  const given = typeof parsedBody === 'function' ? undefined : parsedBody;
  await carryNode(admitted, request, response, given, hooks);
}

async function carryNode(
  exchange: Exchange,
  request: NodeRequest,
  response: NodeResponse,
  given: unknown,
  hooks: Hooks,
): Promise<void> {
  let wake: (() => void) | undefined;
  const gone = (): void => {
    exchange.close();
    wake?.();
  };
  response.on('close', gone);
  try {
    if (response.destroyed === true) return;
    const { limit } = exchange;
    const body = limit === null ? new Uint8Array() : await nodeBody(request, given, limit);
    if (body === 'gone') return;
    if (body === 'long') {
      // What is left of it is not read.
      response.shouldKeepAlive = false;
      return void respond(response, exchange.tooLarge());
    }
    hooks.body?.(body);
    exchange.serve(body);
    for (;;) {
      const next = exchange.next();
      let part = next instanceof Promise ? await next : next;
      if (part.status !== undefined && hooks.head !== undefined) part = await hooks.head(part);
      const takesMore = respond(response, part);
      if (part.end) return;
      if (takesMore) continue;
      // Who is gone takes no more either.
      await new Promise<void>((resolve) => {
        wake = resolve;
        response.on('drain', resolve);
      });
      response.off('drain', wake as unknown as () => void);
    }
  } finally {
    response.off('close', gone);
    exchange.close();
    hooks.over?.();
  }
}

/** Reads a body; `long` where it is too long, and `gone` where its client is. */
function nodeBody(request: NodeRequest, given: unknown, limit: number): Promise<Uint8Array | 'long' | 'gone'> | Uint8Array | 'long' {
  const parsed = given ?? (request.readableDidRead ? request.body : undefined);
  if (parsed !== undefined) {
    const bytes = bodyBytes(parsed);
    return bytes.length > limit ? 'long' : bytes;
  }
  return new Promise((resolve) => {
    const body = new Body(limit);
    const over = (outcome: Uint8Array | 'long' | 'gone'): void => {
      request.off('data', data);
      request.off('end', end);
      request.off('error', lost);
      request.off('close', lost);
      resolve(outcome);
    };
    const data = (chunk: Uint8Array): void => {
      if (body.add(chunk)) return;
      request.pause();
      over('long');
    };
    const end = (): void => over(body.bytes());
    const lost = (): void => over('gone');
    request.on('data', data);
    request.on('end', end);
    request.on('error', lost);
    request.on('close', lost);
  });
}

const NOTHING = new Uint8Array();

/** Sends a piece of a response; false: the client has to read before it gets more. */
function respond(response: NodeResponse, { status, headers = [], body, end, aborted }: NativePart): boolean {
  if (response.destroyed === true) return true;
  if (aborted) {
    response.destroy?.();
    return true;
  }
  if (status !== undefined) {
    const length = end && status !== 204 ? ['content-length', String(body?.length ?? 0)] : [];
    response.writeHead(status, [...headers, ...length]);
    if (!end) response.flushHeaders?.();
  }
  if (end) response.end(body ?? NOTHING);
  else if (body !== undefined) return response.write(body);
  return true;
}

/**
 * A handler for whatever speaks `fetch`: Hono (`(c) => handler(c.req.raw)`), Deno and Bun, or a framework's route. As
 * `toNodeHandler`.
 *
 * @throws ConfigurationError for an option that is wrong
 */
export function toFetchHandler(server: Server, options: FetchHandlerOptions = {}): FetchHandler {
  const { principal = (_, { authInfo }) => clientOf({ auth: authInfo }), ...rest } = options;
  const carrier = new Carrier(server, rest);
  // Whatever stands there instead in a framework has none of these members.
  return async (request, beside = {}) => {
    const head = headOfFetch(request, principal(request, beside));
    return serveFetch(carrier.bridge(undefined), head, request, beside.parsedBody);
  };
}

/** @internal */
export function headOfFetch({ method, url, headers: given }: Request, principal: string | undefined): Head {
  const { host, pathname, search } = new URL(url);
  const headers = [...given].flat();
  // Who has made the request of bytes knows only its URL.
  if (!given.has('host')) headers.push('host', host);
  return { method, target: pathname + search, headers, principal };
}

/** @internal Serves a request of `fetch`. */
export async function serveFetch(
  bridge: Bridge,
  head: Head,
  request: Request,
  parsedBody: unknown,
  hooks: Hooks = {},
): Promise<Response> {
  const admitted = admit(bridge, head);
  if ('end' in admitted) return responseOf(admitted, admitted.body);
  const gone = (): void => admitted.close();
  request.signal.addEventListener('abort', gone);
  const over = (): void => {
    request.signal.removeEventListener('abort', gone);
    admitted.close();
    hooks.over?.();
  };
  try {
    const { limit } = admitted;
    const body = limit === null ? new Uint8Array() : await fetchBody(request, parsedBody, limit);
    const { signal } = request;
    if (signal.aborted) throw signal.reason;
    if (body === undefined) {
      const part = admitted.tooLarge();
      return over(), responseOf(part, part.body);
    }
    hooks.body?.(body);
    admitted.serve(body);
    let part = await admitted.next();
    if (part.status !== undefined && hooks.head !== undefined) part = await hooks.head(part);
    if (signal.aborted) throw signal.reason;
    if (!part.end) return responseOf(part, streamOf(admitted, over));
    over();
    return part.aborted ? new Response(null, { status: 503 }) : responseOf(part, part.body);
  } catch (error) {
    over();
    throw error;
  }
}

/** Reads a body; undefined where it is too long. */
async function fetchBody(request: Request, given: unknown, limit: number): Promise<Uint8Array | undefined> {
  if (given !== undefined) {
    const bytes = bodyBytes(given);
    return bytes.length > limit ? undefined : bytes;
  }
  if (request.bodyUsed) throw new TypeError("the request's body was read already: pass it on as parsedBody");
  if (request.body === null) return new Uint8Array();
  const body = new Body(limit);
  const reader = request.body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return body.bytes();
    if (!body.add(value)) {
      await reader.cancel();
      return undefined;
    }
  }
}

/** The rest of a response; each piece is made when it is asked for. */
function streamOf(exchange: Exchange, over: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { body, end, aborted } = await exchange.next();
        if (body !== undefined) controller.enqueue(body);
        if (!end) return;
        over();
        if (aborted) controller.error(new Error('the response was given up'));
        else controller.close();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
}

function responseOf({ status = 503, headers = [] }: NativePart, body: Uint8Array | ReadableStream | undefined): Response {
  const fields = new Headers();
  for (let at = 0; at + 1 < headers.length; at += 2) fields.append(headers[at] as string, headers[at + 1] as string);
  const empty = body === undefined || (body instanceof Uint8Array && body.length === 0);
  return new Response(empty ? null : (body as Uint8Array<ArrayBuffer> | ReadableStream), { status, headers: fields });
}
