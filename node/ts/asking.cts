/**
 * What a function can ask of its client, and what comes back: forms, URLs, the client's model, its roots.
 *
 * Decides how each question is written and what its answer becomes. How it gets to the client, whose revision may have
 * requests for it or not, is the engine's work.
 */
import type { Annotations, AudioContent, Bytes, ImageContent, TextContent } from './content.cjs';
import { ConfigurationError, InvalidAnswer } from './errors.cjs';
import { formOf } from './forms.cjs';
import { stringify } from './json.cjs';
import type { AnySchema, OutputOf } from './schema.cjs';

/** One question, for `Context.ask` and `Context.inputRequired`: made by `elicit`, `elicitUrl`, `sample` and `listRoots`. */
export interface InputRequest<T = unknown> {
  readonly method: string;
  /** In the newest revision's form. */
  readonly params: object;
  /**
   * The answer as a value, out of the result that the client sent.
   *
   * @throws InvalidAnswer where it is not what was asked for
   */
  readonly read: (answer: unknown) => Promise<T>;
}

/** The answers to some questions, by their keys. */
export type AnswersOf<Requests> = {
  readonly [Key in keyof Requests]: Requests[Key] extends InputRequest<infer T> ? T : never;
};

/** How something is asked. */
export interface AskOptions {
  /**
   * Tells this question from the others of the call. Without one the order of asking does, which must then be the same in
   * every run.
   */
  readonly key?: string;
  /**
   * Milliseconds that a legacy client has; else the configuration's `limits.outgoingTimeoutMs`. A modern client comes back when
   * it can.
   */
  readonly timeoutMs?: number;
}

/** What a user said to a form. */
export type ElicitResult<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** What a user said to a URL. `accept`: will go there; not that anything was done there. */
export interface ElicitUrlResult {
  readonly action: 'accept' | 'decline' | 'cancel';
}

/** A use of a tool, as a model wants it. */
export interface ToolUseContent {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** What a tool gave a model. */
export interface ToolResultContent {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly content: readonly object[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly annotations?: Annotations;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A block of a message to a model, or from one. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** One message of a conversation with a model. */
export interface SamplingMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | SamplingContent | readonly SamplingContent[];
}

/** Which model, of those that a client has. */
export interface ModelPreferences {
  readonly hints?: readonly { readonly name?: string }[];
  readonly costPriority?: number;
  readonly speedPriority?: number;
  readonly intelligencePriority?: number;
}

/** The parameters of `sampling/createMessage`. A text is what the user says. */
export interface SampleParams {
  readonly messages: string | readonly (string | SamplingMessage)[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly modelPreferences?: ModelPreferences;
  readonly tools?: readonly object[];
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' };
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
}

/** A message of the client's model. */
export interface SampleResult {
  readonly role: 'user' | 'assistant';
  readonly content: SamplingContent | readonly SamplingContent[];
  readonly model: string;
  readonly stopReason?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A folder or file that the client works on. */
export interface Root {
  /** A `file://` URI. */
  readonly uri: string;
  /** What the user calls it. */
  readonly name?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/**
 * A form for the user (`client/elicitation`). `schema`: a Standard Schema of a flat object, whose value is the content, or the
 * form's JSON Schema.
 *
 * @throws ConfigurationError where the schema has no JSON Schema
 */
export function elicit<const S extends AnySchema>(
  message: string,
  schema: S,
): InputRequest<ElicitResult<OutputOf<S>>> {
  const form = formOf(schema);
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: form.schema },
    read: async (answer) => {
      const action = actionOf(answer);
      if (action !== 'accept') return { action };
      const { content } = answer as { content?: unknown };
      return { action, content: (await form.read(content ?? {})) as OutputOf<S> };
    },
  };
}

/** A URL for the user to visit, for what must not go through the client (`client/elicitation`, "URL Mode"). */
export function elicitUrl(message: string, url: string | URL): InputRequest<ElicitUrlResult> {
  return {
    method: 'elicitation/create',
    params: { mode: 'url', message, url: String(url) },
    read: async (answer) => ({ action: actionOf(answer) }),
  };
}

/** A message from the client's model (`client/sampling`). */
export function sample(params: SampleParams): InputRequest<SampleResult> {
  const { messages } = params;
  const list = typeof messages === 'string' ? [messages] : messages;
  return {
    method: 'sampling/createMessage',
    params: { ...params, messages: list.map(messageOf) },
    read: async (answer) => {
      const { role, content, model } = members(answer);
      if (typeof role === 'string' && typeof model === 'string' && typeof content === 'object' && content !== null) {
        return answer as SampleResult;
      }
      throw new InvalidAnswer('a sampled message needs role, content and model');
    },
  };
}

/** Which folders and files the client works on (`client/roots`). */
export function listRoots(): InputRequest<readonly Root[]> {
  return {
    method: 'roots/list',
    params: {},
    read: async (answer) => {
      const { roots } = members(answer);
      if (Array.isArray(roots) && roots.every((root) => typeof members(root)['uri'] === 'string')) return roots as Root[];
      throw new InvalidAnswer('roots/list needs an array of objects with a uri');
    },
  };
}

/** A round that a function writes itself: what it returns to ask, and to be called again with the answers. */
export class InputRequired {
  /** @internal JSON text for the native module. */
  readonly text: string;

  /** @internal Made by `Context.inputRequired`. */
  constructor(requests: Readonly<Record<string, Pick<InputRequest, 'method' | 'params'>>>, state: string | undefined) {
    if (state !== undefined && typeof state !== 'string') throw new ConfigurationError('state: it is a text');
    const asked = Object.entries(requests).map(([key, { method, params }]) => [key, { method, params }]);
    const round = { requests: asked.length === 0 ? undefined : Object.fromEntries(asked), state };
    this.text = stringify(round, 'inputRequired');
  }
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function actionOf(answer: unknown): 'accept' | 'decline' | 'cancel' {
  const { action } = members(answer);
  if (action === 'accept' || action === 'decline' || action === 'cancel') return action;
  throw new InvalidAnswer('"action" must be "accept", "decline" or "cancel"');
}

function messageOf(message: string | SamplingMessage): object {
  if (typeof message === 'string') return { role: 'user', content: { type: 'text', text: message } };
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: { type: 'text', text: content } };
  return { ...message, content: Array.isArray(content) ? content.map(blockOf) : blockOf(content as SamplingContent) };
}

function blockOf(block: SamplingContent): object {
  return 'data' in block ? { ...block, data: base64(block.data) } : block;
}

function base64(data: Bytes): string {
  return typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
