import type { Table } from '@lancedb/lancedb';
import { buildTokenIndex, TOKEN_INDEX_NAME } from './lance.ts';
import { dropVectorIndex, hasVectorIndex, SPLIT_ROWS_MAX, VECTOR_INDEX_NAME } from './vector-index.ts';

/** Rows up to which the keyword index is built anew, in a second at most. */
const TOKENS_REBUILT_ROWS_MAX = 65_536;

/**
 * Merge the small files of a table, remove its old versions, and bring its indexes up to date. A large table may lack
 * its vector index afterwards, which is then to be built anew.
 *
 * If that has changed the table, the keyword index is then built anew, as one part: where `optimize` has merged rows
 * into an index as a part of their own, LanceDB 0.31 prunes the candidates of one part by scores of another, which have
 * other statistics, and misses most of the best rows for common words (lance pull request 8748, in later versions).
 * Larger tables keep the parts, and so does a table whose merge was killed in between, until the next one that changes
 * it.
 *
 * @param cleanupOlderThanMs versions older than this are removed; milliseconds since 1970
 * @param splitRowsMax rows up to which a vector index may be split
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
 * Drop the vector index of a table before `optimize`, if that has no row to add to it, or if the table is large.
 * LanceDB 0.31 would write all of it anew in either case, which takes as long as to build it (lance pull request 6711,
 * in later versions). Each time it would also split a partition; and a query that reads partitions of more than 256 MB
 * together never ends, since each waits for memory of the others.
 *
 * @returns the version to go back to if there is nothing to merge: as the latest one, so that its files are kept. Null:
 *   none
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

/** Make an earlier version the latest one, if no writer that has lost its lock wrote another one meanwhile. */
async function goBack(table: Table, { to, from }: { readonly to: number; readonly from: number }): Promise<void> {
  await table.checkoutLatest();
  if ((await table.version()) !== from) return;
  await restore(table, to);
  const restored = await table.version();
  // Rows that were written at the last moment are kept; the index is built anew.
  if (restored !== from + 1) await restore(table, restored - 1);
}

async function restore(table: Table, version: number): Promise<void> {
  await table.checkout(version);
  await table.restore();
}
