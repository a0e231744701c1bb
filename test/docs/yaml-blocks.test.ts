import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { ConfigFile } from '../../src/platform/config.ts';

const DOCS = new URL('../../docs/', import.meta.url);

const blocks = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) => {
    const text = readFileSync(new URL(file, DOCS), 'utf8');
    return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => {
      const line = text.slice(0, match.index).split('\n').length;
      return { place: `docs/${file}:${line}`, yaml: match[1] as string };
    });
  });

test('there are blocks of YAML in the guides', () => {
  expect(blocks.length).toBeGreaterThan(10);
});

test.each(blocks)('the block of YAML at $place can be read', ({ yaml }) => {
  expect(parseDocument(yaml).errors).toEqual([]);
});

test.each(blocks.filter(({ place }) => !place.startsWith('docs/workflows.md')))(
  'the block of YAML at $place has settings of service.yaml only',
  ({ yaml }) => {
    const known = new Set(Object.keys(ConfigFile.shape));
    expect(Object.keys(parseDocument(yaml).toJS()).filter((key) => !known.has(key))).toEqual([]);
  },
);
