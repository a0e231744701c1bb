import { expect, it } from 'vitest';
import { embedLexical } from '../../../src/embedding/providers/local.ts';
import type { ThreadReply } from '../../../src/platform/dedicated-thread.ts';
import { DocumentList, type Resolved } from '../../../src/search/resident/document-list.ts';
import type { LegQuery } from '../../../src/search/resident/protocol.ts';
import type { ResidentTable } from '../../../src/search/resident/resident-table.ts';
import { ResidentThread } from '../../../src/search/resident/resident-thread.ts';
import { type ResolvedCall, type SearchCall, SearchRounds } from '../../../src/search/resident/search-rounds.ts';
import { startVectorSearch } from '../../../src/search/resident/search-tables.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { QUERY_SLOTS } from '../../../src/search/resident/vector-layout.ts';
import { until } from '../../support/until.ts';
import { drawText, randomFrom } from './draw-rows.ts';
import { drawBatch, fillTable } from './fill-table.ts';

const random = randomFrom(4);
const blocks = new VectorBlocks({ helpers: 1 });
/** Many enough that a helping thread scans, too. */
const ROWS = 5_000;
const tables = new Map<number, ResidentTable>([
  [1, fillTable(blocks, 'one', ROWS, random)],
  [2, fillTable(blocks, 'two', 300, random)],
  [3, fillTable(blocks, 'three', ROWS, random)],
]);
const replies = new Map<number, ThreadReply>();
const rounds = new SearchRounds(tables, (reply) => replies.set(reply.id, reply));

function drawCall(id: number, query: Partial<Resolved<LegQuery>> = {}): ResolvedCall<'searchVectors'> {
  const vector = embedLexical([drawText(random, 4)]);
  return { id, name: 'searchVectors', argument: { tables: [1], documents: null, limit: 20, ...query, vector } };
}

function answerAlone({ argument }: ResolvedCall<'searchVectors'>) {
  const search = startVectorSearch(tables, argument, [argument.vector]);
  search.finishScan();
  return search.answer()[0];
}

function answerAll(calls: readonly SearchCall[]): void {
  replies.clear();
  for (const call of calls) rounds.add(call);
  while (rounds.run());
  expect(replies.size).toBe(calls.length);
}

it('searches of many rounds, of several tables and by terms find what each finds alone', () => {
  for (let turn = 0; turn < 20; turn++) {
    const kinds = [
      {},
      {},
      {},
      { tables: [3] },
      { tables: [1, 2, 3] },
      { documents: new DocumentList(['two']), tables: [1, 2] },
    ];
    const calls = Array.from({ length: 1 + turn }, (_, id) => drawCall(id, kinds[Math.floor(random() * kinds.length)]));
    const expected = calls.map(answerAlone);
    const words: ResolvedCall<'searchKeywords'> = {
      ...{ id: calls.length, name: 'searchKeywords' },
      argument: {
        ...{ tables: [1], documents: null, limit: 5, words: [], correct: false },
        ...{ terms: [{ terms: ['term1x'], weight: 1 }], ownTerms: new Map() },
      },
    };
    answerAll([...calls.slice(0, 3), words, ...calls.slice(3)]);
    for (const { id } of calls) expect(replies.get(id)).toEqual({ id, result: expected[id] });
    expect(replies.get(words.id)?.result).toMatchObject({ rows: { documentIds: Array(5).fill('one') } });
  }
});

it('a search of a table that is gone is refused, and those of the other rounds are answered', () => {
  const calls = [drawCall(0), drawCall(1, { tables: [9] }), drawCall(2, { tables: [3] })];
  answerAll(calls);
  expect(replies.get(1)).toEqual({ id: 1, error: 'the table is not resident any more' });
  for (const id of [0, 2]) expect(replies.get(id)?.error).toBeUndefined();
});

it('searches whose vectors were scanned are answered before their table is dropped', async () => {
  const calls = Array.from({ length: QUERY_SLOTS }, (_, id) => drawCall(id));
  const expected = calls.map(answerAlone);
  // Only once a helping thread has started does an answer wait for the next scan.
  await until(
    async () => {
      replies.clear();
      for (const call of calls) rounds.add(call);
      rounds.run();
      return replies.size < QUERY_SLOTS;
    },
    { what: 'a helping thread' },
  );
  expect(replies.size).toBe(QUERY_SLOTS / 2);
  rounds.complete();
  expect(calls.map(({ id }) => replies.get(id)?.result)).toEqual(expected);
  tables.get(1)?.release();
  tables.delete(1);
  replies.clear();
  expect(rounds.run()).toBe(false);
  expect(replies.size).toBe(0);
});

it('a table that is dropped while it is searched is searched to the end before', async () => {
  const thread = new ResidentThread();
  const batch = drawBatch('four', 4 * ROWS, random);
  const queries = Array.from({ length: QUERY_SLOTS }, (_, id) => ({ ...drawCall(id).argument, documents: null }));
  const searchAll = (onAnswer: () => unknown = () => undefined) =>
    Promise.allSettled(
      queries.map(async (query) => {
        const { chunkIds } = await thread.call('searchVectors', query);
        onAnswer();
        return chunkIds;
      }),
    );
  try {
    let expected: PromiseSettledResult<readonly string[]>[] | null = null;
    for (let turn = 0; turn < 5; turn++) {
      await thread.call('create', { table: 1, scratchIn: null });
      await thread.call('add', { table: 1, batch });
      expected ??= await searchAll();
      let dropped: Promise<null> | null = null;
      const answers = searchAll(() => {
        dropped ??= thread.call('drop', { table: 1 });
      });
      for (const [nth, answer] of (await answers).entries()) {
        if (answer.status === 'fulfilled') expect(answer).toEqual(expected[nth]);
        // It came too late.
        else expect(String(answer.reason)).toContain('not resident any more');
      }
      expect(await dropped).toBe(null);
    }
  } finally {
    await thread.close();
  }
});
