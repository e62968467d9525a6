/** What describes a tool's or a prompt's arguments: plain JSON Schema, or a schema of any Standard Schema library. */
import { ConfigurationError } from './errors.cjs';

/** A JSON Schema, as data. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** What a Standard Schema library says of a value (https://standardschema.dev). */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that is wrong with a value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod, valibot, arktype or another library that follows Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A Standard Schema with the JSON Schema that clients are shown, for libraries that don't give it by themselves. */
export interface ShownSchema<S extends StandardSchema = StandardSchema> {
  readonly schema: S;
  readonly jsonSchema: JsonSchema;
}

/** All forms of a schema. */
export type AnySchema = StandardSchema | ShownSchema | JsonSchema;

/** The type of the values that a schema lets through; of plain JSON Schema only that it is an object. */
export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : S extends { readonly schema: infer Inner extends StandardSchema; readonly jsonSchema: JsonSchema }
    ? NonNullable<Inner['~standard']['types']>['output']
    : // `any`, because the shape is known to the author of the schema only.
      { [name: string]: any };

/** Gives the value as the library made it, or the issues. */
export type Validate = StandardSchema['~standard']['validate'];

/** A schema taken apart. */
export interface Taken {
  readonly jsonSchema: JsonSchema;
  readonly validate: Validate | undefined;
}

/** Takes a schema apart. `where` names it in errors; `side` says whose values it is for. */
export function takeSchema(schema: AnySchema, where: string, side: 'input' | 'output'): Taken {
  if (isStandard(schema)) {
    return { jsonSchema: shownBy(schema, where, side), validate: schema['~standard'].validate };
  }
  const inner = (schema as { schema?: unknown }).schema;
  if (isStandard(inner)) {
    return { jsonSchema: (schema as ShownSchema).jsonSchema, validate: inner['~standard'].validate };
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new ConfigurationError(`${where}: a schema is a JSON Schema object or a Standard Schema`);
  }
  return { jsonSchema: schema as JsonSchema, validate: undefined };
}

/** What is wrong with a value, in one line. */
export function described(issues: readonly StandardIssue[]): string {
  return issues
    .map(({ path, message }) => {
      const place = path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return place ? `${place}: ${message}` : message;
    })
    .join('; ');
}

// arktype's schemas are functions.
function isStandard(value: unknown): value is StandardSchema {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

/** The part of Standard JSON Schema that is used here, and a method that some libraries have in its place. */
interface Showing {
  readonly '~standard': { readonly jsonSchema?: Record<'input' | 'output', (options: { target: string }) => unknown> };
  readonly toJsonSchema?: () => unknown;
}

function shownBy(schema: StandardSchema, where: string, side: 'input' | 'output'): JsonSchema {
  const showing = schema as unknown as Showing;
  const shown = showing['~standard'].jsonSchema;
  try {
    if (shown !== undefined) return shown[side]({ target: 'draft-2020-12' }) as JsonSchema;
    if (typeof showing.toJsonSchema === 'function') return showing.toJsonSchema() as JsonSchema;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`${where}: its ${schema['~standard'].vendor} schema has no JSON Schema: ${reason}`, {
      cause,
    });
  }
  throw new ConfigurationError(
    `${where}: ${schema['~standard'].vendor} does not say the JSON Schema of its schemas by itself; ` +
      `give { schema, jsonSchema }, or for valibot toStandardJsonSchema(schema) of @valibot/to-json-schema`,
  );
}
