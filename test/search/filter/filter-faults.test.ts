import { expect, it } from 'vitest';
import { mostTelling, PARSE_OPTIONS, placeOf } from '../../../src/platform/zod-faults.ts';
import { Filter } from '../../../src/search/filter/filter.ts';

/** The fault that a caller is told, after `filter.`; null for a filter that is accepted. */
function faultOf(filter: unknown): string | null {
  const [issue] = Filter.safeParse(filter, PARSE_OPTIONS).error?.issues ?? [];
  if (issue === undefined) return null;
  const { path, message } = mostTelling(issue);
  return `${placeOf(path) ?? ''}: ${message}`;
}

const SCALAR =
  'must be a string of at most 512 characters without U+0000, a number (an integer beyond 2^53 as a string), true or false';
const TYPES =
  '"eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "ncontains", "starts_with", "ends_with", "exists", "missing", "and", "or"';
const ok = { type: 'eq', key: 'a', value: 1 };

it.each([
  [
    { a: { $gt: 1 } },
    `a: ${SCALAR}, or an array of these; other comparisons are {type: gt|gte|lt|lte|ne|nin, key, value}`,
  ],
  [{ a: ['x', null] }, `a[1]: ${SCALAR}`],
  [{ a: [] }, 'a: must not be empty'],
  [{ ['k'.repeat(65)]: 1 }, `${'k'.repeat(65)}: its name must have at most 64 characters`],
  [{ type: 'greater', key: 'a', value: 1 }, `type: must be one of ${TYPES}`],
  [{ type: 'gt', key: 'a', value: [1] }, `value: ${SCALAR}`],
  [{ type: 'in', key: 'a', value: 'x' }, 'value: must be an array'],
  [{ type: 'or', filters: [] }, 'filters: must not be empty'],
  [{ type: 'or', filters: [ok, { type: 'in', key: 'b', value: [] }] }, 'filters[1].value: must not be empty'],
  [{ type: 'and', filters: [ok, { type: 'or', filters: [3] }] }, 'filters[1].filters[0]: must be an object'],
  [{ type: 'and', filters: [ok, { a: 1 }] }, `filters[1].type: must be one of ${TYPES}`],
  [
    ['a', 1],
    ': must be {key: value or [values]}, {type: eq|ne|gt|gte|lt|lte|in|nin|contains|ncontains|starts_with|ends_with, key, value}, {type: exists|missing, key} or {type: and|or, filters}',
  ],
])('the fault of the filter %j names its place', (filter, fault) => {
  expect(faultOf(filter)).toBe(fault);
});

it('filters of both forms are accepted', () => {
  expect([faultOf({ a: 'x', b: [1, true] }), faultOf({ type: 'and', filters: [ok, ok] })]).toEqual([null, null]);
});
