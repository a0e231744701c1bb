import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

it('the help of every page leads to a page of the documentation', () => {
  const text = readFileSync(path.join(ROOT, 'src/console/lib/help.ts'), 'utf8');
  const documents = Array.from(text.matchAll(/document: '([\w-]+)'/g), ([, name]) => name as string);
  expect(documents.length).toBeGreaterThan(10);
  expect(documents.filter((name) => !existsSync(path.join(ROOT, 'docs', `${name}.md`)))).toEqual([]);
});
