import type { Table } from '@lancedb/lancedb';
import { TOKEN_INDEX_NAME } from './lance.ts';

/** Above these a table is settled between commits, not only when writing pauses. */
const FRAGMENTS_MAX = 64;
const UNINDEXED_ROWS_MAX = 4_096;
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
  const unindexed = index?.numUnindexedRows ?? 0;
  if (unindexed > Math.min(index?.numIndexedRows ?? 0, UNINDEXED_ROWS_MAX)) return true;
  return (await table.stats()).fragmentStats.numFragments > FRAGMENTS_MAX;
}

/** Merge small fragments and bring the full-text index up to date. */
export async function settle(table: Table): Promise<void> {
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEEP_VERSIONS_MS) });
}
