/**
 * HTTP: what can be said of how a server is served over it, and the server that listens.
 *
 * Decides nothing about a value: what is unknown or wrong is found where the JSON is read.
 */
import type { Bridge } from './bridge.cjs';
import { done } from './errors.cjs';
import { stringify } from './json.cjs';

/** How an MCP endpoint is served over HTTP, whatever carries it; `docs/http.md` has the defaults. */
export interface HttpConfig {
  /** The path of the endpoint; null: every path. */
  readonly path?: string | null;
  /** Names and addresses that `Host` may have besides the local ones and the one that is listened on. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may use the server, besides pages of the allowed hosts. */
  readonly allowedOrigins?: readonly string[];
  /** Whether legacy clients get sessions. */
  readonly sessions?: boolean;
  /** Milliseconds after which a session that nobody uses is over. */
  readonly sessionIdleMs?: number;
  /** Milliseconds after which a session is over in any case. */
  readonly sessionMaxMs?: number;
  /** Sessions at once. */
  readonly maxSessions?: number;
  /** Milliseconds of silence after which a stream gets a comment, and a call without an answer becomes a stream. */
  readonly keepAliveMs?: number;
  /** Whether a client has to accept both content types. */
  readonly strictAccept?: boolean;
  /** Bytes of one request's body. */
  readonly maxBodyBytes?: number;
  /** Whether every request but `subscriptions/listen` is answered as one JSON object. */
  readonly jsonResponse?: boolean;
  /** Whether the two endpoints of 2024-11-05 are there as well. */
  readonly legacySse?: boolean;
  /** Milliseconds that a legacy client is told to wait before it opens a stream again. */
  readonly retryMs?: number;
  /** Messages of one session that are kept for streams that come again. */
  readonly maxEvents?: number;
  /** Bytes of them. */
  readonly maxEventBytes?: number;
  /** Bytes that wait for a client which does not read. */
  readonly maxBacklogBytes?: number;
  /** Where processes that serve together meet: `redis://HOST:PORT/DATABASE`. Null: this one serves alone. */
  readonly cluster?: string | null;
  /** Processes with the same name there serve together; "ferromcp". */
  readonly clusterName?: string;
}

/** The same, and where and how a server listens. */
export interface HttpOptions extends HttpConfig {
  /** The address or name to listen on; 127.0.0.1. */
  readonly host?: string;
  /** The port; 8000, and 0 for any that is free. */
  readonly port?: number;
  /** Files in PEM, the certificate (with what leads to a trusted one) and its private key: the listener speaks TLS. */
  readonly tlsCertFile?: string | null;
  readonly tlsKeyFile?: string | null;
  /** Connections at once. */
  readonly maxConnections?: number;
  /** Milliseconds that a connection may take to send a request's head, and may be idle before it. */
  readonly headerTimeoutMs?: number;
  /** Milliseconds that a request's body may take. */
  readonly bodyTimeoutMs?: number;
  /** Milliseconds that the end waits for calls that run and responses that are being sent. */
  readonly shutdownMs?: number;
  /** Whether a line on standard error says where the server listens; true. */
  readonly announce?: boolean;
}

/** The JSON text of options. */
export function httpText(options: object): string {
  return stringify(options, 'http');
}

/** A server that listens: what `Server.listen` gives. */
export class HttpServer {
  /** Where clients find it, such as `http://127.0.0.1:8000/mcp`. */
  readonly url: string;
  /** The address that is listened on. */
  readonly host: string;
  readonly port: number;
  /** Settled when the server is over. */
  readonly finished: Promise<void>;
  readonly #bridge: Bridge;

  /** @internal Made by the server. */
  constructor(bridge: Bridge, finished: Promise<void>, path: string | null = '/mcp') {
    const [host = '', port = ''] = bridge.native.address() ?? [];
    this.#bridge = bridge;
    this.finished = finished;
    this.host = host;
    this.port = Number(port);
    this.url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${path ?? '/'}`;
  }

  /** Ends the server in good order: what is answered is sent, calls that run are told to stop and not waited for. */
  async close(): Promise<void> {
    done(this.#bridge.native.stop());
    await this.finished;
  }
}
