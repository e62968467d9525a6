/** Finds the native module for this platform, or says precisely what is missing. */
import { join } from 'node:path';

import { NativeModuleError } from './errors.cjs';
import type * as Native from './native.cjs';
import { currentPlatform, triple, type Platform } from './platform.cjs';

/**
 * Loads the binary that was built in this package's folder, else the one from the platform's own package.
 *
 * @param load     how to load a file or package; a parameter so that tests can play another machine
 * @param platform where we are
 */
export function loadNative(load: (id: string) => unknown, platform: Platform): typeof Native {
  const name = triple(platform);
  const places = [join(__dirname, '..', `ferromcp.${name}.node`), `@ferromcp/node-${name}`];
  const failures: string[] = [];
  for (const place of places) {
    try {
      return load(place) as typeof Native;
    } catch (error) {
      failures.push(`  ${place}: ${(error instanceof Error ? error.message : String(error)).split('\n')[0]}`);
    }
  }
  const libc = platform.libc === undefined ? '' : `, C library ${platform.libc === 'gnu' ? 'glibc' : 'musl'}`;
  throw new NativeModuleError(
    `ferromcp has no native module for this machine (platform ${platform.os}, architecture ${platform.arch}${libc}, ` +
      `Node ${process.version}).\nLooked for:\n${failures.join('\n')}\n` +
      `What to do: reinstall with optional dependencies (npm install --include=optional), on the machine that runs it ` +
      `and not on another; or build it from the source tree with "npm run build" in its node folder, which needs Rust.`,
  );
}

/** The module, loaded once for each process and thread by Node's own cache. */
export const native = loadNative(require, currentPlatform());
