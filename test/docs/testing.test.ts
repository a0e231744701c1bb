import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const text = readFileSync(path.join(ROOT, 'docs/testing.md'), 'utf8');
/** Folders whose tests belong to no feature. */
const OTHERS = ['architecture', 'bench', 'eval', 'fixtures', 'printing', 'random', 'support', 'operations', 'cluster'];

test('every file and folder that docs/testing.md names exists', () => {
  const paths = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, name]) => name as string);
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
});

test('docs/testing.md names every folder of tests', () => {
  const folders = readdirSync(path.join(ROOT, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !OTHERS.includes(entry.name))
    .map(({ name }) => `test/${name}/`);
  expect(folders.filter((folder) => !text.includes(folder))).toEqual([]);
});
