import type { Table } from '@lancedb/lancedb';
import type { TableState } from '../chunk-index.ts';
import { buildTokenIndex, type LanceTables } from './lance.ts';
import { indexVectors, mergeTable } from './settle.ts';
import { readTableState } from './table-state.ts';
import { dropVectorIndex } from './vector-index.ts';

/** Maximum lead of the clock that dates versions (the writer's) over ours. */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/**
 * Erase deleted rows from the storage. LanceDB may keep them forever: it merges a file only once a tenth of its rows
 * are deleted, and its indexes keep the content of deleted rows. Therefore write all rows to new files, rebuild the
 * indexes, and delete all older versions at once. A search that reads an older version fails and is repeated on the new
 * one. Time and temporary space are proportional to the table.
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
  // Unverified files are from a killed writer, since nobody else writes while we hold the lock.
  await tables.mapErrors(table.optimize({ cleanupOlderThan: later, deleteUnverified: true }));
  // Build the vector index last, since `optimize` would write it again.
  if (!(await indexVectors(tables, table))) return;
  await requireLock();
  await publish(await readTableState(table));
}

async function rewriteTable(tables: LanceTables, table: Table): Promise<void> {
  // An update rewrites rows to new files even if no value changes.
  if ((await table.countRows()) > 0) await table.update({ where: 'true', valuesSql: { modality: 'modality' } });
  await dropVectorIndex(table);
  await buildTokenIndex(table);
  // Merge before deleting old versions. A later merge would leave one more old version.
  await mergeTable(tables, table);
}
