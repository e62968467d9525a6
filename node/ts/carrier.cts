/**
 * Requests that a listener of JavaScript's own brings: their heads and bodies go to the engine, which decides everything, and
 * responses come back piece by piece.
 */
import type { Bridge } from './bridge.cjs';
import { done } from './errors.cjs';
import { native } from './loader.cjs';
import type { NativePart, NativeRequest } from './native.cjs';

/** A request's head. `headers` are names and values in turn. */
export interface Head {
  readonly method: string;
  /** The path, and the query behind a question mark. */
  readonly target: string;
  readonly headers: string[];
  readonly principal: string | undefined;
}

/** Numbers of requests are of 32 bits. */
const MOST = 2 ** 32;

/** Milliseconds: as long as a timer can take. */
const LONG = 2 ** 31 - 1;

/** The numbers of requests whose response is waited for. */
export class Responses {
  readonly #waiting = new Map<number, () => void>();
  #next = 0;
  /** Keeps the event loop alive while somebody waits: the native server does not, as long as nobody does. */
  #alive: NodeJS.Timeout | undefined;

  /** There is more of a response. */
  ready(number: number): void {
    const told = this.#waiting.get(number);
    if (this.#waiting.delete(number) && this.#waiting.size === 0) this.#alive?.unref();
    told?.();
  }

  /** @internal */
  number(): number {
    this.#next = (this.#next + 1) % MOST;
    return this.#next;
  }

  /** @internal */
  wait(number: number): Promise<void> {
    if (this.#waiting.size === 0) (this.#alive ??= setInterval(() => {}, LONG)).ref();
    return new Promise((resolve) => this.#waiting.set(number, resolve));
  }
}

/** A request whose head is as it must be, and its response. */
export class Exchange {
  readonly #native: NativeRequest;
  readonly #responses: Responses;
  readonly #number: number;
  /** Bytes that the body may have; null where none is to be read. */
  readonly limit: number | null;
  #gone = false;

  constructor(request: NativeRequest, responses: Responses, number: number) {
    this.#native = request;
    this.#responses = responses;
    this.#number = number;
    this.limit = request.limit();
  }

  /** The response to a body that is longer. */
  tooLarge(): NativePart {
    return this.#native.tooLarge();
  }

  /** Serves the request with its whole body. */
  serve(body: Uint8Array): void {
    done(this.#native.serve(body));
  }

  /** The next piece of the response, when it is there. The last one has `end`. */
  next(): NativePart | Promise<NativePart> {
    return this.#poll() ?? this.#later();
  }

  /** The client is gone, or all is sent. */
  close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#native.close();
    this.#responses.ready(this.#number);
  }

  #poll(): NativePart | null {
    return this.#gone ? { end: true, aborted: true } : this.#native.poll();
  }

  async #later(): Promise<NativePart> {
    for (;;) {
      await this.#responses.wait(this.#number);
      const part = this.#poll();
      if (part !== null) return part;
    }
  }
}

/** Looks at a head: gives the request, or the whole response. */
export function admit(bridge: Bridge, { method, target, headers, principal }: Head): Exchange | NativePart {
  const { responses } = bridge;
  const number = responses.number();
  const admitted = bridge.native.admit(number, method, target, headers, principal);
  return admitted instanceof native.NativeRequest ? new Exchange(admitted, responses, number) : admitted;
}

/** The bytes of a body that somebody has read already: as they were, or as the text of a JSON value. */
export function bodyBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));
}

/** Chunks of a body, until there are too many. */
export class Body {
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: it is too long. */
  add(chunk: Uint8Array): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#limit) return false;
    this.#chunks.push(chunk);
    return true;
  }

  bytes(): Uint8Array {
    const [only, ...others] = this.#chunks;
    return only !== undefined && others.length === 0 ? only : Buffer.concat(this.#chunks);
  }
}
