/**
 * Forms that a user is asked to fill in: from a schema to what may be sent, and back.
 *
 * Decides what of a library's schema a form can say (2026-07-28 `client/elicitation`, "Requested Schema": a flat object of
 * primitive values). What it can't say, such as a pattern, is checked when the answer is read. Whether a form is allowed at
 * all is the engine's to say.
 */
import { InvalidAnswer } from './errors.cjs';
import { described, takeSchema, type AnySchema, type JsonSchema } from './schema.cjs';

/** The schema that is sent, and what makes a value of the content that comes back. */
export interface Form {
  readonly schema: JsonSchema;
  readonly read: (content: unknown) => Promise<unknown>;
}

const ABOUT = ['type', 'title', 'description', 'default'];

// By type, what `PrimitiveSchemaDefinition` has room for.
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  string: [...ABOUT, 'minLength', 'maxLength', 'format', 'enum', 'oneOf'],
  number: [...ABOUT, 'minimum', 'maximum'],
  integer: [...ABOUT, 'minimum', 'maximum'],
  boolean: ABOUT,
  array: [...ABOUT, 'minItems', 'maxItems', 'items'],
};
const FORMATS = ['email', 'uri', 'date', 'date-time'];

/** The form of a schema. Plain JSON Schema is sent as it stands. */
export function formOf(schema: AnySchema): Form {
  const { jsonSchema, validate } = takeSchema(schema, 'a form', 'input');
  // A schema that was written beside the library's is the author's own.
  const own = (schema as { jsonSchema?: unknown }).jsonSchema === jsonSchema;
  return {
    schema: validate === undefined || own ? jsonSchema : formed(jsonSchema),
    read: async (content) => {
      if (validate === undefined) return content;
      const checked = await validate(content);
      if (checked.issues !== undefined) throw new InvalidAnswer(`the form's content: ${described(checked.issues)}`);
      return checked.value;
    },
  };
}

function formed({ type, properties, required }: JsonSchema): JsonSchema {
  const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
  return { type, properties: Object.fromEntries(fields.map(([name, field]) => [name, primitive(field)])), required };
}

/** What a form can say of a field. What is no primitive is left as it is, for the engine to refuse. */
function primitive(schema: JsonSchema): JsonSchema {
  const choices = choicesOf(schema);
  const type = schema['type'] ?? (choices === undefined ? undefined : 'string');
  const known = typeof type === 'string' ? KNOWN[type] : undefined;
  if (known === undefined) return schema;
  const { format, items } = schema;
  const field = { ...schema, type, ...(choices === undefined ? {} : { enum: choices }) };
  return Object.fromEntries(
    known
      .filter((key) => key in field && (key !== 'format' || FORMATS.includes(format as string)))
      .map((key) => [key, key === 'items' ? primitive(items as JsonSchema) : (field as JsonSchema)[key]]),
  );
}

/** The texts that a value is one of. */
function choicesOf(schema: JsonSchema): readonly string[] | undefined {
  const choices = 'const' in schema ? [schema['const']] : schema['enum'];
  return Array.isArray(choices) && choices.every((choice) => typeof choice === 'string') ? choices : undefined;
}
