/**
 * What an SDK's server asks of a modern client, which takes no requests: the call that asks is answered with the question, and
 * waits in this process for the client's retry (2026-07-28 `basic/patterns/mrtr`). The SDK sees an answer to its request.
 *
 * Decides which call that is where the SDK does not say: the one whose handler it runs in.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

import type { Bridge } from './bridge.cjs';
import { CapabilityNotDeclared, NoBackChannel } from './errors.cjs';
import { stringifyAsIs } from './json.cjs';
import { resultOf, type Answer } from './rounds.cjs';

/** How requests of an SDK's server reach modern clients. */
export class HeldCalls {
  readonly #running = new AsyncLocalStorage<number>();

  /** Runs `body` so that what it starts is known to belong to a call. */
  run(call: number, body: () => void): void {
    this.#running.run(call, body);
  }

  /**
   * Asks in place of a request that failed with `error`. `related`: the call that the SDK names.
   *
   * @throws `error` where that has another reason than the client's era, or no call is known
   */
  async ask(
    bridge: Bridge,
    related: number | undefined,
    method: string,
    params: unknown,
    error: unknown,
  ): Promise<unknown> {
    const number = related ?? this.#running.getStore();
    const modern = error instanceof NoBackChannel && !(error instanceof CapabilityNotDeclared);
    if (!modern || number === undefined) throw error;
    const text = stringifyAsIs(params ?? {}, 'params');
    const [answer] = await bridge.rounds.ask({ number, held: true, suspend: () => error }, [['', method, text]], undefined);
    return resultOf(answer as Answer);
  }
}
