import { z } from 'zod';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { FILTER_SHAPE } from './filter-shape.ts';

const wellFormed = (text: string) => text.isWellFormed();
const scalar = z.union([z.string().max(512).refine(wellFormed), z.number(), z.boolean()]);
type Scalar = z.output<typeof scalar>;
const key = z.string().min(1).max(64).refine(wellFormed);

/** Bounds on a whole filter; each condition and each value takes time for every document of the bucket. */
const DEPTH_MAX = 20;
const CONDITIONS_MAX = 50;
const VALUES_MAX = 1_000;

type Comparison = { type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; key: string; value: Scalar };
type Membership = { type: 'in' | 'nin'; key: string; value: Scalar[] };
type Compound = { type: 'and' | 'or'; filters: Condition[] };
type Condition = Comparison | Membership | Compound;

const Condition: z.ZodType<Condition> = z.lazy(() =>
  z.union([
    z.object({ type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']), key, value: scalar }),
    z.object({ type: z.enum(['in', 'nin']), key, value: z.array(scalar).min(1) }),
    z.object({ type: z.enum(['and', 'or']), filters: z.array(Condition).min(1) }),
  ]),
);

const Plain = z.record(key, z.union([scalar, z.array(scalar).min(1)]));

/**
 * Filter of documents: `{key: scalar | [scalars]}` (every key must match), or OpenAI's shape `{type: "eq", key, value}`
 * / `{type: "and", filters: […]}`. An object with a string `type` and a `key` or `filters` is of the second shape.
 * Altogether it has at most 50 conditions, 1,000 values and 20 levels.
 */
export const Filter = z
  .unknown()
  .transform((value, context): Condition => {
    const compound =
      typeof value === 'object' && value !== null && 'type' in value && ('key' in value || 'filters' in value);
    const fault = sizeFault(value, compound);
    if (fault !== null) {
      context.addIssue({ code: 'custom', message: fault });
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
  .meta(FILTER_SHAPE);
export type Filter = Condition;

function fromPlain(plain: z.output<typeof Plain>): Condition {
  const filters = Object.entries(plain).map(
    ([name, value]): Condition =>
      Array.isArray(value) ? { type: 'in', key: name, value } : { type: 'eq', key: name, value },
  );
  return { type: 'and', filters };
}

/** Find a bound that a filter exceeds, level by level and without recursion; null if it exceeds none. */
function sizeFault(filter: unknown, isCompound: boolean): string | null {
  let conditions = 0;
  let values = 0;
  const count = (value: unknown) => {
    conditions++;
    values += Array.isArray(value) ? value.length : 1;
  };
  if (!isCompound && typeof filter === 'object' && filter !== null) Object.values(filter).forEach(count);
  let level: unknown[] = isCompound ? [filter] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return `must not be nested deeper than ${DEPTH_MAX} levels`;
    level = level.flatMap((node) => {
      const { filters, value } = (node ?? {}) as { filters?: unknown; value?: unknown };
      if (Array.isArray(filters)) return filters;
      count(value);
      return [];
    });
    if (conditions > CONDITIONS_MAX || level.length > CONDITIONS_MAX) break;
  }
  if (conditions > CONDITIONS_MAX || level.length > CONDITIONS_MAX) {
    return `must not have more than ${CONDITIONS_MAX} conditions`;
  }
  return values > VALUES_MAX ? `must not have more than ${VALUES_MAX.toLocaleString('en')} values` : null;
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

/** Return true if the SQL of a filter is one of few texts: it compares one key of the metadata for equality. */
export function isOfCommonShape(filter: Condition): boolean {
  const [only, ...others] = filter.type === 'and' ? filter.filters : [filter];
  return (only?.type === 'eq' || only?.type === 'in') && others.length === 0 && !COLUMNS.has(only.key);
}

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
      if (rest.length === 0) return first;
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
