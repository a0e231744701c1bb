import type { Table } from '@lancedb/lancedb';
import { AppError } from '../../platform/errors.ts';
import { type LanceTables, TOKEN_INDEX_NAME } from './lance.ts';
import { mergeFiles } from './merge-files.ts';
import { type SettleTask, settleInChild } from './settle-process.ts';
import { hasEnoughVectorsIndexed, lacksVectorIndex } from './vector-index.ts';

/** Fragments above which a table is settled between commits, not only when writing pauses. */
const FRAGMENTS_MAX = 64;
/** Bounds of the unindexed rows above which a table is settled between commits. */
const UNINDEXED_ROWS_MIN = 4_096;
const UNINDEXED_ROWS_MAX = 16_384;
/**
 * Share of the rows within those bounds: settling rewrites all rows, so a growing table must not be rewritten often.
 */
const UNINDEXED_SHARE_MAX = 1 / 4;
/** Rows above which a table is settled in a child process, which takes a second to start. */
export const ROWS_IN_PROCESS_MAX = 8_192;
/** Time that old versions of a table, and replaced tables, are kept for readers that still use them. */
export const KEEP_VERSIONS_MS = 10 * 60_000;

/**
 * Return true if the table must be settled before more is written. Searches also find rows that are not in the
 * full-text index yet, but score them by the statistics of the index, which are empty at first; so the index never lags
 * behind by more than its own size. LanceDB 0.31 adds the number of occurrences of a term in unindexed rows to these
 * statistics, not the number of rows that contain it (0.33 counts rows). Where that sum exceeds the number of all rows,
 * a search for the term does not find its unindexed rows.
 */
export function isDueToSettle({ fragments, indexedRows, unindexedRows }: TableShape): boolean {
  const unindexedMax = Math.max(Math.min(indexedRows * UNINDEXED_SHARE_MAX, UNINDEXED_ROWS_MAX), UNINDEXED_ROWS_MIN);
  return unindexedRows > Math.min(indexedRows, unindexedMax) || fragments > FRAGMENTS_MAX;
}

/** Files of a table and progress of its full-text index. */
export interface TableShape {
  readonly fragments: number;
  readonly indexedRows: number;
  readonly unindexedRows: number;
}

/** Return true if the indexes of a table have as many of its rows as searches need. Its files may still be small. */
export async function isIndexed(table: Table): Promise<boolean> {
  const { indexedRows, unindexedRows } = await readTableShape(table);
  return !isDueToSettle({ fragments: 0, indexedRows, unindexedRows }) && hasEnoughVectorsIndexed(table);
}

/**
 * Build one index of a large table in a child process, without merging its files. Rows may be appended meanwhile; they are
 * not in the index. The caller holds the bucket's build lock.
 *
 * @throws AppError `settle_failed`, `index_unavailable`, `storage_full` (503)
 */
export async function buildIndex(
  tables: LanceTables,
  name: string,
  step: 'index_tokens' | 'index_vectors',
): Promise<void> {
  await runInChild(tables, { ...tables.location, name, step, cleanupOlderThanMs: 0 });
}

export async function readTableShape(table: Table): Promise<TableShape> {
  const index = await table.indexStats(TOKEN_INDEX_NAME);
  return {
    fragments: (await table.stats()).fragmentStats.numFragments,
    indexedRows: index?.numIndexedRows ?? 0,
    unindexedRows: index?.numUnindexedRows ?? 0,
  };
}

/**
 * Merge small fragments and bring the indexes up to date. The caller holds the bucket's writer lock. For a large table
 * this takes memory in proportion to the table, which LanceDB does not return to the system; so it runs in a child
 * process.
 *
 * @throws AppError `settle_failed` (503, retryable), which leaves the table usable as before; `index_unavailable`,
 *   `storage_full` (503)
 */
export async function settle(tables: LanceTables, table: Table): Promise<void> {
  await mergeTable(tables, table);
  // In another process, so that the memory of both steps is never held at once.
  await indexVectors(tables, table);
}

/** Do the first part of `settle`: all but building a vector index that the table lacks. @throws AppError as `settle` */
export async function mergeTable(tables: LanceTables, table: Table): Promise<void> {
  const cleanupOlderThanMs = Date.now() - KEEP_VERSIONS_MS;
  if ((await table.countRows()) <= ROWS_IN_PROCESS_MAX) {
    await tables.mapErrors(mergeFiles(table, cleanupOlderThanMs));
    return;
  }
  await runInChild(tables, { ...tables.location, name: table.name, cleanupOlderThanMs, step: 'merge' });
  await table.checkoutLatest();
}

/** Build the vector index of a table if it lacks one. @returns true if it did @throws AppError as `settle` */
export async function indexVectors(tables: LanceTables, table: Table): Promise<boolean> {
  if (!(await lacksVectorIndex(table))) return false;
  await buildIndex(tables, table.name, 'index_vectors');
  await table.checkoutLatest();
  return true;
}

async function runInChild(tables: LanceTables, task: SettleTask): Promise<void> {
  try {
    await tables.mapErrors(settleInChild(task));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const message = 'the files of an index could not be merged; the service tries again by itself';
    throw new AppError({ ...{ code: 'settle_failed', status: 503, message }, retryable: true, cause });
  }
}
