import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SlotMap } from '../../src/platform/slot-map.ts';

const MODULE = fileURLToPath(new URL('../../src/platform/slot-map.ts', import.meta.url));

test('finds values by their ids, and gives the id of a removed value to a later one', () => {
  const map = new SlotMap<{ name: string }>();
  const first = map.add({ name: 'first' });
  const second = map.add({ name: 'second' });
  expect([map.get(first)?.name, map.get(second)?.name, map.size]).toEqual(['first', 'second', 2]);
  map.delete(first);
  map.delete(first);
  expect([map.get(first), map.size]).toEqual([undefined, 1]);
  expect(map.add({ name: 'third' })).toBe(first);
  expect([...map].map(({ name }) => name).sort()).toEqual(['second', 'third']);
});

test('values may be removed while they are iterated over', () => {
  const map = new SlotMap<{ id: number }>();
  for (let nth = 0; nth < 3; nth++) {
    const value = { id: -1 };
    value.id = map.add(value);
  }
  const seen: number[] = [];
  for (const { id } of map) {
    seen.push(id);
    map.delete(id);
    if (id === 0) map.delete(1);
  }
  expect([seen, map.size]).toEqual([[0, 2], 0]);
});

// 16 values are in the map at any time, of 4 kB each, and 100,000 in all.
const CHURN = `
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { SlotMap } from ${JSON.stringify(MODULE)};
const map = new SlotMap();
const ids = [];
const addValues = (count) => {
  for (let nth = 0; nth < count; nth++) {
    ids.push(map.add({ numbers: new Array(500).fill(nth) }));
    if (ids.length > 16) map.delete(ids.shift());
  }
};
addValues(1000);
gc();
let collections = 0;
await setTimeout(1);
const observer = new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++;
});
observer.observe({ entryTypes: ['gc'] });
addValues(100_000);
await setTimeout(1);
console.log(collections);
`;

test('values that were removed never need a collection of the whole heap, also not after an earlier one', () => {
  const args = ['--expose-gc', '--input-type=module', '-e', CHURN];
  expect(Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))).toBe(0);
}, 60_000);
