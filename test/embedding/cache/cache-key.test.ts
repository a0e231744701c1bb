import { expect, test } from 'vitest';
import { cacheKeys } from '../../../src/embedding/cache/cache-key.ts';
import { Catalog, type Model } from '../../../src/models/catalog.ts';

const model = new Catalog().find('vendor-a/text-embedding-3-small');

function keyOf(text: string, change: Partial<Model> = {}, taskType: Parameters<typeof cacheKeys>[1] = null): string {
  return cacheKeys({ ...model, ...change }, taskType, [text])[0] as string;
}

test('a text has the same key for the same model and task type, whatever other texts are in the batch', () => {
  expect(cacheKeys(model, 'clustering', ['a', 'b', 'a'])).toEqual([
    keyOf('a', {}, 'clustering'),
    keyOf('b', {}, 'clustering'),
    keyOf('a', {}, 'clustering'),
  ]);
});

test('a change of anything that a vector depends on changes the key', () => {
  const keys = [
    keyOf('text'),
    keyOf('text '),
    keyOf('Text'),
    keyOf('text', {}, 'retrieval_query'),
    keyOf('text', {}, 'retrieval_document'),
    keyOf('text', { id: 'my/model' }),
    keyOf('text', { revision: '2' }),
    keyOf('text', { upstreamDimensions: 256 }),
    keyOf('text', { nativeDimension: 256 }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('parts whose concatenations are equal do not share a key', () => {
  const keys = [
    keyOf('x', { id: 'a', revision: '"b' }),
    keyOf('x', { id: 'a"', revision: 'b' }),
    keyOf('x', { id: 'a","b', revision: '' }),
    keyOf('x', { id: 'a', revision: 'b","' }),
    keyOf(']x'),
    keyOf('x]'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('lone surrogates, which are equal in UTF-8, have different keys', () => {
  const texts = [
    '\ud800',
    '\udbff',
    '\udc00',
    '\udfff',
    '\ufffd',
    '\ud83d\ude00',
    '\ude00\ud83d',
    'a\ud800',
    '\ud800a',
  ];
  expect(new Set(cacheKeys(model, null, texts)).size).toBe(texts.length);
});
