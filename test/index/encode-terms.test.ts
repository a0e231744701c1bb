import { expect, test } from 'vitest';
import {
  decodeTerms,
  encodeTerm,
  encodeTerms,
  TEXT_BYTES_MAX,
  writeQuery,
} from '../../src/index/milvus/encode-terms.ts';
import { cut } from '../../src/index/milvus/rows.ts';
import { analyse } from '../../src/language/analyser.ts';

test('encoded terms are words of small letters and digits, and are decoded as they were', () => {
  const texts = [
    'The pump’s seal, type AB-12/b, costs 3.50 €.',
    '냉각수 펌프의 씰을 매년 교체한다',
    'ปั๊มน้ำ 冷却ポンプ',
    'zebra z0041 𝒳',
    '',
  ];
  for (const text of texts) {
    const tokens = analyse(text).join(' ');
    const encoded = encodeTerms(tokens);
    expect(encoded).toMatch(/^[a-z0-9]+( [a-z0-9]+)*$/);
    expect(decodeTerms(encoded)).toBe(tokens);
  }
});

test('different terms have different codes', () => {
  const terms = ['z', 'Z', 'z007a', '\u00e9', 'e\u0301', '가', 'a.b', 'a-b', 'ab'];
  expect(new Set(terms.map(encodeTerm)).size).toBe(terms.length);
});

test('terms beyond the length of a field are left out as a whole', () => {
  const tokens = Array.from({ length: 20_000 }, (_, nth) => `펌프${nth}`).join(' ');
  const encoded = encodeTerms(tokens);
  expect(encoded.length).toBeLessThanOrEqual(TEXT_BYTES_MAX);
  expect(tokens.startsWith(`${decodeTerms(encoded)} `)).toBe(true);
});

test('a chunk whose first term is too long for a field has no terms', () => {
  expect(decodeTerms(encodeTerms('x'.repeat(TEXT_BYTES_MAX + 1)))).toBe('');
});

test('a query repeats a term in proportion to its weight', () => {
  const groups = [
    { terms: ['pump'], weight: 2 },
    { terms: ['the', 'of'], weight: 0.1 },
  ];
  const { text, scale } = writeQuery(groups);
  const times = (word: string) => text.split(' ').filter((each) => each === word).length;
  expect([times('pump') / scale, times('the') / scale, times('of') / scale]).toEqual([2, 0.1, 0.1]);
  expect(writeQuery([{ terms: ['pump', 'seal'], weight: 1 }])).toEqual({ text: 'pump seal', scale: 1 });
});

test('a text is cut into pieces without halves of characters', () => {
  const text = `x${'𝒳'.repeat(30_000)}`;
  const pieces = cut(text);
  expect(pieces.join('')).toBe(text);
  for (const piece of pieces) {
    expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(TEXT_BYTES_MAX);
    expect(piece.isWellFormed()).toBe(true);
  }
  expect(cut('')).toEqual([]);
});
