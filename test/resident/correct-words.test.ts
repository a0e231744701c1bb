import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { hangulEdits, latinEdits, spelledWords } from '../../src/language/spelled-words.ts';
import { correctWords } from '../../src/resident/keywords/correct-words.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';

const TEXTS = [
  'The bearings of the warranty department are greased twice a year.',
  'The bearing has a warranty. The harbour is closed.',
  'Kubernetes clusters need a controller and its configuration.',
  '쿠버네티스 클러스터를 다시 시작합니다. 계약 기간은 삼 년입니다.',
  '항구의 만조 시각은 새벽입니다. 데이터베이스를 복구합니다.',
];

function fill(texts: readonly string[]): KeywordRows {
  const rows = new KeywordRows();
  for (const text of texts) {
    const bytes = new TextEncoder().encode(analyse(text).join(' '));
    rows.add(bytes, 0, bytes.length);
  }
  return rows;
}
const rows = fill(TEXTS);
const correct = (query: string, among = rows) =>
  correctWords(among, spelledWords(query)).map(({ from, to }) => `${from} > ${to}`);

it.each([
  ['a missing letter', 'waranty', ['waranty > warranty']],
  ['an additional letter', 'warrantty', ['warrantty > warranty']],
  ['a wrong letter', 'harbeur', ['harbeur > harbour']],
  ['letters that have changed places', 'bearigns', ['bearigns > bearings']],
  ['two mistakes in the stem of a long word', 'kubirnetas', ['kubirnetas > kubernet']],
  ['a wrong vowel in Korean', '쿠버내티스', ['쿠버내티스 > 쿠버네티스']],
  ['a wrong consonant in Korean', '데이러베이스', ['데이러베이스 > 데이터베이스']],
  ['syllables that have changed places', '데터이베이스', ['데터이베이스 > 데이터베이스']],
  ['a wrong consonant at the end of a Korean word', '데이터베이느', ['데이터베이느 > 데이터베이스']],
  ['a Korean word with a particle', '쿠버내티스에서', ['쿠버내티스 > 쿠버네티스']],
])('%s is corrected to the nearest word of the rows: %s', (_name, query, expected) => {
  expect(correct(query)).toEqual(expected);
});

it.each([
  'warranty',
  'bearings',
  '쿠버네티스',
  'boat',
  'AB-1234',
  '계약기간',
  '쿠버네티느',
  'zzzzzzzz',
  '계단',
  'E_CONN',
  'the',
  '...',
])('a word that is known, short, a code or near nothing stays: %s', (query) => {
  expect(correct(query)).toEqual([]);
});

it('of several words at the same distance the most frequent is taken, and a removed row counts no more', () => {
  const own = fill(['planet', 'planet', 'planet', 'plane plants', 'planes']);
  expect(correct('planef', own)).toEqual(['planef > planet']);
  const removed = fill(['winter', 'winter', 'winder']);
  removed.remove([0, 1]);
  expect(correct('winfer', removed)).toEqual(['winfer > winder']);
  expect(correct('winter', removed)).toEqual([]);
});

it('work is bounded: a query has at most 16 words that are looked at, and each a few hundred neighbours', () => {
  const words = Array.from(
    { length: 200 },
    (_, at) => `wordno${'abcdefghij'[at % 10]}${'klmnopqrst'[Math.floor(at / 10) % 10]}`,
  );
  expect(spelledWords(words.join(' '))).toHaveLength(16);
  expect(latinEdits('abcdefghijklmnopqrstuvwxyzabcdef').size).toBeLessThan(2_000);
  expect(hangulEdits('가나다라마바사아자차카타파하가나').size).toBeLessThan(1_200);
  expect(spelledWords('x'.repeat(8_000))).toEqual([]);
});
