/** What handlers may return, and helpers that make it. Names and members are those of the specification. */

import type { Icon } from './declare.cjs';

/** Who a piece of content is for, and how important it is. */
export interface Annotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  readonly priority?: number;
  readonly lastModified?: string;
}

interface Block {
  readonly annotations?: Annotations;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Bytes, or their base64 text. */
export type Bytes = Uint8Array | string;

/** A block of text. */
export interface TextContent extends Block {
  readonly type: 'text';
  readonly text: string;
}

/** An image; bytes are encoded on their way out. */
export interface ImageContent extends Block {
  readonly type: 'image';
  readonly data: Bytes;
  readonly mimeType: string;
}

/** A sound; bytes are encoded on their way out. */
export interface AudioContent extends Block {
  readonly type: 'audio';
  readonly data: Bytes;
  readonly mimeType: string;
}

/** A pointer to a resource. */
export interface ResourceLink extends Block {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly icons?: readonly Icon[];
}

/** The contents of a resource, inside a result. */
export interface EmbeddedResource extends Block {
  readonly type: 'resource';
  readonly resource: ResourceContents & { readonly uri: string };
}

/** One block of a tool result or a prompt message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** A tool's whole result. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** One piece of a resource. Without a URI it is the one that was asked for. */
export interface ResourceContents {
  readonly uri?: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: Bytes;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A whole result of a read. */
export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock | string;
}

/** A prompt's whole result. */
export interface PromptResult {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A completion's whole result; at most 100 values are sent. */
export interface CompletionResult {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/** A block of text. */
export function text(text: string): TextContent {
  return { type: 'text', text };
}

/** An image out of its bytes or their base64 text. */
export function image(data: Bytes, mimeType: string): ImageContent {
  return { type: 'image', data, mimeType };
}

/** A sound out of its bytes or their base64 text. */
export function audio(data: Bytes, mimeType: string): AudioContent {
  return { type: 'audio', data, mimeType };
}
