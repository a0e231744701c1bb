/** Main of the thread that holds resident tables. It answers one call after the other, and searches in rounds. */
import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { messageOf, type ThreadCall, type ThreadReply } from '../../platform/dedicated-thread.ts';
import { compareAll } from './compare-all.ts';
import { DocumentLists } from './document-list.ts';
import { KeywordRows } from './keyword-rows.ts';
import type { Call, Operation, OperationName, Operations, RowBatch, RowSelection, TableSize } from './protocol.ts';
import { readCommit, withRowFile } from './read-row-file.ts';
import { ResidentTable } from './resident-table.ts';
import { type SearchCall, SearchRounds } from './search-rounds.ts';
import { VectorBlocks } from './vector-blocks.ts';

/** Threads that scan the vectors of one search. */
const SCANNING_MAX = 4;
/** Rows that are added at a time, in some milliseconds; other calls are answered in between. */
const ROWS_AT_ONCE = 64;

const port = parentPort as NonNullable<typeof parentPort>;
const vectors = new VectorBlocks({ helpers: Math.min(availableParallelism(), SCANNING_MAX) - 1 });
const tables = new Map<number, ResidentTable>();
const lists = new DocumentLists();
const rounds = new SearchRounds(tables, send);

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
  load: ({ table, file, version }) =>
    withRowFile(file, (rows) => {
      if (rows.version < version) return null;
      const loaded = new ResidentTable(vectors, null, KeywordRows.from(rows.keywords));
      for (const batch of rows.batches) loaded.add(batch, 0, batch.count);
      tables.set(table, loaded);
      return { version: rows.version, lastRowId: rows.lastRowId, size: loaded.size };
    }),
  follow: ({ table, version, files }) => follow(table, version, files),
  findUnknown: ({ table, keys }) => tableOf(table).findUnknown(keys),
  keepOnly({ table, keys }) {
    rounds.complete();
    tableOf(table).keepOnly(keys);
    return tableOf(table).size;
  },
  remove: ({ table, selected }) => removeRows(table, selected),
  drop({ table }) {
    rounds.complete();
    tables.get(table)?.release();
    tables.delete(table);
    return null;
  },
  putDocuments({ list, ids }) {
    lists.put(list, ids);
    return null;
  },
  dropDocuments({ list }) {
    lists.drop(list);
    return null;
  },
  compareAll({ table, ...query }) {
    rounds.complete();
    return compareAll(tableOf(table), query);
  },
  readTexts: (places) =>
    Array.from(places.rows, (row, at) => tables.get(places.tables[at] as number)?.textOf(row) ?? null),
};

async function addRows(table: number, batch: RowBatch): Promise<TableSize> {
  for (let from = 0; from < batch.count; from += ROWS_AT_ONCE) {
    if (from > 0) await setImmediate();
    rounds.complete();
    tableOf(table).add(batch, from, Math.min(batch.count, from + ROWS_AT_ONCE));
  }
  return tableOf(table).size;
}

function removeRows(table: number, selected: RowSelection): TableSize {
  rounds.complete();
  tableOf(table).remove(selected);
  return tableOf(table).size;
}

async function follow(table: number, version: number, files: readonly string[]) {
  let followed = 0;
  for (const file of files) {
    const commit = await readCommit(file);
    if (commit === null || commit.before !== version + followed) break;
    if ('selected' in commit) {
      removeRows(table, commit.selected);
    } else {
      const { batch } = commit;
      // A reading may have found rows of a newer version than it was to read.
      const unknown = tableOf(table).findUnknown(batch);
      if (unknown.length > 0 && unknown.length < batch.count) break;
      if (unknown.length > 0) await addRows(table, batch);
    }
    followed++;
  }
  return { followed, size: tableOf(table).size };
}

function tableOf(number: number): ResidentTable {
  const table = tables.get(number);
  if (!table) throw new Error('the table is not resident any more');
  return table;
}

async function answer<Name extends keyof Handlers>({ id, name, argument }: Call<Name>): Promise<ThreadReply> {
  try {
    return { id, result: await handlers[name](argument) };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

function addSearch({ id, name, argument }: Call<'searchVectors' | 'searchKeywords'>): void {
  try {
    rounds.add({ id, name, argument: lists.resolve(argument) } as SearchCall);
  } catch (error) {
    send({ id, error: messageOf(error) });
  }
}

function send(reply: ThreadReply): void {
  port.postMessage([reply]);
}

async function take({ id, argument: operation }: ThreadCall<Operation>): Promise<void> {
  const call: Call = { id, ...operation };
  if (call.name === 'searchVectors' || call.name === 'searchKeywords') addSearch(call as Call<typeof call.name>);
  else send(await answer(call as Call<keyof Handlers>));
}

/** Take the calls of the messages that wait. @returns whether there were any */
function takeWaiting(): boolean {
  let taken = false;
  for (;;) {
    const next = receiveMessageOnPort(port) as { message: readonly ThreadCall<Operation>[] } | undefined;
    if (next === undefined) return taken;
    for (const call of next.message) take(call);
    taken = true;
  }
}

/** Answer the searches that wait. Those that come meanwhile are scanned for before the last ones are answered. */
function search(): void {
  if (!rounds.run()) return;
  if (takeWaiting()) setImmediate().then(search);
  else rounds.complete();
}

port.on('message', (calls: readonly ThreadCall<Operation>[]) => {
  for (const call of calls) take(call);
  takeWaiting();
  search();
});
