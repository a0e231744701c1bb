import type { Table } from '@lancedb/lancedb';
import { buildTokenIndex, TOKEN_INDEX_NAME } from './lance.ts';
import { dropVectorIndex, hasVectorIndex, SPLIT_ROWS_MAX, VECTOR_INDEX_NAME } from './vector-index.ts';

/** Maximum rows for rebuilding the keyword index, which takes at most a second. */
const TOKENS_REBUILT_ROWS_MAX = 65_536;

/**
 * Merge the small files of a table, delete its old versions, and update its indexes. A large table may lack its vector
 * index afterwards; build it then.
 *
 * If the table changed, rebuild the keyword index as a single part. `optimize` can add rows to an index as a separate
 * part. LanceDB 0.31 then prunes candidates of one part by scores of another one with different statistics, and misses
 * most of the best rows for common words (fixed by lance pull request 8748, in later versions). Larger tables keep
 * their parts. So does a table whose merge was killed, until the next merge that changes it.
 *
 * @param cleanupOlderThanMs time before which versions are deleted, in milliseconds since 1970
 * @param splitRowsMax maximum rows at which a vector index may be split
 */
export async function mergeFiles(
  table: Table,
  cleanupOlderThanMs: number,
  splitRowsMax = SPLIT_ROWS_MAX,
): Promise<void> {
  const before = await table.version();
  const indexed = await setVectorsAside(table, splitRowsMax);
  const dropped = await table.version();
  const { compaction } = await table.optimize({ cleanupOlderThan: new Date(cleanupOlderThanMs) });
  if (indexed !== null && compaction.fragmentsRemoved === 0) {
    await goBack(table, { to: indexed, from: dropped });
    return;
  }
  if ((await table.version()) === before) return;
  if ((await table.countRows()) <= TOKENS_REBUILT_ROWS_MAX) await buildTokenIndex(table);
}

/**
 * Drop the vector index before `optimize` if there are no rows to add to it, or if the table is large. In both cases
 * LanceDB 0.31 would rewrite the whole index, which takes as long as building it (fixed by lance pull request 6711, in
 * later versions), and split a partition each time. A query of partitions of more than 256 MB together deadlocks, since
 * each waits for memory of the others.
 *
 * @returns version to restore as the latest if there is nothing to merge, which keeps its files; otherwise null
 */
async function setVectorsAside(table: Table, splitRowsMax: number): Promise<number | null> {
  if (!(await hasVectorIndex(table))) return null;
  const stats = await Promise.all([VECTOR_INDEX_NAME, TOKEN_INDEX_NAME].map((name) => table.indexStats(name)));
  const isComplete = stats.every((index) => index?.numUnindexedRows === 0);
  if (!isComplete && (await table.countRows()) <= splitRowsMax) return null;
  if (isComplete) await restore(table, await table.version());
  const indexed = await table.version();
  await dropVectorIndex(table);
  return isComplete ? indexed : null;
}

/** Restore an earlier version as the latest one, unless a writer without its lock has committed meanwhile. */
async function goBack(table: Table, { to, from }: { readonly to: number; readonly from: number }): Promise<void> {
  await table.checkoutLatest();
  if ((await table.version()) !== from) return;
  await restore(table, to);
  const restored = await table.version();
  // Keep the rows of a last-moment commit. The index is built again.
  if (restored !== from + 1) await restore(table, restored - 1);
}

async function restore(table: Table, version: number): Promise<void> {
  await table.checkout(version);
  await table.restore();
}
