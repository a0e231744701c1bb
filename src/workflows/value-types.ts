import { z } from 'zod';

/** Subset of JSON Schema that describes the types of values. */
export interface ValueSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly additionalProperties?: ValueSchema | boolean;
  readonly items?: ValueSchema;
  readonly anyOf?: readonly ValueSchema[];
  readonly oneOf?: readonly ValueSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, ValueSchema>>;
}

export const ANY: ValueSchema = {};

const converted = { input: new WeakMap<z.ZodType, ValueSchema>(), output: new WeakMap<z.ZodType, ValueSchema>() };

/** Convert a zod schema without references to other schemas. */
export function toValueSchema(schema: z.ZodType, io: 'input' | 'output'): ValueSchema {
  const known = converted[io].get(schema);
  if (known !== undefined) return known;
  const root = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as ValueSchema;
  const value = inline(root, root.$defs ?? {}, 0);
  converted[io].set(schema, value);
  return value;
}

const DEPTH_MAX = 8;

function inline(schema: ValueSchema, defs: Readonly<Record<string, ValueSchema>>, depth: number): ValueSchema {
  if (depth > DEPTH_MAX) return ANY;
  const into = (part: ValueSchema) => inline(part, defs, depth + 1);
  if (schema.$ref !== undefined) {
    const target = defs[schema.$ref.replace('#/$defs/', '')];
    return target === undefined ? ANY : into(target);
  }
  const { properties, additionalProperties: more, items, anyOf, oneOf } = schema;
  return {
    ...(schema.type === undefined ? {} : { type: schema.type }),
    ...(schema.const === undefined ? {} : { const: schema.const }),
    ...(schema.enum === undefined ? {} : { enum: schema.enum }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, into(part)])) }),
    ...(more === undefined ? {} : { additionalProperties: typeof more === 'boolean' ? more : into(more) }),
    ...(items === undefined ? {} : { items: into(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(into) }),
    ...(oneOf === undefined ? {} : { anyOf: oneOf.map(into) }),
  };
}

/** List the types that a value may have, or return null for any. `integer` counts as `number`. */
export function typesOf(schema: ValueSchema): ReadonlySet<string> | null {
  if (schema.anyOf !== undefined) {
    const all = schema.anyOf.map(typesOf);
    return all.includes(null) ? null : new Set(all.flatMap((types) => [...(types as ReadonlySet<string>)]));
  }
  if (schema.type !== undefined) {
    const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
    return new Set(types.map((type) => (type === 'integer' ? 'number' : type)));
  }
  if (schema.const !== undefined) return new Set([typeof schema.const]);
  if (schema.enum !== undefined) return new Set(schema.enum.map((value) => typeof value));
  return null;
}

/** Follow a path into a schema. @returns null if no value can have that path */
export function schemaAt(schema: ValueSchema, path: readonly string[]): ValueSchema | null {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  if (schema.anyOf !== undefined) {
    const found = schema.anyOf.map((part) => schemaAt(part, path)).filter((part) => part !== null);
    return found.length === 0 ? null : found.length === 1 ? (found[0] as ValueSchema) : { anyOf: found };
  }
  const types = typesOf(schema);
  if (types === null) return ANY;
  if (types.has('array')) return /^\d+$/.test(key) ? schemaAt(schema.items ?? ANY, rest) : null;
  if (!types.has('object')) return null;
  const { properties, additionalProperties: more } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return schemaAt(properties[key] as ValueSchema, rest);
  if (properties !== undefined && (more === undefined || more === false)) return null;
  return schemaAt(typeof more === 'object' ? more : ANY, rest);
}

/** Return true if a value of one schema may be valid where the other is expected. */
export function mayFit(given: ValueSchema, expected: ValueSchema): boolean {
  const [has, wants] = [typesOf(given), typesOf(expected)];
  return has === null || wants === null || [...has].some((type) => wants.has(type));
}

/** Format the types of a schema for people: `string or null`. */
export function describeTypes(schema: ValueSchema): string {
  const types = typesOf(schema);
  return types === null ? 'any type' : [...types].join(' or ');
}
