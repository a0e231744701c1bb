import { DECIMAL_TEXT } from '../../documents/decimal-text.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { Comparison, Filter, Membership, Presence, Scalar, TextMatch } from './filter.ts';
import { FILTER_COLUMNS } from './filter-keys.ts';

/** Condition that a document's metadata contains one of these objects. */
interface Containment {
  readonly type: 'containment';
  readonly any: readonly Readonly<Record<string, string>>[];
}
type Joined = { readonly type: 'and' | 'or'; readonly parts: readonly Part[] };
type Part = Containment | Comparison | Membership | TextMatch | Presence | Joined;

/**
 * Combine the metadata equalities of a filter into as few conditions as possible, since each takes planning time. An
 * `or` of 50 equalities becomes one condition, and so does an `and` of equalities of different keys.
 */
function simplify(filter: Filter): Part {
  if (filter.type === 'eq' && !FILTER_COLUMNS.has(filter.key)) {
    return { type: 'containment', any: [{ [filter.key]: String(filter.value) }] };
  }
  if (!('filters' in filter)) return filter;
  const { type } = filter;
  const parts: Part[] = [];
  let joined: Containment | null = null;
  for (const part of filter.filters.map(simplify)) {
    const more: Containment | null = part.type === 'containment' ? (joined ? join(type, joined, part) : part) : null;
    if (more) joined = more;
    else parts.push(part);
  }
  if (joined) parts.push(joined);
  const [only] = parts;
  return parts.length === 1 && only ? only : { type, parts };
}

/** Merge two containments into one. Return null if no single containment is equivalent. */
function join(type: 'and' | 'or', a: Containment, b: Containment): Containment | null {
  if (type === 'or') return { type: 'containment', any: [...a.any, ...b.any] };
  const [[left, ...moreLeft], [right, ...moreRight]] = [a.any, b.any];
  if (!left || !right || moreLeft.length > 0 || moreRight.length > 0) return null;
  if (Object.keys(right).some((name) => Object.hasOwn(left, name) && left[name] !== right[name])) return null;
  return { type: 'containment', any: [{ ...left, ...right }] };
}

/** Return true for a single equality on metadata: the SQL of such filters has only a few different texts. */
export function isOfCommonShape(filter: Filter): boolean {
  const part = simplify(filter);
  return part.type === 'containment' || (part.type === 'in' && !FILTER_COLUMNS.has(part.key));
}

/** Purpose of the SQL. `list` looks up all documents that match a filter. `check` tests documents with known ids. */
export type FilterUse = 'list' | 'check';

/** Maximum number of values to look up in the metadata index for a list of documents. Each adds planning time. */
const INDEXED_VALUES_MAX = 50;

/**
 * Translate a filter into a condition on a row of `documents`. Values are parameters, never SQL text. A missing key
 * matches nothing. Order comparisons are numeric if both sides are numbers, otherwise by text, as in statements.
 */
export function filterSql(sql: Sql, filter: Filter, use: FilterUse): SqlFragment {
  const part = simplify(filter);
  if (
    use === 'list' &&
    part.type === 'in' &&
    !FILTER_COLUMNS.has(part.key) &&
    part.value.length <= INDEXED_VALUES_MAX
  ) {
    return containment(
      sql,
      part.value.map((value) => ({ [part.key]: String(value) })),
    );
  }
  const condition = partSql(sql, part, use);
  // IS TRUE keeps a generic plan off the metadata index, which may return millions of matches.
  return use === 'check' ? sql`(${condition} IS TRUE)` : condition;
}

function partSql(sql: Sql, part: Part, use: FilterUse): SqlFragment {
  switch (part.type) {
    case 'and':
    case 'or': {
      const [first, ...rest] = part.parts.map((each) => partSql(sql, each, use));
      if (!first) return sql`true`;
      const joined = rest.reduce(
        (all, each) => (part.type === 'and' ? sql`${all} AND ${each}` : sql`${all} OR ${each}`),
        first,
      );
      return sql`(${joined})`;
    }
    case 'containment':
      return containment(sql, part.any);
    case 'in':
      if (use === 'check') return isOneOf(sql, part);
      return sql`(${field(sql, part.key)} = ANY(${sql.array(part.value.map(String))}::text[]))`;
    case 'nin':
      return sql`((${field(sql, part.key)}) <> ALL(${sql.array(part.value.map(String))}::text[]))`;
    case 'eq':
      return sql`(${field(sql, part.key)} = ${String(part.value)})`;
    case 'ne':
      return sql`((${field(sql, part.key)}) <> ${String(part.value)})`;
    case 'contains':
      return sql`(position(${part.value} IN ${field(sql, part.key)}) > 0)`;
    case 'ncontains':
      return sql`(position(${part.value} IN ${field(sql, part.key)}) = 0)`;
    case 'starts_with':
      return sql`(starts_with(${field(sql, part.key)}, ${part.value}))`;
    case 'ends_with':
      return sql`(right(${field(sql, part.key)}, length(${part.value}::text)) = ${part.value})`;
    case 'exists':
      return sql`(coalesce(${field(sql, part.key)}, '') <> '')`;
    case 'missing':
      return sql`(coalesce(${field(sql, part.key)}, '') = '')`;
    default:
      return comparison(sql, part.type, part.key, part.value);
  }
}

/**
 * Compare with several values by looking them up as keys of an object. In a generic plan, `= ANY` would compare with
 * the values one by one.
 */
function isOneOf(sql: Sql, { key, value }: Membership): SqlFragment {
  const keys = Object.fromEntries(value.map((each) => [String(each), 1]));
  return sql`(${sql.json(keys)}::jsonb ? (${field(sql, key)}))`;
}

/** Test metadata equality by containment, which can use the GIN index. */
function containment(sql: Sql, any: Containment['any']): SqlFragment {
  const [first, ...rest] = any;
  if (first && rest.length === 0) return sql`(documents.metadata @> ${sql.json(first)})`;
  return sql`(documents.metadata @> ANY(${sql.array(any.map((each) => JSON.stringify(each)))}::text[]::jsonb[]))`;
}

function comparison(sql: Sql, type: 'gt' | 'gte' | 'lt' | 'lte', name: string, value: Scalar): SqlFragment {
  const operator = { gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` }[type];
  const left = field(sql, name);
  const byText = sql`(${left} COLLATE "C" ${operator} ${String(value)})`;
  if (typeof value !== 'number') return byText;
  return sql`(CASE WHEN ${left} ~ ${DECIMAL_TEXT}::text THEN (${left})::numeric ${operator} ${value} ELSE ${byText} END)`;
}

function field(sql: Sql, name: string): SqlFragment {
  return FILTER_COLUMNS.has(name) ? sql`documents.${sql(name)}` : sql`documents.metadata ->> ${name}`;
}
