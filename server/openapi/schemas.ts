import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

/** Formats whose zod regular expression isn't portable. Validators know them by name. */
const NAMED_FORMATS: ReadonlySet<unknown> = new Set(['date-time', 'date']);

/**
 * Collects `components.schemas`. It renders zod schemas as JSON Schema, with named parts as references into the
 * components.
 */
export class SchemaComponents {
  readonly #schemas = new Map<string, JsonObject>();

  /** Render a schema. Parts that JSON Schema can't express (the output of a transform, a Buffer) accept anything. */
  render(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const rendered = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override({ jsonSchema }) {
        if (NAMED_FORMATS.has(jsonSchema.format)) delete jsonSchema.pattern;
      },
    }) as JsonObject;
    const { $schema: _dialect, $defs = {}, ...root } = pointToComponents(rendered) as JsonObject;
    for (const [name, part] of Object.entries($defs as Record<string, JsonObject>)) this.#add(name, part);
    return root;
  }

  /** Render a schema, changed by `change`, as the component `name`. @returns a reference to it */
  define(
    name: string,
    schema: z.ZodType,
    io: 'input' | 'output',
    change: (rendered: JsonObject) => JsonObject = (rendered) => rendered,
  ): JsonObject {
    const rendered = change(this.render(schema, io));
    if (typeof rendered['$ref'] !== 'string') this.#add(name, rendered);
    return typeof rendered['$ref'] === 'string' ? rendered : { $ref: `#/components/schemas/${name}` };
  }

  /** All components, by name. */
  toJson(): JsonObject {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** @throws TypeError if two different schemas have one name */
  #add(name: string, { id: _id, ...schema }: JsonObject): void {
    const known = this.#schemas.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new TypeError(`two different schemas are named ${name} in the OpenAPI document`);
    }
    this.#schemas.set(name, schema);
  }
}

/**
 * Copy a request body's schema, allowing null for its optional fields. If one of several fields is required, leave
 * these fields unchanged, since null counts as absent.
 */
export function allowNulls(schema: JsonObject): JsonObject {
  const { properties, required = [], anyOf = [], oneOf = [] } = schema as Readonly<Record<string, unknown[]>>;
  if (typeof properties !== 'object') return schema;
  const alternatives = [...anyOf, ...oneOf].flatMap((each) => (each as { required?: unknown[] }).required ?? []);
  const needed = new Set([...required, ...alternatives]);
  const changed = Object.entries(properties as unknown as Record<string, JsonObject>).map(([name, property]) => {
    const inner = allowNulls(property);
    return [name, needed.has(name) || takesNull(inner) ? inner : orNull(inner)];
  });
  return { ...schema, properties: Object.fromEntries(changed) };
}

/** Copy a request body's schema so that it refuses unknown fields, including in nested objects. */
export function refuseOthers(schema: JsonObject): JsonObject {
  const { properties, anyOf } = schema as { properties?: Record<string, JsonObject>; anyOf?: JsonObject[] };
  if (properties === undefined) {
    const isNullable = anyOf?.some(({ type }) => type === 'null');
    return isNullable ? { ...schema, anyOf: anyOf?.map(refuseOthers) } : schema;
  }
  const inner = Object.entries(properties).map(([name, property]) => [name, refuseOthers(property)]);
  return { ...schema, properties: Object.fromEntries(inner), additionalProperties: false };
}

function orNull({ description, default: value, ...property }: JsonObject): JsonObject {
  return {
    anyOf: [property, { type: 'null' }],
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { default: value }),
  };
}

function takesNull({ type, anyOf, oneOf, ...others }: JsonObject): boolean {
  const options = [anyOf ?? [], oneOf ?? []].flat() as JsonObject[];
  if (options.length > 0) return options.some(takesNull);
  const isAnything =
    type === undefined && Object.keys(others).every((key) => key === 'description' || key === 'default');
  return isAnything || [type].flat().includes('null');
}

/** Copy a rendered schema, converting references to `$defs` into references to the components. */
function pointToComponents(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointToComponents);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      key === '$ref' && typeof part === 'string'
        ? part.replace('#/$defs/', '#/components/schemas/')
        : pointToComponents(part),
    ]),
  );
}
