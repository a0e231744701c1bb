import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseWithNulls } from '../../src/platform/zod-nulls.ts';

const Schema = z.object({
  name: z.string(),
  note: z.string().optional(),
  size: z.int().min(1).default(7),
  cleared: z.string().nullable().optional(),
  inner: z.object({ flag: z.boolean().optional() }).default({}),
  list: z.array(z.object({ id: z.string(), tag: z.string().optional() })).optional(),
  values: z.record(z.string(), z.string()).optional(),
  number: z.preprocess((value) => (typeof value === 'string' ? Number(value) : value), z.int().optional()),
  either: z.union([z.object({ a: z.int(), b: z.int().optional() }), z.array(z.int())]).optional(),
});

it('a field that may be left out may also be null, at any depth', () => {
  const parsed = parseWithNulls(Schema, {
    ...{ name: 'x', note: null, size: null, cleared: null, inner: { flag: null }, number: null },
    ...{ list: [{ id: 'a', tag: null }], values: { k: 'v' }, either: { a: 1, b: null } },
  });
  expect(parsed.data).toEqual({
    ...{ name: 'x', size: 7, cleared: null, inner: {}, list: [{ id: 'a' }], values: { k: 'v' }, either: { a: 1 } },
  });
  expect(parseWithNulls(Schema, { name: 'x', inner: null, list: null, values: null, either: null }).data).toEqual({
    ...{ name: 'x', size: 7, inner: {} },
  });
});

it.each([
  ['a required field', { name: null }, ['name']],
  ['an item of a list', { name: 'x', list: [null] }, ['list', 0]],
  ['a required field of an item', { name: 'x', note: null, list: [{ id: null }] }, ['list', 0, 'id']],
  ['a value of a map', { name: 'x', values: { k: null } }, ['values', 'k']],
  ['another field', { name: 'x', note: null, size: 0 }, ['size']],
])('%s that is wrong is reported at its place', (_label, value, path) => {
  expect(parseWithNulls(Schema, value).error?.issues.map((issue) => issue.path)).toEqual([path]);
});

it('the value itself is not changed', () => {
  const value = { name: 'x', note: null, inner: { flag: null } };
  parseWithNulls(Schema, value);
  expect(value).toEqual({ name: 'x', note: null, inner: { flag: null } });
});
