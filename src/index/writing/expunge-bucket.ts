import type { Table } from '@lancedb/lancedb';
import { BucketFaults } from '../../documents/bucket-faults.ts';
import { getIndexTable } from '../index-store.ts';
import { buildTokenIndex, type LanceTables } from '../lance/lance.ts';
import { indexVectors, mergeTable } from '../lance/settle.ts';
import { dropVectorIndex } from '../lance/vector-index.ts';
import { type DeletedTextAge, findDeletedText, findDueDeletedText, forgetDeletedText } from './deleted-text-store.ts';
import { markSettled, publishVersion } from './index-versions-store.ts';
import { findReindexRun, findRetiredTablesOf, forgetRetiredTable } from './reindex-store.ts';
import type { ChoreContext, TableContext } from './replace-table.ts';
import { lockLost, withIndexToItself } from './writer-lock.ts';

/** Most that the clock of a writer, which dates its versions, may be ahead of ours. */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/**
 * Remove the bytes of deleted chunks from the storage, where LanceDB may keep them for ever: it merges a file only once
 * a tenth of its rows are deleted, and its indexes keep the content of deleted rows. So all rows are written to new
 * files, the indexes are rebuilt, and all older versions of the table are removed at once. A search that reads an older
 * version then fails, and is repeated on the new version, which PostgreSQL names before the old ones are removed.
 *
 * It takes time and temporary space in proportion to the bucket. It is idempotent.
 *
 * @throws AppError `index_lock_lost`, `index_unavailable` (503)
 */
export async function expungeBucket(context: TableContext, bucketId: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await withIndexToItself(context.direct, bucketId, async (stillHeld) => {
    const deletedAt = await findDeletedText(context.sql, bucketId);
    await expungeLocked(context, bucketId, stillHeld);
    if (deletedAt !== null) await forgetDeletedText(context.sql, bucketId, deletedAt);
  });
}

/**
 * Rewrite the indexes from whose rows documents were deleted. A large one is rewritten only once in a while, for all
 * documents that were deleted meanwhile. An index that fails does not keep the others.
 *
 * @throws the error of the first index that failed, once the others are done
 */
export async function expungeDue(context: ChoreContext, age: DeletedTextAge, signal: AbortSignal): Promise<void> {
  const message = 'deleted text was not removed from an index; trying again later';
  const faults = new BucketFaults(context.logger, signal, message);
  for (const bucketId of await findDueDeletedText(context.sql, age)) {
    const work = async (stillHeld: () => Promise<boolean>) => {
      // Another process may have done it while this one waited.
      const deletedAt = await findDeletedText(context.sql, bucketId);
      if (deletedAt === null) return;
      await expungeLocked(context, bucketId, stillHeld);
      await forgetDeletedText(context.sql, bucketId, deletedAt);
    };
    await faults.attempt(bucketId, () => withIndexToItself(context.direct, bucketId, work));
  }
  faults.throwFirst();
}

async function expungeLocked(
  { sql, tables }: TableContext,
  bucketId: string,
  stillHeld: () => Promise<boolean>,
): Promise<void> {
  for (const name of await findRetiredTablesOf(sql, bucketId)) {
    await tables.drop(name);
    await forgetRetiredTable(sql, name);
  }
  const checkHeld = async () => {
    if (!(await stillHeld())) throw lockLost();
  };
  const next = (await findReindexRun(sql, bucketId))?.tableName ?? null;
  if (next !== null) await expunge(tables, next, checkHeld, async () => {});
  const own = await getIndexTable(sql, bucketId);
  if (own === null) return;
  const { name } = own;
  await expunge(tables, name, checkHeld, async (version) => {
    await publishVersion(sql, bucketId, { name, version, origin: null, settled: false, shape: null });
    await markSettled(sql, bucketId, { name, version, shape: null });
  });
}

/** @param publish announces to readers the version that has none of the removed rows */
async function expunge(
  tables: LanceTables,
  name: string,
  checkHeld: () => Promise<void>,
  publish: (version: number) => Promise<void>,
): Promise<void> {
  if (!(await tables.has(name))) return;
  const table = await tables.openForWriting(name);
  await checkHeld();
  await tables.mapErrors(rewriteTable(tables, table));
  await publish(await table.version());
  await checkHeld();
  const later = new Date(Date.now() + CLOCK_SKEW_MS);
  // Unverified files are those of a killed writer, since no other process writes while we hold the lock.
  await tables.mapErrors(table.optimize({ cleanupOlderThan: later, deleteUnverified: true }));
  // Not before, since `optimize` would write it once more.
  if (!(await indexVectors(tables, table))) return;
  await checkHeld();
  await publish(await table.version());
}

async function rewriteTable(tables: LanceTables, table: Table): Promise<void> {
  // An update moves rows into new files even if no value changes.
  if ((await table.countRows()) > 0) await table.update({ where: 'true', valuesSql: { modality: 'modality' } });
  await dropVectorIndex(table);
  await buildTokenIndex(table);
  // Merge now: a merge when old versions are removed would leave one more old version.
  await mergeTable(tables, table);
}
