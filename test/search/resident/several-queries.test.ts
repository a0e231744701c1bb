import { expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import type { RowBatch } from '../../../src/search/resident/protocol.ts';
import { ResidentTable } from '../../../src/search/resident/resident-table.ts';
import { startVectorSearch } from '../../../src/search/resident/search-tables.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { QUERY_SLOTS } from '../../../src/search/resident/vector-layout.ts';
import { drawText, randomFrom } from './draw-rows.ts';

const random = randomFrom(8);
const blocks = new VectorBlocks();

function utf8(texts: readonly string[]) {
  const offsets = Int32Array.from({ length: texts.length + 1 }, (_, nth) =>
    Buffer.byteLength(texts.slice(0, nth).join('')),
  );
  return { offsets, bytes: new Uint8Array(Buffer.from(texts.join(''))) };
}

function fill(name: string, count: number): ResidentTable {
  const texts = Array.from({ length: count }, () => drawText(random, 30));
  const batch: RowBatch = {
    ...{ count, texts: utf8(texts), tokens: utf8(texts), locators: utf8(texts.map(() => '{}')) },
    ...{ chunkIds: utf8(texts.map((_, nth) => `${name}_${nth}`)), documentIds: utf8(texts.map(() => name)) },
    ...{ generations: new BigInt64Array(count), chunkIndexes: Int32Array.from(texts.keys()) },
    vectors: embedLexicalPassages(texts),
  };
  const table = new ResidentTable(blocks);
  table.add(batch, 0, count);
  return table;
}

it('queries that are searched together find what each finds alone, in one table and in several', () => {
  const resident = new Map([
    [1, fill('one', 400)],
    [2, fill('two', 100)],
    [3, fill('three', 5)],
  ]);
  const vectors = Array.from({ length: QUERY_SLOTS }, () => embedLexical([drawText(random, 4)]));
  for (const tables of [[1], [1, 2, 3]]) {
    for (const documentIds of [null, ['three']]) {
      const query = { tables, documentIds, limit: 25 };
      const together = startVectorSearch(resident, query, vectors)();
      for (const [nth, vector] of vectors.entries()) {
        expect(together[nth]).toEqual(startVectorSearch(resident, query, [vector])()[0]);
      }
    }
  }
});

it('several tables are ranked as one, and a limit above the number of rows finds all', () => {
  const resident = new Map([
    [1, fill('four', 40)],
    [2, fill('five', 60)],
  ]);
  const vector = embedLexical([drawText(random, 4)]);
  const [all] = startVectorSearch(resident, { tables: [1, 2], documentIds: null, limit: 1_000 }, [vector])();
  expect(all?.chunkIds.length).toBe(100);
  expect([...(all?.scores ?? [])]).toEqual([...(all?.scores ?? [])].sort((a, b) => b - a));
  const [some] = startVectorSearch(resident, { tables: [1, 2], documentIds: null, limit: 10 }, [vector])();
  expect(some?.chunkIds).toEqual(all?.chunkIds.slice(0, 10));
  expect(startVectorSearch(resident, { tables: [], documentIds: null, limit: 10 }, [vector])()[0]?.chunkIds).toEqual(
    [],
  );
});
