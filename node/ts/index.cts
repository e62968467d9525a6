/** The package's objects: the engine's answers turned into JavaScript's own manners. No protocol rule lives here. */
export { MCPError, NativeModuleError } from './errors.cjs';
export { parseMessage } from './message.cjs';
export type { Message, NotificationMessage, RequestMessage, ResponseMessage } from './message.cjs';

import { native } from './loader.cjs';

/** The version of the native module, which is also the package's. */
export function version(): string {
  return native.version();
}
