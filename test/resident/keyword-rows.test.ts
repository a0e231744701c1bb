import fc from 'fast-check';
import { expect, it } from 'vitest';
import { weighTerms } from '../../src/language/analyser.ts';
import { BestRows } from '../../src/resident/best-rows.ts';
import { KeywordRows } from '../../src/resident/keywords/keyword-rows.ts';
import { drawText, randomFrom } from '../index/draw-rows.ts';

const WORDS = ['ebb', 'flood', 'buoy', 'anchor', 'порт', 'éclair', 'x'];
const Document = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 });
const idOf = (row: number) => `row_${String(row).padStart(4, '0')}`;

/** BM25 as in the literature, over the documents that are there. */
function scoreAll(documents: readonly (readonly string[] | null)[], query: readonly string[]): Map<number, number> {
  const live = documents.flatMap((words, row) => (words === null ? [] : [{ words, row }]));
  const average = live.reduce((sum, { words }) => sum + words.length, 0) / live.length;
  const rowsOf = new Map(query.map((term) => [term, live.filter(({ words }) => words.includes(term)).length]));
  const scores = new Map<number, number>();
  for (const { words, row } of live) {
    for (const term of query) {
      const count = words.filter((word) => word === term).length;
      if (count === 0) continue;
      const rows = rowsOf.get(term) as number;
      const idf = Math.log((live.length - rows + 0.5) / (rows + 0.5) + 1);
      const weight = (count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average));
      scores.set(row, (scores.get(row) ?? 0) + idf * weight);
    }
  }
  return scores;
}

function fill(documents: readonly (readonly string[])[]): KeywordRows {
  const rows = new KeywordRows();
  for (const words of documents) {
    const bytes = Buffer.from(` ${words.join(' ')}`);
    rows.add(bytes, 1, bytes.length);
  }
  return rows;
}

function search(rows: KeywordRows, query: readonly string[], limit: number, allowed: Uint8Array | null = null) {
  const best = new BestRows(limit, idOf);
  rows.search(weighTerms(query), allowed, { best, first: 0 });
  return best.toSorted();
}

it('keyword scores in memory are those of BM25, with and without removed rows', () => {
  fc.assert(
    fc.property(
      fc.array(Document, { minLength: 1, maxLength: 60 }),
      fc.array(fc.nat(59)),
      Document,
      fc.integer({ min: 1, max: 70 }),
      (documents, gone, query, limit) => {
        const rows = fill(documents);
        const removed = [...new Set(gone)].filter((row) => row < documents.length);
        rows.remove(removed);
        const left = documents.map((words, row) => (removed.includes(row) ? null : words));
        const expected = [...scoreAll(left, query)].sort(([a, x], [b, y]) => y - x || a - b);
        const found = search(rows, query, limit);
        expect(found.length).toBe(Math.min(limit, expected.length));
        for (const [at, { row, score }] of found.entries()) {
          expect(score).toBeCloseTo(expected[at]?.[1] as number, 9);
          expect(score).toBeCloseTo(new Map(expected).get(row) as number, 9);
        }
      },
    ),
    { numRuns: 300 },
  );
});

it('a second search finds the same as the first, and only allowed rows are found', () => {
  const rows = fill([['ebb'], ['ebb', 'flood'], ['flood']]);
  const first = search(rows, ['ebb', 'flood'], 10);
  expect(search(rows, ['ebb', 'flood'], 10)).toEqual(first);
  const allowed = Uint8Array.from([0, 1, 0]);
  expect(search(rows, ['ebb', 'flood'], 10, allowed)).toEqual(first.filter(({ row }) => row === 1));
});

it('a term that a row repeats thousands of times is counted exactly', () => {
  for (const count of [1_021, 1_022, 1_023, 1_024, 3_000]) {
    const documents = [['ebb'], Array.from({ length: count }, () => 'buoy'), ['flood', 'buoy']];
    const expected = scoreAll(documents, ['buoy']);
    for (const { row, score } of search(fill(documents), ['buoy'], 5)) {
      expect(score).toBeCloseTo(expected.get(row) as number, 9);
    }
  }
});

it('a term of many rows is found in all of them', () => {
  const rows = fill(Array.from({ length: 1_500 }, (_, row) => (row % 3 === 0 ? ['ebb'] : ['flood', `only${row}`])));
  expect(search(rows, ['ebb'], 2_000).length).toBe(500);
  expect(search(rows, ['flood'], 2_000).length).toBe(1_000);
  expect(search(rows, ['only1000'], 2_000).map(({ row }) => row)).toEqual([1_000]);
});

it('the best rows are those that sorting by score and id finds', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5)), fc.integer({ min: 1, max: 20 }), (scores, limit) => {
      const best = new BestRows(limit, idOf);
      for (const [row, score] of scores.entries()) best.offer(row, score);
      const expected = scores.map((score, row) => ({ row, score })).sort((a, b) => b.score - a.score || a.row - b.row);
      expect(best.toSorted()).toEqual(expected.slice(0, limit));
    }),
  );
});

it('the best rows are the same whether all rows are wanted or few, so that postings can be skipped', () => {
  const random = randomFrom(11);
  const rows = fill(Array.from({ length: 6_000 }, () => drawText(random, 30, 3_000).split(' ')));
  const allowed = Uint8Array.from({ length: 6_000 }, () => Number(random() < 0.5));
  for (let nth = 0; nth < 60; nth++) {
    const query = drawText(random, 1 + Math.floor(random() * 8), 3_000).split(' ');
    if (nth === 30) rows.remove([1, 2, 3, 4_000, 5_999]);
    for (const filter of [null, allowed]) {
      const all = search(rows, query, 6_000, filter);
      for (const limit of [1, 10, 61]) expect(search(rows, query, limit, filter)).toEqual(all.slice(0, limit));
    }
  }
});

it('terms of thousands of rows have the scores of BM25, and their best rows are those of a search for all', () => {
  const ROWS = 14_000;
  const random = randomFrom(12);
  // The square makes some words frequent. Rows become shorter, so that bounds of earlier rows must be computed anew.
  const draw = (length: number) =>
    Array.from({ length }, () => WORDS[Math.floor(random() ** 2 * WORDS.length)] as string);
  const documents: (string[] | null)[] = [];
  const rows = new KeywordRows();
  const addUntil = (count: number) => {
    while (documents.length < count) {
      const words = draw(1 + Math.floor(random() * (documents.length > ROWS / 2 ? 4 : 20)));
      if (documents.length % 1_000 === 0) words.push(`only${documents.length}`, ...Array(1_100).fill('buoy'));
      documents.push(words);
      const bytes = Buffer.from(words.join(' '));
      rows.add(bytes, 0, bytes.length);
    }
  };
  const compare = () => {
    const allowed = Uint8Array.from(documents, () => Number(random() < 0.5));
    for (const query of [
      ['ebb'],
      ['ebb', 'flood', 'buoy'],
      ['only3000', 'x', 'ebb'],
      ['anchor', 'x', 'порт', 'buoy'],
    ]) {
      const expected = scoreAll(documents, query);
      const all = search(rows, query, ROWS);
      expect(all.length).toBe(expected.size);
      for (const { row, score } of all) expect(score).toBeCloseTo(expected.get(row) as number, 9);
      const some = all.filter(({ row }) => allowed[row] === 1);
      for (const limit of [1, 61, 1_000]) {
        expect(search(rows, query, limit)).toEqual(all.slice(0, limit));
        expect(search(rows, query, limit, allowed)).toEqual(some.slice(0, limit));
      }
    }
  };
  addUntil(ROWS / 2);
  compare();
  addUntil(ROWS - 100);
  compare();
  for (const row of [0, 1, 2_000, 8_000, 9_001]) documents[row] = null;
  rows.remove([0, 1, 2_000, 8_000, 9_001]);
  compare();
  addUntil(ROWS);
  compare();
});
