import { expect, it } from 'vitest';
import { embedLexical } from '../../../src/embedding/providers/local.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { DocumentList } from '../../../src/search/resident/document-list.ts';
import { startVectorSearch } from '../../../src/search/resident/search-tables.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { QUERY_SLOTS } from '../../../src/search/resident/vector-layout.ts';
import { drawText, randomFrom } from './draw-rows.ts';
import { drawBatch, fillTable } from './fill-table.ts';

const random = randomFrom(8);
const blocks = new VectorBlocks();

function search(...args: Parameters<typeof startVectorSearch>) {
  const started = startVectorSearch(...args);
  started.finishScan();
  return started.answer();
}

it('queries that are searched together find what each finds alone, in one table and in several', () => {
  const resident = new Map([
    [1, fillTable(blocks, 'one', 400, random)],
    [2, fillTable(blocks, 'two', 100, random)],
    [3, fillTable(blocks, 'three', 5, random)],
  ]);
  const vectors = Array.from({ length: QUERY_SLOTS }, () => embedLexical([drawText(random, 4)]));
  for (const tables of [[1], [1, 2, 3]]) {
    for (const documents of [null, new DocumentList(['three'])]) {
      const query = { tables, documents, limit: 25 };
      const together = search(resident, query, vectors);
      for (const [nth, vector] of vectors.entries()) {
        expect(together[nth]).toEqual(search(resident, query, [vector])[0]);
      }
    }
  }
});

it('several tables are ranked as one, and a limit above the number of rows finds all', () => {
  const resident = new Map([
    [1, fillTable(blocks, 'four', 40, random)],
    [2, fillTable(blocks, 'five', 60, random)],
  ]);
  const vector = embedLexical([drawText(random, 4)]);
  const [all] = search(resident, { tables: [1, 2], documents: null, limit: 1_000 }, [vector]);
  expect(all?.chunkIds.length).toBe(100);
  expect([...(all?.scores ?? [])]).toEqual([...(all?.scores ?? [])].sort((a, b) => b - a));
  const [some] = search(resident, { tables: [1, 2], documents: null, limit: 10 }, [vector]);
  expect(some?.chunkIds).toEqual(all?.chunkIds.slice(0, 10));
  expect(search(resident, { tables: [], documents: null, limit: 10 }, [vector])[0]?.chunkIds).toEqual([]);
});

it('a table of few rows, whose vectors are kept as they are, finds what one of many finds', () => {
  const texts = fillTable(blocks, 'many', 129, random);
  expect(texts.vectors.comparedMax).toBeLessThan(129);
  const few = fillTable(blocks, 'few', 128, random);
  expect(few.vectors.comparedMax).toBe(Number.POSITIVE_INFINITY);
  const vector = embedLexical([drawText(random, 4)]);
  const query = { tables: [1], documents: null, limit: 20 };
  const [before] = search(new Map([[1, few]]), query, [vector]);
  const [some] = search(new Map([[1, few]]), { ...query, documents: new DocumentList(['few']), limit: 5 }, [vector]);
  expect(some?.chunkIds).toEqual(before?.chunkIds.slice(0, 5));
  expect(few.size.memoryBytes).toBeLessThan(texts.size.memoryBytes);
  // A row that is far from every query.
  few.add({ ...drawBatch('few', 1, random), vectors: new Float32Array(INDEX_DIMENSIONS) }, 0, 1);
  expect(few.vectors.comparedMax).toBeLessThan(129);
  const [after] = search(new Map([[1, few]]), query, [vector]);
  expect(after?.chunkIds).toEqual(before?.chunkIds);
  for (const [nth, score] of (after?.scores ?? []).entries()) expect(score).toBeCloseTo(before?.scores[nth] ?? 2, 5);
});
