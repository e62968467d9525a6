/**
 * The native server as JavaScript's event loop sees it: batches of calls come in, batches of answers go out.
 *
 * Decides when the native module is entered: once for all that has gathered, and once for all answers of a turn.
 */
import { Responses } from './carrier.cjs';
import { NoBackChannel, done, outgoing, taken, type NoResult, type OutgoingError } from './errors.cjs';
import { mark, revive, stringify, type Integers } from './json.cjs';
import { native } from './loader.cjs';
import type { NativeServer, NativeStart } from './native.cjs';
import { Rounds, type Answer } from './rounds.cjs';

/** What calls and events of a server go to. Calls are numbered; each number is answered once. */
export interface Sink {
  /** A call of a declared handler. `marked`: the arguments hold integers that still have to be revived. */
  call(number: number, tag: number, args: unknown, marked: boolean): void;
  /** A read of a resource that a template stands for. */
  read(number: number, tag: number, variables: Record<string, string>, uri: string): void;
  /** A completion of an argument of what was declared under this tag. */
  complete(number: number, tag: number, argument: string, value: string, params: unknown): void;
  /** A request that no handler was declared for. `marked` as for `call`. */
  delegated(number: number, method: string, params: unknown, id: number | string, marked: boolean): void;
  /** Nobody waits for this call's answer any more. */
  cancelled(number: number, reason: string): void;
  /** A call that wanted to be a task is one, of this id, or goes on without. */
  taskBegun(number: number, id: string | undefined): void;
  /** A notification that the engine does not consume. */
  notification(method: string, params: unknown): void;
  /** A legacy client is ready. */
  initialized(): void;
  /** A resource is watched from now on, or not any more. */
  watched(uri: string, watched: boolean): void;
}

/** The letters that stand in front of an answer (`src/reply.rs`). */
export type AnswerKind =
  | 'text'
  | 'textError'
  | 'structured'
  | 'tool'
  | 'contents'
  | 'prompt'
  | 'completion'
  | 'result'
  | 'round'
  | 'failed'
  | 'missingCapability'
  | 'unknownResource'
  | 'givenUp';

const letters: Record<AnswerKind, string> = {
  text: 'T',
  textError: 'E',
  structured: 'S',
  tool: 'B',
  contents: 'C',
  prompt: 'P',
  completion: 'V',
  result: 'R',
  round: 'I',
  failed: 'F',
  missingCapability: 'N',
  unknownResource: 'U',
  givenUp: 'X',
};

/** The line that answers a call. */
export function answerLine(number: number, kind: AnswerKind, json: string): string {
  return `${letters[kind]}${number} ${json}`;
}

/** Where answers go. */
export interface Answers {
  /** Answers a call. */
  answer(number: number, kind: AnswerKind, json: string): void;
  /** Answers a call with text in which marks stand for bytes. */
  answerWith(number: number, kind: AnswerKind, json: string, bytes: Uint8Array[]): void;
}

/** Characters of answers that are not kept for others to join them: what fills a pipe. */
const FULL = 1 << 16;

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: OutgoingError) => void;
}

// An entry of the batch; `src/bridge.rs` writes them.
type Entry =
  | [kind: 0 | 1, number: number, tag: number, args: unknown]
  | [kind: 2, number: number, tag: number, argument: string, value: string, params: unknown]
  | [kind: 3 | 12, number: number, method: string, params: unknown, id: number | string]
  | [kind: 4, number: number, reason: string]
  | [kind: 5 | 13, request: number, result: unknown]
  | [kind: 6, request: number, code: NoResult, message: string, data: unknown]
  | [kind: 7, method: string, params: unknown]
  | [kind: 8]
  | [kind: 9, uri: string, watched: boolean]
  | [kind: 10, error?: string]
  | [kind: 11, number: number, tag: number, variables: Record<string, string>, uri: string]
  | [kind: 14 | 15, ask: number, answers: readonly Answer[]]
  | [kind: 16, number: number, id: string | null]
  | [kind: 17, response: number];

/** One native server and the event loop. */
export class Bridge implements Answers {
  readonly native: NativeServer;
  /** What running calls ask of their clients. */
  readonly rounds: Rounds;
  /** Of requests that a listener of JavaScript's own has brought. */
  readonly responses = new Responses();
  /** Settled when the server is over. */
  readonly finished: Promise<void>;
  #end!: (error: string | undefined) => void;
  readonly #sink: Sink;
  #lines = '';
  #flushing = false;
  readonly #waiting = new Map<number, Waiting>();

  readonly #integers: Integers | undefined;

  /**
   * @param config the engine's configuration
   * @param integers what large integers become; as V8 reads them, when it is not given
   */
  constructor(config: unknown, sink: Sink, integers?: Integers) {
    this.#sink = sink;
    this.#integers = integers;
    this.native = new native.NativeServer(integers === undefined ? '' : mark);
    this.rounds = new Rounds(this.native, (value) => this.revive(value));
    done(this.native.configure(stringify(config, 'config')));
    this.finished = new Promise((resolve, reject) => {
      this.#end = (error) => {
        if (error === undefined) resolve();
        else reject(new NoBackChannel(error));
      };
    });
    // Whoever waits for it sees the error; nobody has to.
    this.finished.catch(() => {});
  }

  start(options: NativeStart): void {
    done(this.native.start(() => this.#drain(), options));
  }

  /** What the native module knows of a call that is not answered. */
  describe(number: number): unknown {
    const text = this.native.describe(number);
    return text === null ? undefined : this.revive(JSON.parse(text));
  }

  /** Puts large integers into what is not a function's argument, where none of them is an error. */
  revive(value: unknown): unknown {
    if (this.#integers === undefined) return value;
    return revive(value, this.#integers === 'error' ? 'bigint' : this.#integers);
  }

  /** Sent together with what else this turn of the loop answers. */
  answer(number: number, kind: AnswerKind, json: string): void {
    this.#lines += `${answerLine(number, kind, json)}\n`;
    if (this.#lines.length > FULL) return this.#send();
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(this.#flush);
  }

  answerWith(number: number, kind: AnswerKind, json: string, bytes: Uint8Array[]): void {
    done(this.native.replyWith(answerLine(number, kind, json), bytes));
  }

  /** Asks a legacy client something; gives the request's number, and its result when it comes. */
  request(
    call: number | undefined,
    method: string,
    params: unknown,
    timeoutMs: number | undefined,
  ): [key: number, result: Promise<unknown>] {
    const text = params === undefined ? undefined : stringify(params, 'params');
    const key = taken<number>(this.native.request(call, method, text, timeoutMs));
    return [key, new Promise((resolve, reject) => this.#waiting.set(key, { resolve, reject }))];
  }

  /** Sends the answers that have gathered, for what must not overtake them. */
  flush(): void {
    this.#send();
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    this.#send();
  };

  #send(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') done(this.native.reply(lines));
  }

  #drain(): void {
    const sink = this.#sink;
    // What is answered at once goes out at the end of this, and not a microtask later.
    this.#flushing = true;
    for (const entry of JSON.parse(this.native.drain()) as Entry[]) {
      switch (entry[0]) {
        case 0:
        case 1:
          sink.call(entry[1], entry[2], entry[3], entry[0] === 1);
          break;
        case 2:
          sink.complete(entry[1], entry[2], entry[3], entry[4], entry[5]);
          break;
        case 3:
        case 12:
          sink.delegated(entry[1], entry[2], entry[3], entry[4], entry[0] === 12);
          break;
        case 4:
          sink.cancelled(entry[1], entry[2]);
          break;
        case 5:
        case 13:
          this.#settle(entry[1])?.resolve(entry[0] === 13 ? this.revive(entry[2]) : entry[2]);
          break;
        case 6:
          this.#settle(entry[1])?.reject(outgoing(entry[2], entry[3], entry[4]));
          break;
        case 7:
          sink.notification(entry[1], entry[2]);
          break;
        case 8:
          sink.initialized();
          break;
        case 9:
          sink.watched(entry[1], entry[2]);
          break;
        case 10:
          this.native.acknowledge();
          this.#end(entry[1]);
          break;
        case 11:
          sink.read(entry[1], entry[2], entry[3], entry[4]);
          break;
        case 16:
          sink.taskBegun(entry[1], entry[2] ?? undefined);
          break;
        case 17:
          this.responses.ready(entry[1]);
          break;
        case 14:
        case 15:
          this.rounds.answered(entry[1], (entry[0] === 15 ? this.revive(entry[2]) : entry[2]) as readonly Answer[]);
          break;
      }
    }
    this.#flush();
  }

  #settle(request: number): Waiting | undefined {
    const waiting = this.#waiting.get(request);
    this.#waiting.delete(request);
    return waiting;
  }
}
