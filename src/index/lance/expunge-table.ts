import type { Table } from '@lancedb/lancedb';
import type { TableState } from '../chunk-index.ts';
import { buildTokenIndex, type LanceTables } from './lance.ts';
import { indexVectors, mergeTable } from './settle.ts';
import { readTableState } from './table-state.ts';
import { dropVectorIndex } from './vector-index.ts';

/** Most that the clock of a writer, which dates its versions, may be ahead of ours. */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/**
 * Remove the bytes of deleted rows from the storage, where LanceDB may keep them for ever: it merges a file only once a
 * tenth of its rows are deleted, and its indexes keep the content of deleted rows. So all rows are written to new
 * files, the indexes are rebuilt, and all older versions of the table are removed at once. A search that reads an older
 * version then fails, and is repeated on the new one. It takes time and temporary space in proportion to the table.
 *
 * @param requireLock throws if the caller has lost its lock
 * @param publish announces to readers the version that has none of the removed rows
 */
export async function expungeTable(
  tables: LanceTables,
  name: string,
  requireLock: () => Promise<void>,
  publish: (state: TableState) => Promise<void>,
): Promise<void> {
  if (!(await tables.has(name))) return;
  const table = await tables.openForWriting(name);
  await requireLock();
  await tables.mapErrors(rewriteTable(tables, table));
  await publish(await readTableState(table));
  await requireLock();
  const later = new Date(Date.now() + CLOCK_SKEW_MS);
  // Unverified files are those of a killed writer, since no other process writes while we hold the lock.
  await tables.mapErrors(table.optimize({ cleanupOlderThan: later, deleteUnverified: true }));
  // Not before, since `optimize` would write it once more.
  if (!(await indexVectors(tables, table))) return;
  await requireLock();
  await publish(await readTableState(table));
}

async function rewriteTable(tables: LanceTables, table: Table): Promise<void> {
  // An update moves rows into new files even if no value changes.
  if ((await table.countRows()) > 0) await table.update({ where: 'true', valuesSql: { modality: 'modality' } });
  await dropVectorIndex(table);
  await buildTokenIndex(table);
  // Merge now: a merge when old versions are removed would leave one more old version.
  await mergeTable(tables, table);
}
