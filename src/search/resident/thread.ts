/**
 * Main of the thread that holds resident tables. It answers one message after the other, except that searches of the same
 * vectors which wait at the same time read them together.
 */
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { Call, LegRows, OperationName, Operations, Reply, RowBatch, TableSize } from './protocol.ts';
import { ResidentTable } from './resident-table.ts';
import { searchKeywords, searchVectors } from './search-tables.ts';
import { VectorBlocks } from './vector-blocks.ts';
import { QUERY_SLOTS } from './vector-layout.ts';

/** Threads that scan the vectors of one search. */
const SCANNING_MAX = 4;
/** Rows that are added at a time, in some milliseconds; other calls are answered in between. */
const ROWS_AT_ONCE = 64;

const vectors = new VectorBlocks({ helpers: Math.min(availableParallelism(), SCANNING_MAX) - 1 });
const tables = new Map<number, ResidentTable>();

type Handlers = {
  [Name in OperationName]: (
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
  searchKeywords: (query) => searchKeywords(tables, query),
  searchVectors: ({ vector, ...query }) => searchVectors(tables, query, [vector])[0] as LegRows,
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

async function answer<Name extends OperationName>({ id, name, argument }: Call<Name>): Promise<Reply> {
  try {
    return { id, result: await handlers[name](argument) };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

type VectorCall = Call<'searchVectors'>;

/** Searches of vectors that wait. */
let waiting: VectorCall[] = [];

function answerWaiting(): void {
  const calls = waiting;
  waiting = [];
  const keyOf = ({ argument: { tables: numbers, documentIds, limit } }: VectorCall, nth: number) =>
    documentIds === null ? `${limit}: ${numbers.join()}` : nth;
  for (const alike of Map.groupBy(calls, keyOf).values()) {
    for (let from = 0; from < alike.length; from += QUERY_SLOTS) answerTogether(alike.slice(from, from + QUERY_SLOTS));
  }
}

/** Answer searches that differ in their vectors only. */
function answerTogether(calls: readonly VectorCall[]): void {
  const [first] = calls;
  if (!first) return;
  try {
    const vectorsOfAll = calls.map(({ argument }) => argument.vector);
    const results = searchVectors(tables, first.argument, vectorsOfAll);
    for (const [nth, { id }] of calls.entries()) parentPort?.postMessage({ id, result: results[nth] } satisfies Reply);
  } catch (error) {
    for (const { id } of calls) parentPort?.postMessage({ id, error: String(error) } satisfies Reply);
  }
}

parentPort?.on('message', async (call: Call) => {
  if (call.name === 'searchVectors') {
    if (waiting.push(call as VectorCall) === 1) setImmediate().then(answerWaiting);
  } else parentPort?.postMessage(await answer(call));
});
