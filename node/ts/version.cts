/** The version. */
import { native } from './loader.cjs';

/** The version of the native module, which is also the package's. */
export function version(): string {
  return native.version();
}
