/** Entry point of the thread that holds resident tables. It handles calls one at a time. */
import { setImmediate } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { messageOf, type ThreadCall, type ThreadReply } from '../platform/dedicated-thread.ts';
import { compareAll, cosineOf } from './compare-all.ts';
import type { Operation, OperationName, Operations } from './protocol.ts';
import { ResidentTable } from './resident-table.ts';
import { searchKeywords, searchVectors } from './search-tables.ts';
import { SketchedBlocks } from './vectors/sketched-blocks.ts';

/** Number of rows to add at a time, a few milliseconds' work. The thread handles other calls in between. */
const ROWS_AT_ONCE = 64;

const port = parentPort as NonNullable<typeof parentPort>;
const sketched = new SketchedBlocks();
const tables = new Map<number, ResidentTable>();

type Handlers = {
  [Name in OperationName]: (
    argument: Operations[Name]['argument'],
  ) => Operations[Name]['result'] | Promise<Operations[Name]['result']>;
};

const handlers: Handlers = {
  create({ table, scratchIn }) {
    tables.set(table, new ResidentTable(sketched, scratchIn));
    return null;
  },
  async add({ table, batch }) {
    for (let from = 0; from < batch.count; from += ROWS_AT_ONCE) {
      if (from > 0) await setImmediate();
      tableOf(table).add(batch, from, Math.min(batch.count, from + ROWS_AT_ONCE));
    }
    return tableOf(table).size;
  },
  findUnknown: ({ table, keys }) => tableOf(table).findUnknown(keys),
  keepOnly({ table, keys, rows }) {
    tableOf(table).keepOnly(keys, rows);
    return tableOf(table).size;
  },
  drop({ table }) {
    tables.get(table)?.release();
    tables.delete(table);
    return null;
  },
  searchKeywords: (query) => searchKeywords(tables, query),
  searchVectors: (query) => searchVectors(tables, query),
  compareAll: ({ table, ...query }) => compareAll(tableOf(table), query),
  readCosines: ({ vector, tables: numbers, rows }) =>
    Float64Array.from(rows, (row, at) => cosineOf(tableOf(numbers[at] as number), row, vector)),
  readTexts: (places) =>
    Array.from(places.rows, (row, at) => tables.get(places.tables[at] as number)?.textOf(row) ?? null),
};

function tableOf(number: number): ResidentTable {
  const table = tables.get(number);
  if (!table) throw new Error('the table is not resident any more');
  return table;
}

async function answer<Name extends OperationName>(
  id: number,
  { name, argument }: Operation<Name>,
): Promise<ThreadReply> {
  try {
    return { id, result: await handlers[name](argument) };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

port.on('message', (calls: readonly ThreadCall<Operation>[]) => {
  for (const { id, argument } of calls) answer(id, argument).then((reply) => port.postMessage([reply]));
});
