/** What an error in host code tells the peer. The stack of what was not thrown on purpose goes to stderr. */
import type { Bridge } from './bridge.cjs';
import { CapabilityNotDeclared, MCPError, ResourceNotFound, SerializationError, ToolError } from './errors.cjs';
import { stringifyAsIs } from './json.cjs';
import { native } from './loader.cjs';

/** What the functions of a server serve. */
export type HandlerKind = 'tool' | 'resource' | 'template' | 'prompt' | 'completion' | 'method';


/** The numbers of error codes, which the engine knows. */
export const codes = native.errorCodes();

/** Answers a call for which host code threw `error`. */
export function sendFailure(bridge: Bridge, number: number, kind: HandlerKind, name: string, error: unknown): void {
  if (error instanceof CapabilityNotDeclared) {
    return bridge.answer(number, 'missingCapability', JSON.stringify(error.capability));
  }
  if (error instanceof MCPError && !error.fromPeer) return sendError(bridge, number, error.code, error.message, error.data);
  if (kind === 'tool') {
    if (error instanceof ToolError) return sendToolError(bridge, number, error.message);
    const known = error instanceof SerializationError;
    if (!known) report(`Error calling tool '${name}'`, error);
    return sendToolError(bridge, number, `Error calling tool '${name}': ${known ? error.message : named(error)}`);
  }
  if (error instanceof ResourceNotFound) {
    bridge.answer(number, 'unknownResource', JSON.stringify(error.uri ?? ''));
    return;
  }
  report(`Error in ${kind} '${name}'`, error);
  sendError(bridge, number, codes.internalError, `Error in ${kind} '${name}': ${named(error)}`);
}

/** Answers a call whose arguments are not what the handler takes. */
export function sendInvalid(bridge: Bridge, number: number, kind: HandlerKind, name: string, why: string): void {
  const text = `Invalid arguments for ${kind} '${name}': ${why}`;
  if (kind === 'tool') sendToolError(bridge, number, text);
  else sendError(bridge, number, codes.invalidParams, text);
}

/** Answers a call with a JSON-RPC error. */
export function sendError(bridge: Bridge, number: number, code: number, message: string, data?: unknown): void {
  let json: string;
  try {
    json = stringifyAsIs({ code, message, data }, 'data');
  } catch {
    json = stringifyAsIs({ code, message }, 'error');
  }
  bridge.answer(number, 'failed', json);
}

/** To stderr, with its stack. */
export function report(what: string, error: unknown): void {
  console.error(`${what}\n`, error);
}

function sendToolError(bridge: Bridge, number: number, text: string): void {
  bridge.answer(number, 'textError', JSON.stringify(text));
}

function named(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : `${error.name}: ${error.message}`;
}
