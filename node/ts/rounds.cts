/**
 * What running calls have asked of their clients and wait for.
 *
 * Decides what is asked together: all that one turn of the event loop asks goes to the engine in one crossing, and what one
 * call asks in it is one round for a modern client. What becomes of it is the engine's to say (`src/asking.rs`).
 */
import { failureOf, outgoing, taken, type NoResult } from './errors.cjs';
import { mark } from './json.cjs';
import type { NativeFailure, NativeServer } from './native.cjs';

/** A question on its way: its key (empty: by the order of asking), its method, and its parameters as JSON text. */
export type Question = readonly [key: string, method: string, params: string];

/** A call that asks. */
export interface Asker {
  readonly number: number;
  /** It waits for a modern client here, and does not run again. */
  readonly held: boolean;
  /** Its client is asked, and it has to end: it runs again when the client comes back. Gives what to tell its function. */
  suspend(): unknown;
}

/** An answer: the client's result, or why there is none. */
export type Answer = readonly [result: unknown] | readonly [code: NoResult, message: string, data: unknown];

/** Questions that somebody waits for together. */
interface Part {
  readonly questions: readonly Question[];
  readonly timeoutMs: number | undefined;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: unknown) => void;
}

// What has come of some parts of what a call asked; `src/asking.rs` writes them.
type Outcome =
  | readonly [parts: number, kind: 0, results: readonly unknown[]]
  | readonly [parts: number, kind: 1, ask: number]
  | readonly [parts: number, kind: 2 | 3]
  | readonly [parts: number, kind: 4, failure: NativeFailure['kind'], message: string, capability: string | null];

/** The questions of one server. */
export class Rounds {
  readonly #native: NativeServer;
  readonly #revive: (value: unknown) => unknown;
  /** Of this turn of the loop. */
  #queued = new Map<Asker, Part[]>();
  /** By the engine's number: which parts its answers are for, in order. */
  readonly #waiting = new Map<number, { asker: Asker; parts: readonly Part[] }>();
  /** By call, what is not answered, in the order asked. */
  readonly #open = new Map<number, Set<Part>>();

  constructor(native: NativeServer, revive: (value: unknown) => unknown) {
    this.#native = native;
    this.#revive = revive;
  }

  /** Asks at the end of this turn; gives the answers in the order of the questions. */
  ask(asker: Asker, questions: readonly Question[], timeoutMs: number | undefined): Promise<readonly Answer[]> {
    return new Promise((resolve, reject) => {
      const part = { questions, timeoutMs, resolve, reject };
      if (this.#queued.size === 0) setImmediate(this.#flush);
      entry(this.#queued, asker, () => [] as Part[]).push(part);
      entry(this.#open, asker.number, () => new Set<Part>()).add(part);
    });
  }

  /** The client has answered. */
  answered(ask: number, answers: readonly Answer[]): void {
    const waiting = this.#waiting.get(ask);
    if (waiting === undefined) return;
    this.#waiting.delete(ask);
    this.#settle(waiting.asker, waiting.parts, answers);
  }

  /**
   * A call is over, and its function has to end: what it waits for fails. One question a turn, until the function has ended:
   * a function that awaits its questions one after the other has seen only the first failure then, and a promise that fails
   * with nobody to see it would end the process.
   */
  over(call: number, error: unknown): void {
    this.#forget(call);
    const next = (): void => {
      const [part] = this.#open.get(call) ?? [];
      if (part === undefined) return;
      this.#close(call, part);
      part.reject(error);
      setImmediate(next);
    };
    next();
  }

  /** The function of a call has ended. */
  ended(call: number): void {
    if (this.#open.delete(call)) this.#forget(call);
  }

  readonly #flush = (): void => {
    const queued = [...this.#queued];
    this.#queued = new Map();
    if (queued.length === 0) return;
    const batch = queued.map(([{ number, held }, parts]) => {
      const written = parts.map(({ questions, timeoutMs }) => `[${timeoutMs ?? 'null'},[${questions.map(text).join(',')}]]`);
      return `[${number},${held},[${written.join(',')}]]`;
    });
    let outcomes: readonly (readonly Outcome[])[];
    try {
      const answer = taken<string>(this.#native.ask(`[${batch.join(',')}]`));
      const parsed: unknown = JSON.parse(answer);
      outcomes = (answer.includes(mark) ? this.#revive(parsed) : parsed) as readonly (readonly Outcome[])[];
    } catch (error) {
      for (const [asker, parts] of queued) this.#fail(asker, parts, error);
      return;
    }
    for (const [at, [asker, parts]] of queued.entries()) this.#asked(asker, [...parts], outcomes[at] ?? []);
  };

  #asked(asker: Asker, parts: Part[], outcomes: readonly Outcome[]): void {
    for (const outcome of outcomes) {
      const own = parts.splice(0, outcome[0]);
      switch (outcome[1]) {
        case 0:
          this.#settle(asker, own, outcome[2].map((result) => [result]));
          break;
        case 1:
          this.#waiting.set(outcome[2], { asker, parts: own });
          break;
        case 2:
          this.over(asker.number, asker.suspend());
          break;
        case 3:
          // Why will be told next, and these fail then.
          break;
        case 4: {
          const [, , kind, message, capability] = outcome;
          this.#fail(asker, own, failureOf({ kind, message, ...(capability === null ? {} : { capability }) }));
        }
      }
    }
  }

  #settle(asker: Asker, parts: readonly Part[], answers: readonly Answer[]): void {
    let at = 0;
    for (const part of parts) {
      const own = answers.slice(at, (at += part.questions.length));
      if (this.#close(asker.number, part)) part.resolve(own);
    }
  }

  #fail(asker: Asker, parts: readonly Part[], error: unknown): void {
    for (const part of parts) if (this.#close(asker.number, part)) part.reject(error);
  }

  /** False where nobody waits for it any more. */
  #close(call: number, part: Part): boolean {
    const open = this.#open.get(call);
    const was = open?.delete(part) ?? false;
    if (open?.size === 0) this.#open.delete(call);
    return was;
  }

  /** Nothing more is asked for a call, and no answer is taken. */
  #forget(call: number): void {
    for (const asker of this.#queued.keys()) if (asker.number === call) this.#queued.delete(asker);
    for (const [ask, { asker }] of this.#waiting) if (asker.number === call) this.#waiting.delete(ask);
  }
}

/** A result, or the error thrown that is there in its place. */
export function resultOf(answer: Answer): unknown {
  if (answer.length === 1) return answer[0];
  throw outgoing(answer[0], answer[1], answer[2]);
}

function text([key, method, params]: Question): string {
  return `[${JSON.stringify(key)},${JSON.stringify(method)},${params}]`;
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let found = map.get(key);
  if (found === undefined) map.set(key, (found = make()));
  return found;
}
