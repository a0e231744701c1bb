import type { Table } from '@lancedb/lancedb';
import type { TableState } from '../chunk-index.ts';
import { buildTokenIndex, type LanceTables } from './lance.ts';
import { indexVectors, mergeTable } from './settle.ts';
import { readTableState } from './table-state.ts';
import { dropVectorIndex } from './vector-index.ts';

/** Maximum lead of a writer's clock over ours. That clock dates the versions. */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/**
 * Erase deleted rows from the storage. LanceDB may keep them for ever: it merges a file only once a tenth of its rows
 * are deleted, and its indexes keep the content of deleted rows. Therefore write all rows to new files, rebuild the
 * indexes, and remove all older versions of the table at once. A search that reads an older version then fails, and is
 * repeated on the new one. This takes time and temporary space in proportion to the table.
 *
 * @param requireLock throws if the caller has lost its lock
 * @param publish announces the version without the removed rows to readers
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
  // Unverified files come from a killed writer, since no other process writes while we hold the lock.
  await tables.mapErrors(table.optimize({ cleanupOlderThan: later, deleteUnverified: true }));
  // Build it only now, since `optimize` would write it again.
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
