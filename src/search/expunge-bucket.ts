import type { Table } from '@lancedb/lancedb';
import { getIndexTable, markSettled, publishVersion } from './index-store.ts';
import { buildTokenIndex, type LanceTables } from './lance.ts';
import type { TableContext } from './replace-table.ts';
import { findReprojection, findRetiredTablesOf, forgetRetiredTable } from './reprojection-store.ts';
import { settle } from './settle.ts';
import { dropVectorIndex } from './vector-index.ts';
import { lockLost, withIndexWriterLock } from './writer-lock.ts';

/** Versions are dated by the clocks of their writers, some of which may be ahead of ours. */
const CLOCKS_DIFFER_MS = 24 * 3_600_000;

/**
 * Take the bytes of removed chunks off the storage, where LanceDB may keep them for ever: it merges a file only once a
 * tenth of its rows are deleted, and its indexes keep what rows that are gone said. So all rows are written to new files,
 * the indexes are built anew, and every older version of the table goes at once. A search that is at one
 * of those fails, and is done again at the new version, which PostgreSQL names before the old ones go.
 *
 * Takes time and, meanwhile, space in proportion to the bucket. Doing it again changes nothing.
 *
 * @throws AppError `index_lock_lost`, `index_unavailable` (503)
 */
export async function expungeBucket(
  { sql, direct, tables }: TableContext,
  bucketId: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await withIndexWriterLock(direct, bucketId, async (stillHeld) => {
    for (const name of await findRetiredTablesOf(sql, bucketId)) {
      await tables.drop(name);
      await forgetRetiredTable(sql, name);
    }
    const checkHeld = async () => {
      if (!(await stillHeld())) throw lockLost();
    };
    const next = (await findReprojection(sql, bucketId))?.tableName ?? null;
    if (next !== null) await expunge(tables, next, checkHeld, async () => {});
    const own = await getIndexTable(sql, bucketId);
    if (own === null) return;
    await expunge(tables, own.name, checkHeld, async (version) => {
      await publishVersion(sql, bucketId, { version, space: null, settled: false });
      await markSettled(sql, bucketId, version);
    });
  });
}

/** @param publish tells readers of the version that has none of the removed rows */
async function expunge(
  tables: LanceTables,
  name: string,
  checkHeld: () => Promise<void>,
  publish: (version: number) => Promise<void>,
): Promise<void> {
  if (!(await tables.has(name))) return;
  const table = await tables.write(name);
  await checkHeld();
  await tables.reach(writeAnew(tables, table));
  await publish(await table.version());
  await checkHeld();
  const later = new Date(Date.now() + CLOCKS_DIFFER_MS);
  // Unverified: files that a killed writer left. Nobody else writes while we hold the lock.
  await tables.reach(table.optimize({ cleanupOlderThan: later, deleteUnverified: true }));
}

async function writeAnew(tables: LanceTables, table: Table): Promise<void> {
  // An update moves rows into new files, whatever it changes.
  if ((await table.countRows()) > 0) await table.update({ where: 'true', valuesSql: { modality: 'modality' } });
  await dropVectorIndex(table);
  await buildTokenIndex(table);
  // Whatever there is to merge now is not found later, when old versions go: that would make one more old version.
  await settle(tables, table);
}
