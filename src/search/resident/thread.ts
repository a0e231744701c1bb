/**
 * Main of the thread that holds resident tables. It answers one message after the other, except that searches of the same
 * vectors which wait at the same time read them together.
 */
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { compareAll } from './compare-all.ts';
import type { Call, OperationName, Operations, Reply, RowBatch, TableSize } from './protocol.ts';
import { ResidentTable } from './resident-table.ts';
import { searchKeywords, startVectorSearch } from './search-tables.ts';
import { VectorBlocks } from './vector-blocks.ts';
import { QUERY_SLOTS } from './vector-layout.ts';

/** Threads that scan the vectors of one search. */
const SCANNING_MAX = 4;
/** Rows that are added at a time, in some milliseconds; other calls are answered in between. */
const ROWS_AT_ONCE = 64;

const vectors = new VectorBlocks({ helpers: Math.min(availableParallelism(), SCANNING_MAX) - 1 });
const tables = new Map<number, ResidentTable>();

type Handlers = {
  [Name in Exclude<OperationName, 'searchKeywords' | 'searchVectors'>]: (
    argument: Operations[Name]['argument'],
  ) => Operations[Name]['result'] | Promise<Operations[Name]['result']>;
};

const handlers: Handlers = {
  create({ table, scratchIn }) {
    tables.set(table, new ResidentTable(vectors, scratchIn));
    return null;
  },
  add: ({ table, batch }) => addRows(table, batch),
  findUnknown: ({ table, keys }) => tableOf(table).findUnknown(keys),
  keepOnly({ table, keys }) {
    tableOf(table).keepOnly(keys);
    return tableOf(table).size;
  },
  drop({ table }) {
    tables.get(table)?.release();
    tables.delete(table);
    return null;
  },
  compareAll: ({ table, ...query }) => compareAll(tableOf(table), query),
  readTexts: (places) =>
    Array.from(places.rows, (row, at) => tables.get(places.tables[at] as number)?.textOf(row) ?? null),
};

async function addRows(table: number, batch: RowBatch): Promise<TableSize> {
  for (let from = 0; from < batch.count; from += ROWS_AT_ONCE) {
    if (from > 0) await setImmediate();
    tableOf(table).add(batch, from, Math.min(batch.count, from + ROWS_AT_ONCE));
  }
  return tableOf(table).size;
}

function tableOf(number: number): ResidentTable {
  const table = tables.get(number);
  if (!table) throw new Error('the table is not resident any more');
  return table;
}

async function answer<Name extends keyof Handlers>({ id, name, argument }: Call<Name>): Promise<Reply> {
  try {
    return { id, result: await handlers[name](argument) };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type KeywordCall = Call<'searchKeywords'>;
type VectorCall = Call<'searchVectors'>;

/** Searches that wait. */
const waiting: { keywords: KeywordCall[]; vectors: VectorCall[] } = { keywords: [], vectors: [] };

/** Answer the searches that wait: helping threads scan vectors for the first of them while this one searches by terms. */
function answerWaiting(): void {
  const { keywords, vectors: vectorCalls } = waiting;
  [waiting.keywords, waiting.vectors] = [[], []];
  const keyOf = ({ argument: { tables: numbers, documentIds, limit } }: VectorCall, nth: number) =>
    documentIds === null ? `${limit}: ${numbers.join()}` : nth;
  const together: VectorCall[][] = [];
  for (const alike of Map.groupBy(vectorCalls, keyOf).values()) {
    for (let from = 0; from < alike.length; from += QUERY_SLOTS) together.push(alike.slice(from, from + QUERY_SLOTS));
  }
  const [first, ...others] = together;
  const finish = first ? startTogether(first) : null;
  for (const call of keywords) reply([call], () => [searchKeywords(tables, call.argument)]);
  finish?.();
  for (const calls of others) startTogether(calls)();
}

/** Begin to answer searches that differ in their vectors only. @returns function that completes it */
function startTogether(calls: readonly VectorCall[]): () => void {
  const [{ argument }] = calls as [VectorCall];
  const vectorsOfAll = calls.map((call) => call.argument.vector);
  try {
    const finish = startVectorSearch(tables, argument, vectorsOfAll);
    return () => reply(calls, finish);
  } catch (error) {
    return () =>
      reply(calls, () => {
        throw error;
      });
  }
}

/** Answer calls with the results of one function, or each with its error. */
function reply(calls: readonly Call[], answers: () => readonly unknown[]): void {
  try {
    const results = answers();
    for (const [nth, { id }] of calls.entries()) parentPort?.postMessage({ id, result: results[nth] } satisfies Reply);
  } catch (error) {
    for (const { id } of calls) parentPort?.postMessage({ id, error: messageOf(error) } satisfies Reply);
  }
}

function wait<Search extends KeywordCall | VectorCall>(calls: Search[], call: Search): void {
  if (waiting.keywords.length + waiting.vectors.length === 0) setImmediate().then(answerWaiting);
  calls.push(call);
}

parentPort?.on('message', async (call: Call) => {
  if (call.name === 'searchVectors') wait(waiting.vectors, call as VectorCall);
  else if (call.name === 'searchKeywords') wait(waiting.keywords, call as KeywordCall);
  else parentPort?.postMessage(await answer(call as Call<keyof Handlers>));
});
