import { BucketFaults } from '../../documents/bucket-faults.ts';
import type { Engine } from '../../documents/schema.ts';
import { lockBucket, lockBucketPolicy } from '../../documents/store.ts';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import type { BuildAhead, ChunkIndex } from '../chunk-index.ts';
import { engineOf, firstTableName } from '../engines.ts';
import { findEngine, getIndexTable, updateEngine } from '../index-store.ts';
import { inPages } from './in-pages.ts';
import { KEEP_VERSIONS_MS } from './keep-versions.ts';
import {
  dropReindexRun,
  findAbandonedReindexRuns,
  findRetiredTables,
  forgetRetiredTable,
  hasAbandonedReindexRun,
  lockIndexTable,
  type ReindexRun,
  replaceTable,
} from './reindex-store.ts';
import { lockedBy, withIndexBuildLock, withIndexToItself, withIndexWriterLock } from './writer-lock.ts';

export interface TableContext {
  readonly sql: Sql;
  /** Connection pool for advisory locks. It must not use a transaction pooler. */
  readonly direct: Sql;
  readonly chunks: ChunkIndex;
}

/** Context for maintenance of all buckets' tables. */
export interface ChoreContext extends TableContext {
  readonly logger: Logger;
}

/**
 * Return the name of the table that replaces a bucket's current one. It starts with the bucket's id, so that it is
 * dropped with the bucket.
 */
export function nextTableName(bucketId: string, runId: string, engine: Engine): string {
  return `${firstTableName(bucketId, engine)}_${runId}`;
}

/**
 * Replace the bucket's own table with the one that a reprojection built, in one transaction with `flip`. Searches that
 * already read the old table finish there.
 *
 * @param flip makes the content of the new table visible; returns false if the table is incomplete, and nothing
 *   changes
 * @throws AppError `index_lock_lost` (503), `bucket_not_found` (404)
 */
export async function swapTable(
  { sql, direct, chunks }: TableContext,
  orgId: string,
  run: ReindexRun,
  flip: (tx: Sql) => Promise<boolean>,
): Promise<boolean> {
  const name = run.tableName as string;
  const engine = engineOf(name);
  const isMove = engine !== (await findEngine(sql, run.bucketId));
  // Prepare it under a separate lock, so that other writers of the bucket can write in between.
  await withIndexWriterLock(direct, run.bucketId, () => chunks.prepareForSearches(name));
  return withIndexWriterLock(direct, run.bucketId, async (stillHeld) => {
    await lockedBy(stillHeld).requireLock();
    return inTransaction(sql, async (tx) => {
      // Lock this first, in the same order as a deletion of the bucket.
      await (isMove ? lockBucket : lockBucketPolicy)(tx, orgId, run.bucketId);
      // This blocks jobs that are about to finish: they lock the space of the index before they write their document.
      await lockIndexTable(tx, run.bucketId);
      if (!(await flip(tx))) return false;
      await replaceTable(tx, run, await chunks.version(name));
      if (isMove) await updateEngine(tx, run.bucketId, engine);
      return true;
    });
  });
}

/**
 * Copy rows of some generations from the bucket's current table to that of a run. The caller holds the writer lock.
 *
 * @throws AppError `index_busy` (409) if the current table can't be read
 */
export async function copyGenerations(
  { sql, chunks }: TableContext,
  run: ReindexRun,
  generations: readonly number[],
): Promise<void> {
  const own = generations.length === 0 ? null : await getIndexTable(sql, run.bucketId);
  if (own === null) return;
  try {
    await chunks.copyGenerations(own, run.tableName as string, generations);
  } catch (cause) {
    throw new AppError({
      code: 'index_busy',
      status: 409,
      cause,
      message:
        'the current index cannot be read while jobs write to it; run the command again when the ingest jobs are done',
    });
  }
}

/** Count the rows per generation in a run's table, which show how far a killed run got. */
export function countWritten({ direct, chunks }: TableContext, run: ReindexRun): Promise<Map<number, number>> {
  return withIndexWriterLock(direct, run.bucketId, () => chunks.countByGeneration(run.tableName as string));
}

/** Start building the search indexes of a run's table. @param rows final number of rows of the table */
export function buildIndexesAhead({ direct, chunks }: TableContext, run: ReindexRun, rows: number): BuildAhead {
  const withLock = (work: () => Promise<void>) => withIndexBuildLock(direct, run.bucketId, work);
  return chunks.buildAhead(run.tableName as string, rows, withLock);
}

/**
 * Give up dead runs, and drop tables that no search uses any more. If one bucket fails, continue with the others.
 *
 * @returns number of dropped tables
 * @throws the error of the first bucket that failed, once the others are done
 */
export async function sweepTables({ sql, direct, chunks, logger }: ChoreContext, signal: AbortSignal): Promise<number> {
  const faults = new BucketFaults(logger, signal, 'a replaced index table was not removed; trying again later');
  const runs = inPages(
    (after) => findAbandonedReindexRuns(sql, after),
    (bucketId) => bucketId,
  );
  for await (const bucketId of runs) {
    const giveUp = async () => {
      // Check again under the lock, since the run may have come back to life.
      if (!(await hasAbandonedReindexRun(sql, bucketId))) return;
      await inTransaction(sql, (tx) => dropReindexRun(tx, bucketId));
    };
    await faults.attempt(bucketId, () => withIndexWriterLock(direct, bucketId, giveUp));
  }
  let dropped = 0;
  const retired = inPages(
    (after) => findRetiredTables(sql, KEEP_VERSIONS_MS, after),
    ({ tableName }) => tableName,
  );
  for await (const { bucketId, tableName } of retired) {
    const drop = async () => {
      await withIndexToItself(direct, bucketId, () => chunks.drop(tableName));
      await forgetRetiredTable(sql, tableName);
    };
    if (await faults.attempt(bucketId, drop)) dropped++;
  }
  faults.throwFirst();
  return dropped;
}
