import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const text = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8');
/** A file in backquotes, and the names in backquotes that follow it directly. */
const STEP = /`((?:src|server|commands|bin)\/[\w./-]+\.tsx?)`((?:\s+`\w+`)*)/g;
const steps = [...text.matchAll(STEP)].map(([, file = '', names = '']) => ({
  file,
  names: [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
}));

test('docs/architecture.md names files that exist and names that they export', () => {
  expect(steps.length).toBeGreaterThan(40);
  const wrong = steps.flatMap(({ file, names }) => {
    if (!existsSync(path.join(ROOT, file))) return [`${file} does not exist`];
    const source = readFileSync(path.join(ROOT, file), 'utf8');
    const isExported = (name: string) =>
      new RegExp(`^export (?:async )?(?:function\\*?|class|const|interface|type) ${name}\\b`, 'm').test(source);
    return names.filter((name) => !isExported(name)).map((name) => `${file} exports no ${name}`);
  });
  expect(wrong).toEqual([]);
});
