import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const text = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');

test('every file that docs/security.md names exists, and every rule names a test', () => {
  const files = [...text.matchAll(/`(test\/[^`]+\.ts)`/g)].map(([, file]) => file as string);
  expect(files.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([]);
  const [rulesText = ''] = text.split('\n## Figures\n');
  const rules = rulesText.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| rule'));
  expect(rules.length).toBeGreaterThan(30);
  expect(rules.filter((line) => !/`test\/[^`]+\.ts`/.test(line))).toEqual([]);
});
