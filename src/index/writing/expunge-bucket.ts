import { BucketFaults } from '../../documents/bucket-faults.ts';
import type { TableState } from '../chunk-index.ts';
import { getIndexTable } from '../index-store.ts';
import { type DeletedTextAge, findDeletedText, findDueDeletedText, forgetDeletedText } from './deleted-text-store.ts';
import { markSettled, publishVersion } from './index-versions-store.ts';
import { findReindexRun, findRetiredTablesOf, forgetRetiredTable } from './reindex-store.ts';
import type { ChoreContext, TableContext } from './replace-table.ts';
import { lockedBy, type StillHeld, withIndexToItself } from './writer-lock.ts';

/**
 * Erase deleted chunks from the storage of a bucket's index. Publish the new version in PostgreSQL before deleting
 * older ones. A search that reads an older version fails and is repeated on the new one.
 *
 * Time and temporary space are proportional to the bucket. The operation is idempotent.
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
 * Rewrite the indexes from which documents were deleted. A large index is rewritten only occasionally, for all
 * deletions since the last time. If one index fails, continue with the others.
 *
 * @throws the error of the first index that failed, once the others are done
 */
export async function expungeDue(context: ChoreContext, age: DeletedTextAge, signal: AbortSignal): Promise<void> {
  const message = 'deleted text was not removed from an index; trying again later';
  const faults = new BucketFaults(context.logger, signal, message);
  for (const bucketId of await findDueDeletedText(context.sql, age)) {
    const work = async (stillHeld: StillHeld) => {
      // Another process may have done this while this one waited.
      const deletedAt = await findDeletedText(context.sql, bucketId);
      if (deletedAt === null) return;
      await expungeLocked(context, bucketId, stillHeld);
      await forgetDeletedText(context.sql, bucketId, deletedAt);
    };
    await faults.attempt(bucketId, () => withIndexToItself(context.direct, bucketId, work));
  }
  faults.throwFirst();
}

async function expungeLocked({ sql, chunks }: TableContext, bucketId: string, stillHeld: StillHeld): Promise<void> {
  for (const name of await findRetiredTablesOf(sql, bucketId)) {
    await chunks.drop(name);
    await forgetRetiredTable(sql, name);
  }
  const lock = lockedBy(stillHeld);
  const next = (await findReindexRun(sql, bucketId))?.tableName ?? null;
  if (next !== null) await chunks.expunge(next, { ...lock, publish: async () => {} });
  const own = await getIndexTable(sql, bucketId);
  if (own === null) return;
  const publish = async (state: TableState) => {
    await publishVersion(sql, bucketId, { ...state, origin: null, settled: false });
    await markSettled(sql, bucketId, state);
    chunks.notePublished(state);
  };
  await chunks.expunge(own.name, { ...lock, publish });
}
