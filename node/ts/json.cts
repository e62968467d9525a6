/**
 * JSON text from values and back, with the integers that a JavaScript number can't hold.
 *
 * They cross as marked strings (`src/integers.rs`). The mark is made anew in each process, so no peer can write one.
 */
import { randomUUID } from 'node:crypto';

import { ConfigurationError, SerializationError } from './errors.cjs';

/** What an integer beyond 2^53 becomes: a `bigint`, its digits as a string, or an error for the client. */
export type Integers = 'bigint' | 'string' | 'error';

/** Stands in front of what is passed as a string and is something else. */
export const mark = `ferromcp:${randomUUID()}:`;

const integer = new RegExp(`"${mark}(-?\\d+)"`, 'g');
const ready = new RegExp(`"${mark}json:((?:[^"\\\\]|\\\\.)*)"`, 'g');

/** A ready JSON text stands in what is being written. */
let holdsReady = false;

/** JSON text that goes into a result as it is: numbers keep their spelling, objects the order of their keys. */
export class Json {
  readonly text: string;

  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }

  toJSON(): string {
    holdsReady = true;
    return `${mark}json:${this.text}`;
  }
}

/** The name of the option's value, checked. */
export function integersOption(value: Integers | undefined): Integers {
  if (value === undefined) return 'bigint';
  if (value === 'bigint' || value === 'string' || value === 'error') return value;
  throw new ConfigurationError(`integers: ${String(value)} is none of 'bigint', 'string' and 'error'`);
}

/** Puts large integers into a parsed value, in place; gives the value. Throws a RangeError where they are errors. */
export function revive(value: unknown, integers: Integers): unknown {
  if (typeof value === 'string') {
    if (!value.startsWith(mark)) return value;
    const digits = value.slice(mark.length);
    if (integers === 'error') throw new RangeError(`${digits} is beyond the integers that JavaScript's numbers hold`);
    return integers === 'string' ? digits : BigInt(digits);
  }
  if (typeof value !== 'object' || value === null) return value;
  for (const key of Object.keys(value)) {
    const members = value as Record<string, unknown>;
    const member = members[key];
    const revived = revive(member, integers);
    // Defined and not assigned: a member may be called `__proto__`.
    if (revived !== member) {
      Object.defineProperty(members, key, { value: revived, writable: true, enumerable: true, configurable: true });
    }
  }
  return value;
}

/**
 * JSON text of a value; a bigint is a number in it. `what` names the value in errors.
 *
 * @throws SerializationError naming the place of what JSON lacks, where `JSON.stringify` would write null: NaN and infinite
 *   numbers, and what is no value at all in an array. A member of an object that is undefined is left out.
 */
export function stringify(value: unknown, what: string): string {
  const text = stringifyAsIs(value, what);
  // Only then there may be one: the walk would cost most values as much as the text did.
  if (text.includes('null')) {
    const found = lacking(value, '');
    if (found !== undefined) throw new SerializationError(`${what}${found.path}: ${found.what} is not JSON`);
  }
  return text;
}

/** As `stringify`, with null for what JSON lacks, as `JSON.stringify` has it. */
export function stringifyAsIs(value: unknown, what: string): string {
  let text: string | undefined;
  holdsReady = false;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    text = withBigints(value, what, error);
  }
  if (text === undefined) throw new SerializationError(`${what}: ${typeof value} is not JSON`);
  if (holdsReady) text = text.replace(ready, (_, inner: string) => oneLine(JSON.parse(`"${inner}"`) as string));
  return text;
}

/** Line ends in JSON text stand between its tokens only. */
function oneLine(json: string): string {
  return json.replace(/[\r\n]+/g, ' ');
}

function withBigints(value: unknown, what: string, reason: unknown): string | undefined {
  const replacer = (_key: string, member: unknown): unknown => {
    return typeof member === 'bigint' ? `${mark}${member}` : member;
  };
  try {
    const text = JSON.stringify(value, replacer) as string | undefined;
    return text?.replace(integer, '$1');
  } catch (error) {
    reason = error;
  }
  const message = reason instanceof Error ? reason.message.split('\n')[0] : String(reason);
  throw new SerializationError(`${what}: ${message}`, { cause: reason });
}

interface Lacking {
  readonly what: string;
  path: string;
}

/** The first thing that JSON lacks in a value, itself under `key`. */
function lacking(value: unknown, key: string): Lacking | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { what: String(value), path: '' };
  if (typeof value !== 'object' || value === null || value instanceof Json) return undefined;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return lacking((toJSON as (key: string) => unknown).call(value, key), key);
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const item: unknown = value[at];
      const none = item === undefined || typeof item === 'function' || typeof item === 'symbol';
      const found = none ? { what: typeof item, path: '' } : lacking(item, String(at));
      if (found !== undefined) return within(found, `[${at}]`);
    }
    return undefined;
  }
  for (const name of Object.keys(value)) {
    const found = lacking((value as Record<string, unknown>)[name], name);
    if (found === undefined) continue;
    return within(found, /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);
  }
  return undefined;
}

function within(found: Lacking, step: string): Lacking {
  found.path = step + found.path;
  return found;
}
