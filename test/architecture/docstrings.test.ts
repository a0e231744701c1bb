import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const SOURCES = [
  'bin/**/*.js',
  'commands/**/*.ts',
  'server/**/*.ts',
  'src/**/*.{ts,tsx}',
  'test/**/*.{ts,tsx}',
  '*.ts',
];
/** The beginning of a docstring that asks instead of saying what the thing is or does. */
const QUESTION = /\/\*\*\s+(?:\*\s+)?(?:What|How|Whether|Of|Where|Why|Who)\b[^\n]*/g;

test('every docstring begins with what the thing is or does', () => {
  const files = globSync(SOURCES, { cwd: ROOT });
  expect(files.length).toBeGreaterThan(800);
  const wrong = files.flatMap((file) =>
    [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(QUESTION)].map(([text]) => `${file}: ${text.trim()}`),
  );
  expect(wrong).toEqual([]);
});
