import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';

/** Schema of arguments or results, in the form of the SDK. */
export type ToolSchema = StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>>;

type Json = Record<string, unknown>;

/**
 * Keywords to omit from the tool list, which each client loads into its model's context. Errors explain the limits of
 * arguments in sentences.
 */
const LEFT_OUT = new Set([
  ...['$schema', 'propertyNames', 'pattern', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
]);

const schemas = new WeakMap<z.ZodObject, ToolSchema>();

/** Cache the JSON Schema of a schema. The SDK requests it in every session, and in each call of the newest revision. */
export function withJson(schema: z.ZodObject): ToolSchema {
  const known = schemas.get(schema);
  if (known !== undefined) return known;
  const standard = schema['~standard'];
  const made = new Map<string, Json>();
  const once = (io: 'input' | 'output') => (options: Parameters<typeof standard.jsonSchema.input>[0]) => {
    const key = `${io} ${options.target}`;
    const json = made.get(key) ?? (shorten(standard.jsonSchema[io](options)) as Json);
    made.set(key, json);
    return json;
  };
  const cached = { '~standard': { ...standard, jsonSchema: { input: once('input'), output: once('output') } } };
  schemas.set(schema, cached as ToolSchema);
  return cached as ToolSchema;
}

/** Return a schema that the SDK shows to clients but doesn't validate. */
export function unchecked(schema: ToolSchema): ToolSchema {
  const validate = (value: unknown) => ({ value: value as Record<string, unknown> });
  return { '~standard': { ...schema['~standard'], validate } };
}

/** Remove the keywords of a JSON Schema that don't help a model. Property names aren't keywords. */
function shorten(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(shorten);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => !LEFT_OUT.has(name) && !allowsAnything(name, value));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, name === 'properties' ? shortenEach(value as Json) : shorten(value)]),
  );
}

function shortenEach(properties: Json): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, shorten(schema)]));
}

/** Return true for an `additionalProperties` rule without a schema. Clients may ignore such properties. */
function allowsAnything(name: string, value: unknown): boolean {
  return name === 'additionalProperties' && (typeof value === 'boolean' || Object.keys(value as Json).length === 0);
}
