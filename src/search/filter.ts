import { z } from 'zod';
import type { Sql, SqlFragment } from '../platform/postgres.ts';

const wellFormed = (text: string) => text.isWellFormed();
const scalar = z.union([z.string().max(512).refine(wellFormed), z.number(), z.boolean()]);
type Scalar = z.output<typeof scalar>;
const key = z.string().min(1).max(64).refine(wellFormed);

const DEPTH_MAX = 8;
const CONDITIONS_MAX = 50;

type Comparison = { type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; key: string; value: Scalar };
type Membership = { type: 'in' | 'nin'; key: string; value: Scalar[] };
type Compound = { type: 'and' | 'or'; filters: Condition[] };
type Condition = Comparison | Membership | Compound;

const Condition: z.ZodType<Condition> = z.lazy(() =>
  z.union([
    z.object({ type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']), key, value: scalar }),
    z.object({ type: z.enum(['in', 'nin']), key, value: z.array(scalar).min(1).max(1000) }),
    z.object({ type: z.enum(['and', 'or']), filters: z.array(Condition).min(1).max(CONDITIONS_MAX) }),
  ]),
);

const Plain = z.record(key, z.union([scalar, z.array(scalar).min(1).max(1000)]));

/**
 * Filter of documents: `{key: scalar | [scalars]}` (every key must match), or OpenAI's shape `{type: "eq", key, value}`
 * / `{type: "and", filters: […]}`. An object with a string `type` and a `key` or `filters` is of the second shape.
 */
export const Filter = z
  .unknown()
  .transform((value, context): Condition => {
    const compound =
      typeof value === 'object' && value !== null && 'type' in value && ('key' in value || 'filters' in value);
    if (compound && depthOf(value) > DEPTH_MAX) {
      context.addIssue({ code: 'custom', message: `must not be nested deeper than ${DEPTH_MAX}` });
      return z.NEVER;
    }
    const parsed = compound ? Condition.safeParse(value) : Plain.safeParse(value);
    if (!parsed.success) {
      context.addIssue({
        code: 'custom',
        message:
          'must be {key: value or [values]}, {type: eq|ne|gt|gte|lt|lte|in|nin, key, value} or {type: and|or, filters}',
      });
      return z.NEVER;
    }
    return compound ? (parsed.data as Condition) : fromPlain(parsed.data as z.output<typeof Plain>);
  })
  .meta({ type: 'object', description: 'exact matches by key, or an OpenAI filter tree' });
export type Filter = Condition;

function fromPlain(plain: z.output<typeof Plain>): Condition {
  const filters = Object.entries(plain).map(
    ([name, value]): Condition =>
      Array.isArray(value) ? { type: 'in', key: name, value } : { type: 'eq', key: name, value },
  );
  return { type: 'and', filters };
}

function depthOf(value: unknown): number {
  let depth = 0;
  let level: unknown[] = [value];
  while (level.length > 0 && depth <= DEPTH_MAX) {
    depth++;
    level = level.flatMap((node) => {
      const filters = (node as { filters?: unknown } | null)?.filters;
      return Array.isArray(filters) ? filters : [];
    });
  }
  return depth;
}

/** Fields of a document that a filter may name beside user metadata. */
const COLUMNS = new Set([
  'file_name',
  'file_type',
  'classification',
  'review_status',
  'scope',
  'owner_department',
  'source_path',
]);

/**
 * Translate the filter into a condition on a row of `documents`. Values are parameters, never SQL text. A missing key
 * matches only `ne` and `nin`. Order comparisons are numeric if both sides are numbers, otherwise by text.
 */
export function filterSql(sql: Sql, filter: Condition): SqlFragment {
  switch (filter.type) {
    case 'and':
    case 'or': {
      const [first, ...rest] = filter.filters.map((part) => filterSql(sql, part));
      if (!first) return sql`true`;
      const joined = rest.reduce(
        (all, part) => (filter.type === 'and' ? sql`${all} AND ${part}` : sql`${all} OR ${part}`),
        first,
      );
      return sql`(${joined})`;
    }
    case 'in':
      return sql`(${field(sql, filter.key)} = ANY(${sql.array(filter.value.map(String))}::text[]))`;
    case 'nin':
      return sql`(coalesce(${field(sql, filter.key)} <> ALL(${sql.array(filter.value.map(String))}::text[]), true))`;
    case 'eq':
      return equality(sql, filter.key, String(filter.value));
    case 'ne':
      return sql`(${field(sql, filter.key)} IS DISTINCT FROM ${String(filter.value)})`;
    default:
      return comparison(sql, filter.type, filter.key, filter.value);
  }
}

/** Compare for equality, by containment for metadata so that its GIN index can be used. */
function equality(sql: Sql, name: string, value: string): SqlFragment {
  if (COLUMNS.has(name)) return sql`(${field(sql, name)} = ${value})`;
  return sql`(documents.metadata @> ${sql.json({ [name]: value })})`;
}

function comparison(sql: Sql, type: 'gt' | 'gte' | 'lt' | 'lte', name: string, value: Scalar): SqlFragment {
  const operator = { gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` }[type];
  const left = field(sql, name);
  if (typeof value !== 'number') return sql`(${left} COLLATE "C" ${operator} ${String(value)})`;
  const numeric = sql`CASE WHEN ${left} ~ '^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]{1,2})?$' THEN (${left})::numeric END`;
  return sql`(coalesce(${numeric} ${operator} ${value}, false))`;
}

function field(sql: Sql, name: string): SqlFragment {
  return COLUMNS.has(name) ? sql`documents.${sql(name)}` : sql`documents.metadata ->> ${name}`;
}
