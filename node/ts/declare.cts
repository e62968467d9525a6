/**
 * From what a user declares to what the engine lists and the server calls: definitions, schemas, functions.
 */
import type { InputRequired } from './asking.cjs';
import type {
  Annotations,
  CompletionResult,
  ContentBlock,
  PromptMessage,
  PromptResult,
  ResourceContents,
  ResourceResult,
} from './content.cjs';
import type { Context } from './context.cjs';
import { ConfigurationError } from './errors.cjs';
import type { HandlerKind } from './failures.cjs';
import { stringify } from './json.cjs';
import { takeSchema, type AnySchema, type JsonSchema, type OutputOf, type StandardResult, type Validate } from './schema.cjs';

/** An icon, as the specification has it. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

/** What becomes of a function while a modern client is asked. */
export type Reentry = 'replay' | 'held';

/** For which clients a tool's calls are tasks. */
export type TaskSupport = 'optional' | 'required' | 'never';

interface Shown {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  /** The definition's `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * What becomes of the function while a modern client is asked (`Context.elicit` ...). `replay`, when it is not given: it ends,
   * and runs again with the answers. `held`: it waits in this process.
   */
  readonly reentry?: Reentry | undefined;
}

/** Hints about what a tool does. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** How a tool is declared. */
export interface ToolOptions<Input extends AnySchema | undefined> extends Shown {
  /** What the arguments must be; without one: any object. */
  readonly inputSchema?: Input;
  /** What structured results must be. A tool with one returns the value that it describes. */
  readonly outputSchema?: AnySchema | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  /**
   * Whether calls are tasks, whose result is fetched later. `optional`: for clients that take tasks; `required`: others are
   * refused; `never`, when it is not given.
   */
  readonly task?: TaskSupport | undefined;
}

/** The type of a tool's arguments. */
export type Arguments<Input> = Input extends AnySchema ? OutputOf<Input> : OutputOf<JsonSchema>;

/** A tool's function. It may return any value; docs/node.md says what becomes of each. */
export type ToolHandler<Input> = (args: Arguments<Input>, context: Context) => unknown;

/** How a resource or a template is declared. */
export interface ResourceOptions extends Shown {
  /** The last part of the URI, when it is not given. */
  readonly name?: string | undefined;
  readonly mimeType?: string | undefined;
  /** In bytes; not for templates. */
  readonly size?: number | undefined;
  readonly annotations?: Annotations | undefined;
}

type NameOf<Expression extends string> = Expression extends `${'+' | '#' | '.' | '/' | ';' | '?' | '&'}${infer Rest}`
  ? NameOf<Rest>
  : Expression extends `${infer First},${infer Rest}`
    ? NameOf<First> | NameOf<Rest>
    : Expression extends `${infer Name}*` | `${infer Name}:${number}`
      ? Name
      : Expression;

/** The variables of a URI template (RFC 6570). */
export type VariablesOf<Uri extends string> = string extends Uri
  ? Record<string, string>
  : Uri extends `${string}{${infer Expression}}${infer Rest}`
    ? { readonly [Name in NameOf<Expression>]: string } & VariablesOf<Rest>
    : unknown;

/** What a resource's function may return; any other value is shown as JSON. */
export type ResourceValue = string | Uint8Array | ResourceContents | readonly ResourceContents[] | ResourceResult | object;

/** A resource's function. Its first argument holds the variables of the template. */
export type ResourceHandler<Uri extends string> = (
  variables: VariablesOf<Uri>,
  context: Context,
) => ResourceValue | null | undefined | Promise<ResourceValue | null | undefined>;

/** One argument of a prompt. */
export interface PromptArgument {
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

/** The arguments of a prompt: by name, or by a Standard Schema of an object. */
export type PromptArguments = Readonly<Record<string, PromptArgument>> | AnySchema;

/** How a prompt is declared. */
export interface PromptOptions<Args extends PromptArguments | undefined> extends Shown {
  readonly arguments?: Args;
}

/** The type of a prompt's arguments. */
export type PromptInput<Args> = Args extends { readonly '~standard': unknown }
  ? OutputOf<Args>
  : Args extends Readonly<Record<string, PromptArgument>>
    ? { readonly [Name in keyof Args]: Args[Name] extends { readonly required: true } ? string : string | undefined }
    : Record<string, string>;

/** What a prompt's function may return; a string is what the user says. */
export type PromptValue =
  | string
  | PromptResult
  | PromptMessage
  | ContentBlock
  | InputRequired
  | readonly (PromptMessage | ContentBlock | string)[];

/** A prompt's function. */
export type PromptHandler<Args> = (args: PromptInput<Args>, context: Context) => PromptValue | Promise<PromptValue>;

/** A completion's function: from the text so far, and the arguments that are chosen already, to values that fit. */
export type CompletionHandler = (
  value: string,
  chosen: Readonly<Record<string, string>>,
  context: Context,
) => readonly string[] | CompletionResult | Promise<readonly string[] | CompletionResult>;

/** One tool, resource, template or prompt, ready for the native server. */
export interface Declared {
  readonly kind: Exclude<HandlerKind, 'completion' | 'method'>;
  /** Its name, URI or URI template. */
  readonly key: string;
  readonly definition: string;
  readonly handler: (args: never, context: Context) => unknown;
  readonly validate: Validate | undefined;
  /** A tool with an output schema. */
  readonly structured: boolean;
  readonly mimeType: string | undefined;
  /** It waits in this process while a modern client is asked. */
  readonly held: boolean;
}

/** Declares a tool. */
export function declareTool(
  name: string,
  options: ToolOptions<AnySchema | undefined>,
  handler: Declared['handler'],
): Declared {
  named(name, 'tool');
  callable(handler, `tool '${name}'`);
  const { title, description, inputSchema, outputSchema, annotations, icons, meta } = options;
  const input = inputSchema === undefined ? undefined : takeSchema(inputSchema, `tool '${name}', inputSchema`, 'input');
  const output = outputSchema === undefined ? undefined : takeSchema(outputSchema, `tool '${name}', outputSchema`, 'output');
  const definition = {
    name,
    title,
    description,
    inputSchema: input?.jsonSchema ?? { type: 'object' },
    outputSchema: output?.jsonSchema,
    annotations,
    icons,
    execution: options.task === undefined ? undefined : { taskSupport: taskSupport(options.task, name) },
    _meta: meta,
  };
  return {
    kind: 'tool',
    key: name,
    definition: stringify(definition, `tool '${name}'`),
    handler,
    validate: input?.validate,
    structured: output !== undefined,
    mimeType: undefined,
    held: isHeld(options.reentry, `tool '${name}'`),
  };
}

/** Declares a resource, or a template when the URI has variables. */
export function declareResource(uri: string, options: ResourceOptions, handler: Declared['handler']): Declared {
  named(uri, 'resource');
  callable(handler, `resource '${uri}'`);
  const { title, description, mimeType, size, annotations, icons, meta } = options;
  const kind = uri.includes('{') ? 'template' : 'resource';
  const name = options.name ?? (uri.split('/').filter(Boolean).at(-1) as string);
  const definition = {
    [kind === 'template' ? 'uriTemplate' : 'uri']: uri,
    name,
    title,
    description,
    mimeType,
    size: kind === 'template' ? undefined : size,
    annotations,
    icons,
    _meta: meta,
  };
  const text = stringify(definition, `resource '${uri}'`);
  const held = isHeld(options.reentry, `resource '${uri}'`);
  return { kind, key: uri, definition: text, handler, validate: undefined, structured: false, mimeType, held };
}

/** Declares a prompt. */
export function declarePrompt(
  name: string,
  options: PromptOptions<PromptArguments | undefined>,
  handler: Declared['handler'],
): Declared {
  named(name, 'prompt');
  callable(handler, `prompt '${name}'`);
  const { title, description, icons, meta } = options;
  const [list, validate] = promptArguments(options.arguments, `prompt '${name}', arguments`);
  const definition = { name, title, description, arguments: list, icons, _meta: meta };
  return {
    kind: 'prompt',
    key: name,
    definition: stringify(definition, `prompt '${name}'`),
    handler,
    validate,
    structured: false,
    mimeType: undefined,
    held: isHeld(options.reentry, `prompt '${name}'`),
  };
}

function promptArguments(
  args: PromptArguments | undefined,
  where: string,
): [list: object[] | undefined, validate: Validate | undefined] {
  if (args === undefined) return [undefined, undefined];
  if (!('~standard' in args) && !('schema' in args && 'jsonSchema' in args)) {
    const byName = Object.entries(args as Readonly<Record<string, PromptArgument>>);
    return [byName.map(([name, { title, description, required }]) => ({ name, title, description, required })), undefined];
  }
  const { jsonSchema, validate } = takeSchema(args as AnySchema, where, 'input');
  const { properties = {}, required = [] } = jsonSchema as {
    properties?: Record<string, { title?: string; description?: string }>;
    required?: string[];
  };
  const list = Object.entries(properties).map(([name, { title, description }]) => {
    return { name, title, description, required: required.includes(name) };
  });
  return [list, validate === undefined ? undefined : fromText(validate)];
}

/** Arguments of prompts come as text (`server/prompts`); what the schema does not take as text is read as JSON. */
function fromText(validate: Validate): Validate {
  const again = (given: Readonly<Record<string, unknown>>, first: StandardResult<unknown>): ReturnType<Validate> => {
    if (first.issues === undefined) return first;
    const read = { ...given };
    let differs = false;
    for (const { path } of first.issues) {
      const part = path?.[0];
      const name = (typeof part === 'object' ? part.key : part) as string;
      if (!Object.hasOwn(given, name)) continue;
      try {
        read[name] = JSON.parse(given[name] as string);
        differs = true;
      } catch {
        // It is no JSON, and stays the text that the schema does not take.
      }
    }
    return differs ? validate(read) : first;
  };
  return (given) => {
    const args = given as Readonly<Record<string, unknown>>;
    const first = validate(args);
    return first instanceof Promise ? first.then((result) => again(args, result)) : again(args, first);
  };
}

/** As the specification calls it (2025-11-25 `basic/utilities/tasks`, "Tool-Level Negotiation"). */
function taskSupport(task: TaskSupport, name: string): string {
  if (task === 'optional' || task === 'required') return task;
  if (task === 'never') return 'forbidden';
  throw new ConfigurationError(`tool '${name}', task: ${String(task)} is none of 'optional', 'required', 'never'`);
}

function isHeld(reentry: Reentry | undefined, where: string): boolean {
  if (reentry === undefined || reentry === 'replay') return false;
  if (reentry === 'held') return true;
  throw new ConfigurationError(`${where}, reentry: ${String(reentry)} is neither 'replay' nor 'held'`);
}

function named(name: unknown, what: string): void {
  if (typeof name !== 'string' || name === '') throw new ConfigurationError(`a ${what} is declared by a text first`);
}

/** Refuses what can't be called. */
export function callable(handler: unknown, where: string): void {
  if (typeof handler !== 'function') throw new ConfigurationError(`${where}: its last argument is a function`);
}
