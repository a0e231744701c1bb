import type { Table } from '@lancedb/lancedb';
import { lockBucketPolicy } from '../documents/store.ts';
import { AppError } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { getIndexTable } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import {
  dropReprojection,
  findAbandonedReprojections,
  findRetiredTables,
  forgetRetiredTable,
  lockIndexTable,
  type Reprojection,
  replaceTable,
} from './reprojection-store.ts';
import { KEEP_VERSIONS_MS, settle } from './settle.ts';
import { lockLost, withIndexWriterLock } from './writer-lock.ts';

export interface TableContext {
  readonly sql: Sql;
  /** For advisory locks; not through a transaction pooler. */
  readonly direct: Sql;
  readonly tables: LanceTables;
}

/** The table that takes the place of a bucket's present one; dropped with the bucket, by its beginning. */
export function nextTableName(bucketId: string, runId: string): string {
  return `${bucketId}_${runId}`;
}

/**
 * Put the table that a reprojection built in place of the bucket's own, in one transaction with `flip`. A search that is
 * at the old one finishes there.
 *
 * @param flip makes what is in the new table visible; false: something is missing in it, and nothing is changed
 * @throws AppError `index_lock_lost` (503), `bucket_not_found` (404)
 */
export async function swapTable(
  { sql, direct, tables }: TableContext,
  orgId: string,
  run: Reprojection,
  flip: (tx: Sql, table: Table) => Promise<boolean>,
): Promise<boolean> {
  const name = run.tableName as string;
  // Apart, since it may take long and other writers of the bucket wait.
  await withIndexWriterLock(direct, run.bucketId, async () => settle(tables, await tables.write(name)));
  return withIndexWriterLock(direct, run.bucketId, async (stillHeld) => {
    const table = await tables.write(name);
    if (!(await stillHeld())) throw lockLost();
    return inTransaction(sql, async (tx) => {
      // First, as whoever deletes the bucket does.
      await lockBucketPolicy(tx, orgId, run.bucketId);
      // Keeps jobs that finish meanwhile out: they hold the space of the index before they touch their document.
      await lockIndexTable(tx, run.bucketId);
      if (!(await flip(tx, table))) return false;
      await replaceTable(tx, run, await table.version());
      return true;
    });
  });
}

/**
 * By the holder of the writer lock: bring rows of some generations from the bucket's present table along.
 *
 * @throws AppError `index_busy` (409) where the present table cannot be read
 */
export async function copyGenerations(
  { sql, tables }: TableContext,
  run: Reprojection,
  into: Table,
  generations: readonly number[],
): Promise<void> {
  if (generations.length === 0) return;
  const own = await getIndexTable(sql, run.bucketId);
  let rows: Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>> | null = null;
  try {
    const present = own && (await tables.read(own.name, own.version));
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
export function countWritten({ direct, tables }: TableContext, run: Reprojection): Promise<Map<number, number>> {
  const name = run.tableName as string;
  return withIndexWriterLock(direct, run.bucketId, async () => countByGeneration(await tables.write(name)));
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

/** Give up runs that died, and drop tables that no search is at any more. @returns how many tables were dropped */
export async function sweepTables({ sql, direct, tables }: TableContext, signal: AbortSignal): Promise<number> {
  for (const bucketId of await findAbandonedReprojections(sql)) {
    signal.throwIfAborted();
    await withIndexWriterLock(direct, bucketId, async () => {
      // Asked again under the lock: it may have come back to life.
      if (!(await findAbandonedReprojections(sql)).includes(bucketId)) return;
      await inTransaction(sql, (tx) => dropReprojection(tx, bucketId));
    });
  }
  let dropped = 0;
  for (const { bucketId, tableName } of await findRetiredTables(sql, KEEP_VERSIONS_MS)) {
    signal.throwIfAborted();
    await withIndexWriterLock(direct, bucketId, () => tables.drop(tableName));
    await forgetRetiredTable(sql, tableName);
    dropped++;
  }
  return dropped;
}
