/** Finds the official SDKs as the program that uses them finds them. They are no dependency of this package. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A module of another package, loaded as CommonJS; undefined where the program has none. */
export function peer(specifier: string, from: readonly string[] = places()): unknown {
  for (const place of from) {
    const require = createRequire(place);
    try {
      return require(require.resolve(specifier));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

/** The file of another package's module, as CommonJS finds it; undefined where the program has none. */
export function peerFile(specifier: string, from: readonly string[] = places()): string | undefined {
  for (const place of from) {
    try {
      return createRequire(place).resolve(specifier);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

/** Where a program's packages are looked for: beside its main file, in its folder, beside us. */
function places(): string[] {
  const main = process.argv[1];
  return [...(main === undefined ? [] : [main]), join(process.cwd(), 'package.json'), __filename];
}

function isMissing(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
}
