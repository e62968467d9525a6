/**
 * What host code returned, made into what the native module sends: which value becomes which content.
 *
 * Bytes are not encoded here: they cross as they are, and a mark stands in their place in the text.
 */
import type { AnswerKind, Answers } from './bridge.cjs';
import type {
  CompletionResult,
  ContentBlock,
  PromptMessage,
  PromptResult,
  ResourceContents,
  ResourceResult,
  ToolResult,
} from './content.cjs';
import { SerializationError } from './errors.cjs';
import { mark, stringify } from './json.cjs';

/** Sends an answer whose members may hold bytes. */
class Writer {
  readonly #bytes: Uint8Array[] = [];

  /** What stands for bytes in the text; text stays as it is. */
  data(value: Uint8Array | string): string {
    return typeof value === 'string' ? value : `${mark}#${this.#bytes.push(value) - 1}`;
  }

  block(block: ContentBlock): unknown {
    if ('data' in block && typeof block.data !== 'string') return { ...block, data: this.data(block.data) };
    if (block.type !== 'resource') return block;
    const { blob } = block.resource;
    if (blob === undefined || typeof blob === 'string') return block;
    return { ...block, resource: { ...block.resource, blob: this.data(blob) } };
  }

  send(answers: Answers, number: number, kind: AnswerKind, value: unknown, what: string): void {
    const json = stringify(value, what);
    if (this.#bytes.length === 0) answers.answer(number, kind, json);
    else answers.answerWith(number, kind, json, this.#bytes);
  }
}

/** Answers a `tools/call`. `structured`: the tool has an output schema. */
export function sendTool(answers: Answers, number: number, value: unknown, structured: boolean): void {
  if (typeof value === 'string' && !structured) {
    answers.answer(number, 'text', JSON.stringify(value));
  } else if (isToolResult(value, structured)) {
    const writer = new Writer();
    const { structuredContent, isError, _meta } = value;
    const content = value.content.map((block) => writer.block(block));
    writer.send(answers, number, 'tool', { content, structuredContent, isError, _meta }, 'result');
  } else if (structured) {
    answers.answer(number, 'structured', stringify(value, 'result'));
  } else if (value === undefined || value === null) {
    answers.answer(number, 'tool', '{"content":[]}');
  } else if (value instanceof Uint8Array) {
    const writer = new Writer();
    const resource = { uri: 'resource://result', mimeType: 'application/octet-stream', blob: writer.data(value) };
    writer.send(answers, number, 'tool', { content: [{ type: 'resource', resource }] }, 'result');
  } else if (isBlock(value) || (Array.isArray(value) && value.length > 0 && value.every(isBlock))) {
    const writer = new Writer();
    const blocks: ContentBlock[] = Array.isArray(value) ? value : [value];
    writer.send(answers, number, 'tool', { content: blocks.map((block) => writer.block(block)) }, 'result');
  } else {
    answers.answer(number, 'text', JSON.stringify(stringify(value, 'result')));
  }
}

/** Answers a `resources/read` of `uri`. */
export function sendResource(
  answers: Answers,
  number: number,
  value: unknown,
  uri: string,
  mimeType: string | undefined,
): void {
  const writer = new Writer();
  const contents = (item: unknown): unknown => {
    if (typeof item === 'string') return { uri, mimeType: mimeType ?? 'text/plain', text: item };
    if (item instanceof Uint8Array) {
      return { uri, mimeType: mimeType ?? 'application/octet-stream', blob: writer.data(item) };
    }
    if (isContents(item)) {
      const { blob, ...rest } = item;
      const shown = { uri, ...(mimeType === undefined ? {} : { mimeType }), ...rest };
      return blob === undefined ? shown : { ...shown, blob: writer.data(blob) };
    }
    return { uri, mimeType: mimeType ?? 'application/json', text: stringify(item, 'result') };
  };
  let items: readonly unknown[] = [value];
  let meta: ResourceResult['_meta'];
  if (value === undefined || value === null) items = [];
  else if (isObject(value) && Array.isArray((value as Partial<ResourceResult>).contents)) {
    ({ contents: items, _meta: meta } = value as ResourceResult);
  } else if (Array.isArray(value) && value.length > 0 && value.every(isContents)) items = value;
  const found = items.map(contents);
  if (meta === undefined) writer.send(answers, number, 'contents', found, 'contents');
  else writer.send(answers, number, 'result', { contents: found, _meta: meta }, 'result');
}

/** Answers a `prompts/get`. */
export function sendPrompt(answers: Answers, number: number, value: unknown): void {
  const writer = new Writer();
  const whole = isObject(value) && Array.isArray((value as Partial<PromptResult>).messages);
  const found = whole ? (value as PromptResult).messages : value;
  const items = (Array.isArray(found) ? found : [found]) as unknown[];
  const messages = items.map((item) => {
    const message = isMessage(item) ? item : { role: 'user', content: item };
    if (message.role !== 'user' && message.role !== 'assistant') {
      throw new SerializationError(`messages: role ${stringify(message.role, 'role')} is neither 'user' nor 'assistant'`);
    }
    const { content } = message;
    if (isBlock(content)) return { ...message, content: writer.block(content) };
    const text = typeof content === 'string' ? content : stringify(content, 'message');
    return { ...message, content: { type: 'text', text } };
  });
  const { description, _meta } = whole ? (value as PromptResult) : { description: undefined, _meta: undefined };
  const kind = _meta === undefined ? 'prompt' : 'result';
  writer.send(answers, number, kind, { description, messages, _meta }, 'messages');
}

/** Answers a `completion/complete`. */
export function sendCompletion(answers: Answers, number: number, value: unknown): void {
  const whole = isObject(value) && Array.isArray((value as Partial<CompletionResult>).values);
  const { values, total, hasMore } = whole
    ? (value as CompletionResult)
    : { values: (value ?? []) as Iterable<unknown>, total: undefined, hasMore: undefined };
  const texts = Array.from(values, String);
  answers.answer(number, 'completion', stringify({ values: texts, total: total ?? undefined, hasMore }, 'values'));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isBlock(value: unknown): value is ContentBlock {
  if (!isObject(value)) return false;
  const { type } = value as { type?: unknown };
  return type === 'text' || type === 'image' || type === 'audio' || type === 'resource_link' || type === 'resource';
}

/** A whole result and not data: one with content blocks; under an output schema it must also say so otherwise. */
function isToolResult(value: unknown, structured: boolean): value is ToolResult {
  if (!isObject(value)) return false;
  const { content } = value as { content?: unknown };
  if (!Array.isArray(content) || !content.every(isBlock)) return false;
  return !structured || 'structuredContent' in value || (value as ToolResult).isError === true;
}

function isContents(value: unknown): value is ResourceContents {
  if (!isObject(value)) return false;
  const { text, blob } = value as ResourceContents;
  return typeof text === 'string' || typeof blob === 'string' || blob instanceof Uint8Array;
}

function isMessage(value: unknown): value is PromptMessage {
  return isObject(value) && 'role' in value && 'content' in value;
}
