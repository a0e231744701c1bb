import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const text = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8');

test('every benchmark that docs/benchmarks.md names exists', () => {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  expect(rows.length).toBeGreaterThan(60);
  const names = rows.flatMap((row) => /^`([a-z-]+)(?: --.*)?`$/.exec(row.split(' | ')[1] ?? '')?.[1] ?? []);
  expect(names.length).toBeGreaterThan(50);
  const isThere = (name: string) => existsSync(new URL(`../bench/${name}.bench.ts`, import.meta.url));
  expect(names.filter((name) => !isThere(name))).toEqual([]);
});
