import { expect, test } from 'vitest';
import { keysOf } from '../../../../src/memory/readers/cloud/path-names.ts';

test('items with equal paths get different keys, whatever the order of the listing', () => {
  const items = [
    { id: '1', path: 'a/plan.txt' },
    { id: '2', path: 'a/plan.txt' },
    { id: '3', path: 'a.b/plan' },
    { id: '4', path: 'a.b/plan' },
  ];
  const expected = { 'a/plan.txt': '1', 'a/plan (2).txt': '2', 'a.b/plan': '3', 'a.b/plan (4)': '4' };
  for (const order of [items, items.toReversed()]) {
    expect(Object.fromEntries([...keysOf(order)].map(([key, { id }]) => [key, id]))).toEqual(expected);
  }
});

test('no item takes the key of another one whose path looks like a key', () => {
  const items = [
    { id: '1', path: 'plan (3).txt' },
    { id: '2', path: 'plan.txt' },
    { id: '3', path: 'plan.txt' },
    { id: '4', path: 'plan (3).txt' },
  ];
  expect([...keysOf(items)].map(([key, { id }]) => [key, id])).toEqual([
    ['plan (3).txt', '1'],
    ['plan.txt', '2'],
    ['plan (3) (3).txt', '3'],
    ['plan (3) (4).txt', '4'],
  ]);
});
