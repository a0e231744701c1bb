import type { Table } from '@lancedb/lancedb';
import { buildTokenIndex, TOKEN_INDEX_NAME } from './lance.ts';
import { dropVectorIndex, hasVectorIndex, SPLIT_ROWS_MAX, VECTOR_INDEX_NAME } from './vector-index.ts';

/** Number of rows up to which the keyword index is built again, which takes a second at most. */
const TOKENS_REBUILT_ROWS_MAX = 65_536;

/**
 * Merge the small files of a table, remove its old versions, and bring its indexes up to date. A large table may lack
 * its vector index afterwards; build it then.
 *
 * If this changed the table, build the keyword index again as one part. `optimize` can merge rows into an index as a
 * separate part. LanceDB 0.31 then prunes the candidates of one part by scores of another, which has other statistics.
 * It misses most of the best rows for common words (lance pull request 8748, in later versions). Larger tables keep the
 * parts. So does a table whose merge was killed in between, until the next merge that changes it.
 *
 * @param cleanupOlderThanMs time before which versions are removed, in milliseconds since 1970
 * @param splitRowsMax number of rows up to which a vector index may be split
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
 * Drop the vector index of a table before `optimize` if there is no row to add to it, or if the table is large. In both
 * cases LanceDB 0.31 would write the whole index again, which takes as long as building it (lance pull request 6711, in
 * later versions). Each time, it would also split a partition. A query that reads partitions of more than 256 MB
 * together never ends, since each partition waits for memory of the others.
 *
 * @returns the version to restore as the latest one if there is nothing to merge, so that its files are kept; null if
 *   there is none
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

/** Make an earlier version the latest one, unless a writer that lost its lock wrote another one meanwhile. */
async function goBack(table: Table, { to, from }: { readonly to: number; readonly from: number }): Promise<void> {
  await table.checkoutLatest();
  if ((await table.version()) !== from) return;
  await restore(table, to);
  const restored = await table.version();
  // Keep rows that were written at the last moment. The index is built again.
  if (restored !== from + 1) await restore(table, restored - 1);
}

async function restore(table: Table, version: number): Promise<void> {
  await table.checkout(version);
  await table.restore();
}
