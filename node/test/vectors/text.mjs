// JSON that keeps what JavaScript's values would lose: the text of numbers and the escapes of strings. Nothing of it is
// the package's own JSON, which is under test.

import { Json } from 'ferromcp';

/** A number by its text: 1 is not 1.0. */
export class Num {
  constructor(text) {
    this.text = text;
  }
}

/** A string by what it stands for, with the text that it was read from. */
export class Str {
  constructor(value, raw = JSON.stringify(value)) {
    this.value = value;
    this.raw = raw;
  }
}

const TOKEN = /[\t\n\r ]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;

/** One JSON text; throws when it is none, or has a key twice. Objects are Maps. */
export function parse(text) {
  let at = 0;
  let token;
  const next = () => {
    TOKEN.lastIndex = at;
    token = TOKEN.exec(text);
    if (token === null) throw new SyntaxError(`not JSON at ${at}: ${text.slice(at, at + 40)}`);
    at = TOKEN.lastIndex;
    return token;
  };
  const value = () => {
    const [, mark, string, number, word] = token;
    if (string !== undefined) return new Str(JSON.parse(string), string);
    if (number !== undefined) return new Num(number);
    if (word !== undefined) return JSON.parse(word);
    if (mark === '[') return list();
    if (mark === '{') return members();
    throw new SyntaxError(`unexpected ${mark}`);
  };
  const list = () => {
    const items = [];
    if (next()[1] === ']') return items;
    for (;;) {
      items.push(value());
      if (next()[1] === ']') return items;
      if (token[1] !== ',') throw new SyntaxError('a comma is missing');
      next();
    }
  };
  const members = () => {
    const found = new Map();
    if (next()[1] === '}') return found;
    for (;;) {
      if (token[2] === undefined) throw new SyntaxError('a key is missing');
      const key = JSON.parse(token[2]);
      if (found.has(key)) throw new SyntaxError(`the key ${key} stands twice`);
      if (next()[1] !== ':') throw new SyntaxError('a colon is missing');
      next();
      found.set(key, value());
      if (next()[1] === '}') return found;
      if (token[1] !== ',') throw new SyntaxError('a comma is missing');
      next();
    }
  };
  next();
  const result = value();
  if (text.slice(at).trim() !== '') throw new SyntaxError(`more than one JSON text: ${text.slice(at, at + 40)}`);
  return result;
}

/** Compact text on one line, with numbers and strings as they were written. Plain values are written too. */
export function write(value) {
  if (value instanceof Num) return value.text;
  if (value instanceof Str) return value.raw;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${write(item)}`).join(',')}}`;
  if (typeof value === 'object' && value !== null) return write(new Map(Object.entries(value)));
  return JSON.stringify(value);
}

/** The same as host code would write it down, with ready text for numbers that JavaScript would spell otherwise. Integers that a number can't hold are bigints. */
export function plain(value) {
  if (value instanceof Str) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  if (!(value instanceof Num)) return value;
  const number = Number(value.text);
  if (/[.eE]/.test(value.text) && JSON.stringify(number) !== value.text) return new Json(value.text);
  return /^-?\d+$/.test(value.text) && !Number.isSafeInteger(number) ? BigInt(value.text) : number;
}

/** The name of its JSON type; `integer` for a number without fraction and exponent. */
export function kind(value) {
  if (value instanceof Num) return /^-?\d+$/.test(value.text) ? 'integer' : 'number';
  if (value instanceof Str) return 'string';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'boolean' : 'object';
}

/** The text of a value, short enough for a failure. */
export function shorten(value) {
  const text = write(value);
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
