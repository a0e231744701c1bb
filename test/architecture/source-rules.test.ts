import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const SOURCES = ['commands/**/*.ts', 'server/**/*.ts', 'src/**/*.{ts,tsx}'];
const files = globSync(SOURCES, { cwd: ROOT }).filter((file) => !file.endsWith('.as.ts'));

/** List the places of a pattern in the sources: `file:line`. */
function findPlaces(pattern: RegExp, isChecked: (file: string) => boolean = () => true): string[] {
  return files.filter(isChecked).flatMap((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    return [...text.matchAll(pattern)].map(({ index }) => `${file}:${text.slice(0, index).split('\n').length}`);
  });
}

test('the rules look at all sources', () => {
  expect(files.length).toBeGreaterThan(1_000);
});

test('statements of SQL are in store files and in the platform; other files hold conditions at most', () => {
  const statement =
    /\b(?:sql|tx)(?:<[^`]+?>)?`\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|LOCK|TRUNCATE|NOTIFY|LISTEN|SET|CREATE|ALTER|DROP|COPY)\b/g;
  const isChecked = (file: string) => !file.endsWith('store.ts') && !file.startsWith('src/platform/');
  expect(findPlaces(statement, isChecked)).toEqual([]);
});

test('no object literal is spread into another, since TypeScript does not check the properties of a spread', () => {
  expect(findPlaces(/\.\.\.\{/g)).toEqual([]);
});

test('servers clear their deadlines, since a timer keeps the request that started it', () => {
  const isChecked = (file: string) =>
    !/^(?:commands|src\/cli|src\/install)\//.test(file) &&
    // Start or stop of a process.
    !['usage/meter', 'mcp/http/http-service', 'mcp/serve-stdio'].some((name) => file === `src/${name}.ts`);
  expect(findPlaces(/AbortSignal\.timeout\(/g, isChecked)).toEqual([]);
});

test('comments keep to 120 characters; Biome wraps code, and leaves long texts and patterns as they are', () => {
  expect(findPlaces(/^(?=\s*(?:\/\*\*|\*|\/\/)).{121,}$/gm)).toEqual([]);
});

test('readers of documents import code of their own folder only, since their process may read no other', () => {
  const folder = 'src/ingest/extract/';
  const reached = new Set([`${folder}child.ts`]);
  for (const file of reached) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    // Imports of types are no code.
    for (const [, name] of text.matchAll(/(?:^import (?!type )[^;]*? from |\bimport\()'(\.[^']+)'/gm)) {
      reached.add(path.posix.join(path.posix.dirname(file), name as string));
    }
  }
  expect(reached.size).toBeGreaterThan(50);
  expect([...reached].filter((file) => !file.startsWith(folder))).toEqual([]);
});
