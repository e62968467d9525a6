/**
 * The transports over HTTP of the official SDKs with the engine behind them: one transport, and one server of the SDK, for each
 * session, or for each request where there are no sessions. The engine decides what is served; the program chooses the session's
 * id, is told of it, and finds the transport of a request by it, as ever.
 */
import type { Bridge } from './bridge.cjs';
import { ConfigurationError, taken } from './errors.cjs';
import {
  clientOf,
  headOfFetch,
  headOfNode,
  serveFetch,
  serveNode,
  type FetchOptions,
  type Hooks,
  type NodeRequest,
  type NodeResponse,
} from './handlers.cjs';
import { httpText } from './http.cjs';
import type { NativePart } from './native.cjs';
import { EngineTransport, type Manner } from './transport.cjs';

/** The options of the SDK's class. */
export interface StreamableHTTPServerTransportOptions {
  /** Makes the id of the session. Without it there are no sessions, and each request has a transport of its own. */
  readonly sessionIdGenerator?: (() => string) | undefined;
  /** Told of the session's id, before its client is. */
  readonly onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined;
  /** Told that the client has deleted the session. */
  readonly onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined;
  /** Whether every request is answered as one JSON object. */
  readonly enableJsonResponse?: boolean | undefined;
  /** With `enableDnsRebindingProtection`: names that `Host` may have besides the local ones, with any port. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** With `enableDnsRebindingProtection`: origins of web pages that may use the server besides the local ones. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly enableDnsRebindingProtection?: boolean | undefined;
  /** Milliseconds that a client is told to wait before it opens a stream again. */
  readonly retryInterval?: number | undefined;
  /** Milliseconds of silence after which a stream gets a comment; below 1: never. */
  readonly keepAliveMs?: number | undefined;
  /** Bytes of one request's body, also of one that was parsed before. */
  readonly maxRequestBodySize?: number | undefined;
  /** Not supported: the engine keeps the events of a session itself, in memory. */
  readonly eventStore?: undefined;
}

/** What both transports are. */
abstract class HttpTransport extends EngineTransport {
  readonly #options: StreamableHTTPServerTransportOptions;
  readonly #dropsOrigin: boolean;
  /** What the engine calls the session. */
  #session: string | undefined;
  #started = false;
  #used = false;

  constructor(manner: Manner, options: StreamableHTTPServerTransportOptions) {
    super(manner, 'alone', {}, configOf(options));
    this.#options = options;
    const { enableDnsRebindingProtection: guarded, allowedOrigins } = options;
    // Without protection pages are the business of what stands in front, and so are the headers that let them in.
    this.#dropsOrigin = guarded !== true || (allowedOrigins ?? []).length === 0;
  }

  override async start(): Promise<void> {
    this.#started = true;
    await super.start();
  }

  /** Ends the connection of a request's stream, and not the request: its client comes back for the rest. */
  closeSSEStream(requestId: number | string): void {
    const [bridge, number] = [EngineTransport.bridgeOf(this), EngineTransport.numberOf(this, requestId)];
    if (bridge !== undefined && number !== undefined) taken(bridge.native.closeSseStream(number));
  }

  /** Not supported: the GET stream of a session is its client's to end. */
  closeStandaloneSSEStream(): void {
    throw new ConfigurationError('closeStandaloneSSEStream: the GET stream of a session is its client\'s to end');
  }

  /** The native server; undefined when the session is over. */
  protected enter(): Bridge | undefined {
    if (!this.#started) throw new ConfigurationError('no server is connected to this transport');
    if (this.#options.sessionIdGenerator === undefined && this.#used) {
      throw new ConfigurationError('a transport without sessions serves one request; make a new one for each');
    }
    this.#used = true;
    return EngineTransport.bridgeOf(this);
  }

  /** A request's fields with the session as the engine calls it. */
  protected inward(headers: string[]): string[] {
    const inward: string[] = [];
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const [name, value] = [headers[at] as string, headers[at + 1] as string];
      const lower = name.toLowerCase();
      if (lower === 'origin' && this.#dropsOrigin) continue;
      const own = lower === SESSION && value === this.sessionId && this.#session !== undefined;
      inward.push(name, own ? (this.#session as string) : value);
    }
    return inward;
  }

  /** `extra`: what the SDK's server is told beside each request. */
  protected hooks(method: string | undefined, extra: object): Hooks {
    const told = new Map<number | string, object>();
    return {
      body: (bytes) => {
        for (const id of requestIds(bytes)) {
          // Not copied: what is costly in it is made when it is asked for.
          const closeSSEStream = { value: () => this.closeSSEStream(id), enumerable: true };
          const own = Object.create(extra, { closeSSEStream }) as object;
          told.set(id, own);
          EngineTransport.tell(this, id, own);
        }
      },
      head: async (part) => {
        if (method === 'DELETE' && part.status === 204) await this.#deleted();
        return this.#outward(part);
      },
      over: () => {
        for (const [id, own] of told) EngineTransport.untell(this, id, own);
      },
    };
  }

  /** A response's fields with the session as the program calls it. */
  async #outward(part: NativePart): Promise<NativePart> {
    const { headers = [] } = part;
    const { sessionIdGenerator, onsessioninitialized } = this.#options;
    const at = headers.indexOf(SESSION);
    if (at < 0 || sessionIdGenerator === undefined) return part;
    this.#session = headers[at + 1];
    this.sessionId = sessionIdGenerator();
    await onsessioninitialized?.(this.sessionId);
    return { ...part, headers: [...headers.slice(0, at + 1), this.sessionId, ...headers.slice(at + 2)] };
  }

  async #deleted(): Promise<void> {
    const { sessionId } = this;
    if (sessionId !== undefined) await this.#options.onsessionclosed?.(sessionId);
    await this.close();
  }
}

/** For `node:http`, Express and Fastify: what 1.x calls `StreamableHTTPServerTransport`, and 2.x `NodeStreamableHTTPServerTransport`. */
export class NodeTransport extends HttpTransport {
  /** Serves one request. `parsedBody` is its body where that was read already. */
  async handleRequest(request: NodeRequest, response: NodeResponse, parsedBody?: unknown): Promise<void> {
    const bridge = this.enter();
    if (bridge === undefined) {
      // A client that is told so opens a new session.
      response.writeHead(404, ['content-length', '0']);
      response.end(new Uint8Array());
      return;
    }
    const { rawHeaders, headers, auth: authInfo, method, url } = request as NodeRequest & { headers: Record<string, string> };
    const place = (): URL => new URL(url ?? '/', `http://${headers['host'] ?? 'localhost'}`);
    const extra = {
      authInfo,
      get requestInfo() {
        return { headers, url: place() };
      },
      get request() {
        const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1]]] : []));
        return new Request(place(), { method: method ?? 'GET', headers: pairs as [string, string][] });
      },
    };
    const head = headOfNode(request, clientOf(request));
    const inward = { ...head, headers: this.inward(head.headers) };
    await serveNode(bridge, inward, request, response, parsedBody, this.hooks(method, extra));
  }
}

/** For whatever speaks `fetch`: what both call `WebStandardStreamableHTTPServerTransport`. */
export class WebTransport extends HttpTransport {
  /** Serves one request. */
  async handleRequest(request: Request, options: FetchOptions = {}): Promise<Response> {
    const bridge = this.enter();
    // A client that is told so opens a new session.
    if (bridge === undefined) return new Response(null, { status: 404 });
    const { authInfo, parsedBody } = options;
    const extra = {
      authInfo,
      request,
      get requestInfo() {
        return { headers: Object.fromEntries(request.headers), url: new URL(request.url) };
      },
    };
    const head = headOfFetch(request, clientOf({ auth: authInfo }));
    const inward = { ...head, headers: this.inward(head.headers) };
    return serveFetch(bridge, inward, request, parsedBody, this.hooks(request.method, extra));
  }
}

const SESSION = 'mcp-session-id';

/** Milliseconds that are as good as for ever: such a session is the program's to end. */
const EVER = Number.MAX_SAFE_INTEGER;

/** The JSON text of the engine's configuration. */
function configOf(options: StreamableHTTPServerTransportOptions): string {
  if ((options as { eventStore?: unknown }).eventStore !== undefined) {
    throw new ConfigurationError('eventStore: the engine keeps the events of a session itself, in memory');
  }
  const { sessionIdGenerator, enableDnsRebindingProtection: guarded, allowedHosts = [], allowedOrigins = [] } = options;
  const { enableJsonResponse, retryInterval, keepAliveMs, maxRequestBodySize } = options;
  return httpText({
    path: null,
    sessions: sessionIdGenerator !== undefined,
    maxSessions: 1,
    sessionIdleMs: EVER,
    sessionMaxMs: EVER,
    allowedHosts: guarded === true && allowedHosts.length > 0 ? allowedHosts.map((host) => host.replace(/:\d+$/, '')) : ['*'],
    allowedOrigins: guarded === true ? allowedOrigins : [],
    jsonResponse: enableJsonResponse,
    retryMs: retryInterval,
    keepAliveMs: keepAliveMs !== undefined && keepAliveMs < 1 ? EVER : keepAliveMs,
    maxBodyBytes: maxRequestBodySize,
  });
}

/** The ids of the requests in a body. */
function requestIds(bytes: Uint8Array): (number | string)[] {
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    // Whoever sent it is told so.
    return [];
  }
  const messages = (Array.isArray(body) ? body : [body]) as { readonly id?: unknown; readonly method?: unknown }[];
  const ids = messages.map((message) => (typeof message?.method === 'string' ? message.id : undefined));
  return ids.filter((id) => typeof id === 'number' || typeof id === 'string');
}
