// Names and patterns: what stands for a value in a vector, and what a message is held against. Decides nothing of its own;
// tests/vectors/README.md is the rule.
import { kind, Num, shorten, Str, write } from './text.mjs';

const MATCHERS = new Set(['$absent', '$any', '$bind', '$holds', '$line', '$oneOf', '$open', '$optional', '$type', '$unordered']);

/** A message does not fit; the text says where. */
export class Mismatch extends Error {}

/** The value with every `$name` in it replaced; names are a Map. */
export function resolve(value, names) {
  if (value instanceof Str && value.value.startsWith('$')) {
    if (value.value.startsWith('$$')) return new Str(value.value.slice(1));
    const name = value.value.slice(1);
    if (!names.has(name)) throw new Error(`nothing is called ${name}`);
    return resolve(names.get(name), names);
  }
  if (Array.isArray(value)) return value.map((item) => resolve(item, names));
  if (value instanceof Map && value.size === 1 && value.has('$join')) {
    return new Str(resolve(value.get('$join'), names).map((part) => part.value).join(''));
  }
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, resolve(item, names)]));
  return value;
}

/** Holds a value against a pattern whose names are resolved; gives what `$bind` bound. */
export function hold(pattern, value) {
  const bound = new Map();
  held(pattern, value, bound, '');
  return bound;
}

/** Each pattern takes one value, whatever the order. */
export function holdAll(patterns, values) {
  const bound = new Map();
  unordered(patterns, values, bound, '');
  return bound;
}

function held(pattern, value, bound, where) {
  const matcher = matcherOf(pattern);
  if (matcher !== undefined) match(matcher, pattern.get(matcher), value, bound, where);
  else if (pattern instanceof Map) members(pattern, value, bound, where, true);
  else if (Array.isArray(pattern)) {
    need(Array.isArray(value) && value.length === pattern.length, pattern, value, where);
    pattern.forEach((inner, at) => held(inner, value[at], bound, `${where}[${at}]`));
  } else if (pattern instanceof Num) need(value instanceof Num && value.text === pattern.text, pattern, value, where);
  else if (pattern instanceof Str) need(value instanceof Str && value.value === pattern.value, pattern, value, where);
  else need(pattern === value, pattern, value, where);
}

function need(fits, wanted, value, where) {
  if (!fits) throw new Mismatch(`${where || 'message'}: expected ${shorten(wanted)}, got ${shorten(value)}`);
}

function matcherOf(pattern) {
  if (!(pattern instanceof Map) || pattern.size !== 1) return undefined;
  const [key] = pattern.keys();
  return MATCHERS.has(key) ? key : undefined;
}

function match(matcher, operand, value, bound, where) {
  const wanted = new Map([[matcher, operand]]);
  switch (matcher) {
    case '$any':
      return;
    case '$type':
      return need([kind(value), kind(value) === 'integer' ? 'number' : ''].includes(operand.value), wanted, value, where);
    case '$oneOf':
      return need(operand.some((one) => fits(one, value)), wanted, value, where);
    case '$line':
      return need(value instanceof Str && isLine(value.value), wanted, value, where);
    case '$holds':
      return need(write(value).includes(operand.value), wanted, value, where);
    case '$optional':
      return held(operand, value, bound, where);
    case '$absent':
      return need(false, wanted, value, where);
    case '$open':
      return members(operand, value, bound, where, false);
    case '$unordered':
      need(Array.isArray(value), wanted, value, where);
      return unordered(operand, value, bound, where);
    case '$bind':
      bound.set(operand.value, value);
  }
}

function fits(pattern, value) {
  try {
    hold(pattern, value);
    return true;
  } catch (error) {
    if (error instanceof Mismatch) return false;
    throw error;
  }
}

function isLine(text) {
  return Buffer.byteLength(text) <= 300 && text.trim() !== '' && !/[\r\n]/.test(text);
}

function members(pattern, value, bound, where, closed) {
  need(value instanceof Map, pattern, value, where);
  for (const [key, inner] of pattern) {
    if (value.has(key)) held(inner, value.get(key), bound, `${where}.${key}`);
    else if (!['$absent', '$optional'].includes(matcherOf(inner))) {
      throw new Mismatch(`${where}.${key} is not there in ${shorten(value)}`);
    }
  }
  for (const [key, item] of value) {
    if (closed && !pattern.has(key)) throw new Mismatch(`${where}.${key} is unexpected: ${shorten(item)}`);
  }
}

function unordered(patterns, values, bound, where) {
  const rest = [...values];
  for (const pattern of patterns) {
    const at = rest.findIndex((value) => fits(pattern, value));
    if (at < 0) throw new Mismatch(`${where || 'messages'}: nothing fits ${shorten(pattern)} among ${shorten(rest)}`);
    for (const [name, value] of hold(pattern, rest[at])) bound.set(name, value);
    rest.splice(at, 1);
  }
  if (rest.length > 0) throw new Mismatch(`${where || 'messages'}: unexpected: ${shorten(rest[0])}`);
}
