import type { Table } from '@lancedb/lancedb';
import type { TableState } from '../chunk-index.ts';
import { TOKEN_INDEX_NAME } from './lance.ts';
import { hasEnoughVectorsIndexed } from './vector-index.ts';

/** Number of fragments above which a table is settled between commits instead of at the next pause. */
const FRAGMENTS_MAX = 64;
/** Limits on the number of unindexed rows, above which a table is settled between commits. */
const UNINDEXED_ROWS_MIN = 4_096;
const UNINDEXED_ROWS_MAX = 16_384;
/**
 * Share of unindexed rows, within these limits, above which a table is settled. Settling rewrites all rows, so a
 * growing table must not settle often.
 */
const UNINDEXED_SHARE_MAX = 1 / 4;
/** Maximum rows of a table that is settled after nearly every commit, in about 20 ms. */
const SMALL_ROWS_MAX = 256;
const SMALL_UNINDEXED_SHARE_MAX = 1 / 16;
/**
 * Return true if the table must be settled before the next write.
 *
 * Searches also find rows outside the full-text index, but score them by the statistics of the index, which are empty
 * at first. Therefore unindexed rows may not outnumber indexed rows.
 *
 * LanceDB 0.31 adds the occurrences of a term in unindexed rows to these statistics, instead of the number of rows with
 * the term (0.33 counts rows). If the sum exceeds the number of all rows, a search for the term misses its unindexed
 * rows. In a small table, one chunk that repeats a word is enough for that, so few of its rows may be unindexed.
 */
function isDueToSettle({ fragments, indexedRows, unindexedRows }: TableShape): boolean {
  const rows = indexedRows + unindexedRows;
  if (rows <= SMALL_ROWS_MAX && unindexedRows > rows * SMALL_UNINDEXED_SHARE_MAX) return true;
  const unindexedMax = Math.max(Math.min(indexedRows * UNINDEXED_SHARE_MAX, UNINDEXED_ROWS_MAX), UNINDEXED_ROWS_MIN);
  return unindexedRows > Math.min(indexedRows, unindexedMax) || fragments > FRAGMENTS_MAX;
}

/** Data files and full-text indexing progress of a table. */
interface TableShape {
  readonly fragments: number;
  readonly indexedRows: number;
  readonly unindexedRows: number;
}

/** Return true if the indexes cover enough rows for searches. Data files may still be small. */
export async function isIndexed(table: Table): Promise<boolean> {
  const { indexedRows, unindexedRows } = await readTableShape(table);
  return !isDueToSettle({ fragments: 0, indexedRows, unindexedRows }) && hasEnoughVectorsIndexed(table);
}

async function readTableShape(table: Table): Promise<TableShape> {
  const index = await table.indexStats(TOKEN_INDEX_NAME);
  return {
    fragments: (await table.stats()).fragmentStats.numFragments,
    indexedRows: index?.numIndexedRows ?? 0,
    unindexedRows: index?.numUnindexedRows ?? 0,
  };
}

/** Read the state of the latest version of a table opened for writing. */
export async function readTableState(table: Table): Promise<TableState> {
  const shape = await readTableShape(table);
  return {
    name: table.name,
    version: await table.version(),
    fragments: shape.fragments,
    unindexedRows: shape.unindexedRows,
    isDueToSettle: isDueToSettle(shape),
  };
}
