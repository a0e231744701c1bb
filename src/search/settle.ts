import type { Table } from '@lancedb/lancedb';
import { AppError } from '../platform/errors.ts';
import { type LanceTables, TOKEN_INDEX_NAME } from './lance.ts';
import { type SettleTask, settleInProcess } from './settle-process.ts';
import { lacksVectorIndex } from './vector-index.ts';

/** Above these a table is settled between commits, not only when writing pauses. */
const FRAGMENTS_MAX = 64;
const UNINDEXED_ROWS_MIN = 4_096;
const UNINDEXED_ROWS_MAX = 16_384;
/** A part of the rows: settling rewrites all of them, so the times that a growing table is rewritten stay few. */
const UNINDEXED_SHARE_MAX = 1 / 4;
/** Above this a table is settled in a process of its own, which takes a second to start. */
const ROWS_HERE_MAX = 8_192;
/** Old versions of a table, and tables that were replaced, are kept for readers that are still on them. */
export const KEEP_VERSIONS_MS = 10 * 60_000;

/**
 * Rows beside the full-text index are found too, but scored by the statistics of the index, or of nothing while it is
 * empty: so the index never lags behind by more than its own size. LanceDB 0.31 adds to these how often, not in how many
 * of those rows, a term occurs; rows of a term for which that comes to more than there are rows are not found by it until
 * they are indexed (0.33 counts rows).
 */
export async function isDueToSettle(table: Table): Promise<boolean> {
  const index = await table.indexStats(TOKEN_INDEX_NAME);
  const indexed = index?.numIndexedRows ?? 0;
  const unindexedMax = Math.max(Math.min(indexed * UNINDEXED_SHARE_MAX, UNINDEXED_ROWS_MAX), UNINDEXED_ROWS_MIN);
  if ((index?.numUnindexedRows ?? 0) > Math.min(indexed, unindexedMax)) return true;
  return (await table.stats()).fragmentStats.numFragments > FRAGMENTS_MAX;
}

/**
 * Merge small fragments and bring the indexes up to date. Only for the holder of the bucket's writer lock. Of a
 * large table this takes memory in proportion to it, which LanceDB gives back to nobody: so it is done in a process of
 * its own, which ends.
 *
 * @throws AppError `settle_failed` (503, retryable), which leaves the table as good as it was; `index_unavailable`,
 *   `storage_full` (503)
 */
export async function settle(tables: LanceTables, table: Table): Promise<void> {
  const cleanupOlderThanMs = Date.now() - KEEP_VERSIONS_MS;
  if ((await table.countRows()) <= ROWS_HERE_MAX) {
    await tables.reach(table.optimize({ cleanupOlderThan: new Date(cleanupOlderThanMs) }));
    return;
  }
  const task = { ...tables.place, name: table.name, cleanupOlderThanMs };
  await inProcess(tables, { ...task, step: 'merge' });
  await table.checkoutLatest();
  if (!(await lacksVectorIndex(table))) return;
  // In another one, so that the memory of both is never held at once.
  await inProcess(tables, { ...task, step: 'index_vectors' });
  await table.checkoutLatest();
}

async function inProcess(tables: LanceTables, task: SettleTask): Promise<void> {
  try {
    await tables.reach(settleInProcess(task));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const message = 'the files of an index were not merged; it will be tried again';
    throw new AppError({ ...{ code: 'settle_failed', status: 503, message }, retryable: true, cause });
  }
}
