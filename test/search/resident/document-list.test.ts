import { expect, it } from 'vitest';
import { DocumentList } from '../../../src/search/resident/document-list.ts';
import { ResidentThread } from '../../../src/search/resident/resident-thread.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { drawText, randomFrom } from './draw-rows.ts';
import { drawBatch, fillTable } from './fill-table.ts';

const random = randomFrom(59);

it('the rows of a list follow those of its tables', () => {
  const blocks = new VectorBlocks();
  const [first, second] = [fillTable(blocks, 'one', 4, random), fillTable(blocks, 'two', 3, random)];
  const list = new DocumentList(['two', 'three']);
  expect([...(list.allowedRows(first) ?? [])]).toEqual([0, 0, 0, 0]);
  expect([...(list.allowedRows(second) ?? [])]).toEqual([1, 1, 1]);
  expect(list.allowedRows(first)).toBe(list.allowedRows(first));
  first.add(drawBatch('three', 2, random), 0, 2);
  expect([...(list.allowedRows(first) ?? [])]).toEqual([0, 0, 0, 0, 1, 1]);
  second.keepOnly({ generations: new BigInt64Array(2), chunkIndexes: Int32Array.from([0, 2]) });
  expect([...(list.allowedRows(second) ?? [])]).toEqual([1, 0, 1]);
});

it('a thread keeps the lists that are used again and again, and finds the same with more of them than it keeps', async () => {
  const thread = new ResidentThread(200_000);
  try {
    await thread.call('create', { table: 1, scratchIn: null });
    await thread.call('add', { table: 1, batch: drawBatch('one', 20, random) });
    await thread.call('add', { table: 1, batch: drawBatch('two', 20, random) });
    const others = Array.from({ length: 60_000 }, (_, nth) => `doc_${nth}`);
    const lists = ['one', 'two', 'one', 'two', 'three'].map((id) => [id, ...others]);
    const vector = new Float32Array(1024).fill(1 / 32);
    const find = async (ids: readonly string[]) => {
      const documents = thread.listOf(ids, 40);
      const { documentIds } = await thread.call('searchVectors', { tables: [1], documents, limit: 5, vector });
      return { documentIds, isKept: typeof documents === 'number' };
    };
    for (let turn = 0; turn < 5; turn++) {
      for (const ids of lists) {
        const expected = ids[0] === 'three' ? [] : Array(5).fill(ids[0]);
        expect(await find(ids)).toEqual({ documentIds: expected, isKept: turn >= 2 });
      }
    }
    const terms = [{ terms: [drawText(random, 1)], weight: 1 }];
    const query = { tables: [1], limit: 5, terms, ownTerms: new Map(), words: [], correct: false };
    await expect(thread.call('searchKeywords', { ...query, documents: 1_000 })).rejects.toThrow('not there any more');
  } finally {
    await thread.close();
  }
});

it('a list counts with the rows of the tables that it is used with, whose flags the thread keeps', async () => {
  const thread = new ResidentThread(100);
  try {
    const [first, second] = [['one'], ['two']] as const;
    const isKept = (ids: readonly string[], rows: number) => {
      for (let use = 0; use < 3; use++) thread.listOf(ids, rows);
      return () => typeof thread.listOf(ids, rows) === 'number';
    };
    const small = [isKept(first, 640), isKept(second, 640)];
    expect(small.map((check) => check())).toEqual([true, true]);
    const large = isKept(['three'], 64 * 90);
    expect(large()).toBe(true);
    expect(isKept(['four'], 64 * 90)()).toBe(true);
    // It has made room for the last one, and is sent with each search until it is used often again.
    expect(typeof thread.listOf(['five'], 64 * 200)).toBe('object');
  } finally {
    await thread.close();
  }
});
