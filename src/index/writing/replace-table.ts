import type { Table } from '@lancedb/lancedb';
import { BucketFaults } from '../../documents/bucket-faults.ts';
import { lockBucketPolicy } from '../../documents/store.ts';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { getIndexTable } from '../index-store.ts';
import type { LanceTables } from '../lance/lance.ts';
import { isIndexed, KEEP_VERSIONS_MS, settle } from '../lance/settle.ts';
import { inPages } from './in-pages.ts';
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
import { lockLost, withIndexToItself, withIndexWriterLock } from './writer-lock.ts';

export interface TableContext {
  readonly sql: Sql;
  /** Connection pool for advisory locks; must not go through a transaction pooler. */
  readonly direct: Sql;
  readonly tables: LanceTables;
}

/** Context of maintenance that goes through the tables of all buckets. */
export interface ChoreContext extends TableContext {
  readonly logger: Logger;
}

/** Name of the table that replaces a bucket's present one; its prefix lets it be dropped with the bucket. */
export function nextTableName(bucketId: string, runId: string): string {
  return `${bucketId}_${runId}`;
}

/**
 * Replace the bucket's own table by the one that a reprojection built, in one transaction with `flip`. A search that
 * already reads the old table finishes there.
 *
 * @param flip makes the content of the new table visible; returns false if the table is incomplete, then nothing
 *   changes
 * @throws AppError `index_lock_lost` (503), `bucket_not_found` (404)
 */
export async function swapTable(
  { sql, direct, tables }: TableContext,
  orgId: string,
  run: ReindexRun,
  flip: (tx: Sql, table: Table) => Promise<boolean>,
): Promise<boolean> {
  const name = run.tableName as string;
  // Settled under a lock of its own, so that other writers of the bucket can go between.
  await withIndexWriterLock(direct, run.bucketId, async () => {
    const table = await tables.openForWriting(name);
    if (!(await isIndexed(table))) await settle(tables, table);
  });
  return withIndexWriterLock(direct, run.bucketId, async (stillHeld) => {
    const table = await tables.openForWriting(name);
    if (!(await stillHeld())) throw lockLost();
    return inTransaction(sql, async (tx) => {
      // Locked first, in the same order as a deletion of the bucket.
      await lockBucketPolicy(tx, orgId, run.bucketId);
      // Blocks jobs that are about to finish: they lock the space of the index before they touch their document.
      await lockIndexTable(tx, run.bucketId);
      if (!(await flip(tx, table))) return false;
      await replaceTable(tx, run, await table.version());
      return true;
    });
  });
}

/**
 * Copy rows of some generations from the bucket's present table. The caller holds the writer lock.
 *
 * @throws AppError `index_busy` (409) if the present table cannot be read
 */
export async function copyGenerations(
  { sql, tables }: TableContext,
  run: ReindexRun,
  into: Table,
  generations: readonly number[],
): Promise<void> {
  if (generations.length === 0) return;
  const own = await getIndexTable(sql, run.bucketId);
  let rows: Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>> | null = null;
  try {
    const present = own && (await tables.openForReading(own.name, own.version));
    const isWanted = `generation IN (${generations.map(Number).join(', ')})`;
    rows = present && (await present.query().where(isWanted).toArrow());
  } catch (cause) {
    throw new AppError({
      ...{ code: 'index_busy', status: 409, cause },
      message: 'the present index cannot be read while jobs write to it; run it again when the ingest jobs are done',
    });
  }
  if (rows !== null && rows.numRows > 0) await into.add(rows as never);
}

/** Rows of the table that a run builds, by generation: what it had written when it was killed. */
export function countWritten({ direct, tables }: TableContext, run: ReindexRun): Promise<Map<number, number>> {
  const name = run.tableName as string;
  return withIndexWriterLock(direct, run.bucketId, async () => countByGeneration(await tables.openForWriting(name)));
}

async function countByGeneration(table: Table): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for await (const batch of table.query().select(['generation'])) {
    const generations: BigInt64Array = batch.getChild('generation')?.toArray() ?? new BigInt64Array();
    for (const generation of generations) {
      const id = Number(generation);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * Give up dead runs, and drop tables that no search uses any more. A bucket that fails does not keep the others.
 *
 * @returns number of dropped tables
 * @throws the error of the first bucket that failed, once the others are done
 */
export async function sweepTables({ sql, direct, tables, logger }: ChoreContext, signal: AbortSignal): Promise<number> {
  const faults = new BucketFaults(logger, signal, 'a replaced index table was not removed; trying again later');
  const runs = inPages(
    (after) => findAbandonedReindexRuns(sql, after),
    (bucketId) => bucketId,
  );
  for await (const bucketId of runs) {
    const giveUp = async () => {
      // Asked again under the lock: it may have come back to life.
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
      await withIndexToItself(direct, bucketId, () => tables.drop(tableName));
      await forgetRetiredTable(sql, tableName);
    };
    if (await faults.attempt(bucketId, drop)) dropped++;
  }
  faults.throwFirst();
  return dropped;
}
