import type { z } from 'zod';
import { definitionOf, innerOf, type Schema } from './zod-definition.ts';

/**
 * Parse `value`. If that fails, parse it again without its optional null fields, so that a client can send null for an
 * unset field.
 */
export function parseWithNulls<S extends z.ZodType>(
  schema: S,
  value: unknown,
  options: z.core.ParseContext<z.core.$ZodIssue> = {},
): z.ZodSafeParseResult<z.output<S>> {
  const parsed = schema.safeParse(value, options);
  if (parsed.success) return parsed;
  const without = withoutNulls(schema, value);
  return without === value ? parsed : schema.safeParse(without, options);
}

/**
 * Copy a value without the null fields that `schema` refuses but that are optional. Return the value itself if it has
 * none.
 */
function withoutNulls(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const definition = definitionOf(schema);
  switch (definition.type) {
    case 'object':
      return mapEntries(value, (name, field) => fieldWithoutNulls(definition.shape?.[name], field));
    case 'record':
      return mapEntries(value, (_name, field) => withoutNulls(definition.valueType as Schema, field));
    case 'array':
      return mapItems(value, (item) => withoutNulls(definition.element as Schema, item));
    case 'union':
      return ofFittingOption(definition.options ?? [], value);
    default: {
      const inner = innerOf(schema);
      return inner === undefined ? value : withoutNulls(inner, value);
    }
  }
}

function fieldWithoutNulls(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined || value === undefined) return value;
  if (value !== null) return withoutNulls(schema, value);
  return accepts(schema, undefined) && !accepts(schema, null) ? undefined : value;
}

function accepts(schema: Schema, value: unknown): boolean {
  return (schema as z.ZodType).safeParse(value).success;
}

function ofFittingOption(options: readonly Schema[], value: unknown): unknown {
  for (const option of options) {
    const without = withoutNulls(option, value);
    if (without !== value && accepts(option, without)) return without;
  }
  return value;
}

function mapEntries(value: object, map: (name: string, field: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value;
  let isChanged = false;
  const entries = Object.entries(value).flatMap(([name, field]) => {
    const mapped = map(name, field);
    if (mapped !== field) isChanged = true;
    return mapped === undefined ? [] : [[name, mapped] as const];
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

function mapItems(value: object, map: (item: unknown) => unknown): unknown {
  if (!Array.isArray(value)) return value;
  const items = value.map(map);
  return items.some((item, at) => item !== value[at]) ? items : value;
}
