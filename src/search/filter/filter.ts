import { z } from 'zod';
import { isRounded } from '../../documents/user-metadata.ts';
import { mostTelling, PARSE_OPTIONS } from '../../platform/zod-faults.ts';
import { COMPARISONS, COMPOUNDS, MEMBERSHIPS, PRESENCES, TEXT_MATCHES } from './condition-types.ts';
import { filterKeyFault } from './filter-keys.ts';
import { FILTER_SHAPE } from './filter-shape.ts';

/** Return true for a text that PostgreSQL can store. No document contains any other text. */
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');
const STORABLE_RULE = 'must be well-formed Unicode without U+0000';
export type Scalar = string | number | boolean;
const SCALAR_RULE =
  'must be a string of at most 512 characters without U+0000, a number (an integer beyond 2^53 as a string), true or false';
/** Return true for a scalar. One function checks all values, since a filter may have a thousand of them. */
const isScalar = (value: unknown) => {
  if (typeof value === 'string') return value.length <= 512 && isStorable(value);
  return typeof value === 'boolean' || (Number.isFinite(value) && !isRounded(value));
};
/** Scalar normalised to NFC, like stored metadata and names: macOS sends NFD. */
const scalarWith = (rule: string) =>
  z.custom<Scalar>(isScalar, rule).transform((value) => (typeof value === 'string' ? value.normalize('NFC') : value));
const scalar = scalarWith(SCALAR_RULE);
const part = z
  .string()
  .min(1)
  .max(512)
  .refine(isStorable, STORABLE_RULE)
  .transform((text) => text.normalize('NFC'));
const key = z.string().min(1).max(64).refine(isStorable, STORABLE_RULE);

const WITH_VALUE = [...COMPARISONS, ...MEMBERSHIPS, ...TEXT_MATCHES].join('|');
const SHAPE_RULE = `must be {key: value or [values]}, {type: ${WITH_VALUE}, key, value}, {type: ${PRESENCES.join('|')}, key} or {type: ${COMPOUNDS.join('|')}, filters}`;

/** Size limits of a filter. Each condition and value costs time for every document of the bucket. */
const DEPTH_MAX = 20;
const CONDITIONS_MAX = 50;
const VALUES_MAX = 1_000;

export type Comparison = { type: (typeof COMPARISONS)[number]; key: string; value: Scalar };
export type Membership = { type: (typeof MEMBERSHIPS)[number]; key: string; value: Scalar[] };
/** Case-sensitive match of a part of a text. */
export type TextMatch = { type: (typeof TEXT_MATCHES)[number]; key: string; value: string };
/** Presence or absence of a non-empty value. */
export type Presence = { type: (typeof PRESENCES)[number]; key: string };
type Compound = { type: (typeof COMPOUNDS)[number]; filters: Condition[] };
type Condition = Comparison | Membership | TextMatch | Presence | Compound;

const Condition: z.ZodType<Condition> = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.enum(COMPARISONS), key, value: scalar }),
    z.object({ type: z.enum(MEMBERSHIPS), key, value: z.array(scalar).min(1) }),
    z.object({ type: z.enum(TEXT_MATCHES), key, value: part }),
    z.object({ type: z.enum(PRESENCES), key }),
    z.object({ type: z.enum(COMPOUNDS), filters: z.array(Condition).min(1) }),
  ]),
);

const PLAIN_RULE = `${SCALAR_RULE}, or an array of these; other comparisons are {type: gt|gte|lt|lte|ne|nin, key, value}`;
const Plain = z.record(key, z.union([scalarWith(PLAIN_RULE), z.array(scalar).min(1)]));

/**
 * Filter of documents, in one of two shapes. In `{key: value}` or `{key: [values]}`, every key must match. The other
 * shape is OpenAI's: `{type: "eq", key, value}` or `{type: "and", filters: […]}`. An object with a string `type` and a
 * `key` or `filters` has the second shape. A filter has at most 50 conditions, 1,000 values and 20 levels, and no
 * reserved key that no document can match.
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
    const parsed = (compound ? Condition : Plain).safeParse(value, PARSE_OPTIONS);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const { path, message } = mostTelling(issue as z.core.$ZodIssue);
      context.addIssue({
        code: 'custom',
        ...(path.length > 0 ? { path: [...path], message } : { message: SHAPE_RULE }),
      });
      return z.NEVER;
    }
    const filter = compound ? (parsed.data as Condition) : fromPlain(parsed.data as z.output<typeof Plain>);
    const ofKey = findKeyFault(filter);
    if (ofKey !== null) {
      context.addIssue({ code: 'custom', message: ofKey });
      return z.NEVER;
    }
    return filter;
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

/** Describe the first key that no document can match, or return null. */
function findKeyFault(filter: Condition): string | null {
  if (!('filters' in filter)) return filterKeyFault(filter.key);
  for (const part of filter.filters) {
    const fault = findKeyFault(part);
    if (fault !== null) return fault;
  }
  return null;
}

/** Describe a size limit that a filter exceeds, or return null. Work level by level, without recursion. */
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
