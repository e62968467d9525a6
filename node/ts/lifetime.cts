/** From a server that is declared to the end of its run: descriptors, signals, and the way out of the process. */
import type { Bridge } from './bridge.cjs';
import { done } from './errors.cjs';
import type { NativeStart } from './native.cjs';

/** How a server is run. */
export interface ServeOptions {
  /** Whether every message is written to stderr, with credentials hidden. Else the environment's `MCP_DEBUG` says. */
  readonly debug?: boolean;
  /** Descriptors to read and to write in place of standard input and output. They are the server's from now on. */
  readonly fds?: readonly [input: number, output: number];
}

/** Milliseconds that JavaScript has for seeing the end, before the process is ended without it. */
const GRACE_MS = 1_000;

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Starts to serve. `owned`: the process is ours, and is ended by force when JavaScript does not see the end. `more`: what not
 * every kind of server has.
 */
export function openBridge(bridge: Bridge, options: ServeOptions, owned: boolean, more: NativeStart = {}): void {
  const { debug, fds } = options;
  bridge.start({
    ...more,
    ...(debug === undefined ? {} : { debug }),
    ...(fds === undefined ? {} : { input: fds[0], output: fds[1] }),
    ...(owned ? { graceMs: GRACE_MS } : {}),
  });
}

/** Ends the server in good order when the process is told to end; a signal that the program listens for is its own. */
export function endOnSignals(bridge: Bridge): void {
  done(bridge.native.endOnSignals(SIGNALS.filter((signal) => process.listenerCount(signal) === 0)));
}

/** Waits for the end of the server, and ends the process. */
export async function leaveWith(bridge: Bridge): Promise<void> {
  try {
    await bridge.finished;
  } catch (error) {
    console.error(error);
  }
  // Functions that were told with the end that nobody waits for them any more see it in this turn.
  await new Promise((resolve) => setImmediate(resolve));
  const code = bridge.native.exitCode();
  process.exit(code === 0 ? (process.exitCode ?? 0) : code);
}
