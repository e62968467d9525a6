/**
 * The ES module entry. The objects are those of the CommonJS entry, so that a program that meets both has one set of
 * classes: `instanceof` holds wherever an error was made.
 */
export { MCPError, NativeModuleError, parseMessage, version } from './index.cjs';
export type { Message, NotificationMessage, RequestMessage, ResponseMessage } from './index.cjs';
