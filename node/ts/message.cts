/** One JSON-RPC message, in parts. */
import { fromNative } from './errors.cjs';
import { native } from './loader.cjs';

/** A method and an id; wants an answer. */
export interface RequestMessage {
  readonly kind: 'request';
  /** JSON text, byte for byte as the peer wrote it: a string with its quotes, or an integer of any size. */
  readonly id: string;
  readonly method: string;
  /** JSON text. */
  readonly params?: string;
}

/** A method without an id; wants no answer. */
export interface NotificationMessage {
  readonly kind: 'notification';
  readonly method: string;
  /** JSON text. */
  readonly params?: string;
}

/** A result or an error, under the id of the request that it answers. */
export interface ResponseMessage {
  readonly kind: 'response';
  /** JSON text; absent where the error answers a message whose id could not be read. */
  readonly id?: string;
  /** JSON text. */
  readonly result?: string;
  /** JSON text of the error object. */
  readonly error?: string;
}

/** What {@link parseMessage} gives. */
export type Message = RequestMessage | NotificationMessage | ResponseMessage;

/**
 * Reads exactly one JSON-RPC message. Parameters, results and ids stay text, so that no digit of a large integer is lost.
 *
 * @param text JSON text, or its UTF-8 bytes; blanks and line ends around it are fine
 * @throws {MCPError} with the code that the peer should be told
 */
export function parseMessage(text: string | Uint8Array): Message {
  const { message, fault } = native.parseMessage(text);
  if (fault !== undefined) throw fromNative(fault);
  // One of the two is always there; which fields a message has follows from its kind.
  return message as Message;
}
