import { idTimeMs } from '../platform/ids.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { bulkPrefix } from './object-keys.ts';
import { findExistingJobs, markSwept, selectToSweep } from './store.ts';

const BATCH_MAX = 200;

/** Delete all files of a job that is being deleted or whose retention has ended. */
export function forgetBulkJob(objects: Objects, job: { readonly orgId: string; readonly id: string }): Promise<void> {
  return objects.deletePrefix(bulkPrefix(job.orgId, job.id));
}

/**
 * Delete input and results of jobs that ended more than `retentionMs` ago. Keep their rows and counts.
 * @returns number of jobs whose files were deleted
 */
export async function sweepBulkResults(
  { sql, objects, retentionMs }: { sql: Sql; objects: Objects; retentionMs: number },
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const jobs = await selectToSweep(sql, retentionMs, BATCH_MAX);
    for (const job of jobs) {
      signal.throwIfAborted();
      // Delete files first, so that after a crash between the two steps the job is found again.
      await forgetBulkJob(objects, job);
      await markSwept(sql, job.id);
      removed++;
    }
    if (jobs.length < BATCH_MAX) return removed;
  }
}

/**
 * Delete files of unknown jobs, left by a submission killed before inserting the row or by a deletion killed after
 * deleting the row. Keep recent files, whose job may still be inserted.
 * @returns number of jobs whose files were deleted
 */
export async function sweepBulkOrphans(
  sql: Sql,
  objects: Objects,
  olderThanMs: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  let batch = new Map<string, string>(); // job id -> organization
  const sweepBatch = async () => {
    const existing = await findExistingJobs(sql, [...batch.keys()]);
    for (const [id, orgId] of batch) {
      if (existing.has(id)) continue;
      await forgetBulkJob(objects, { id, orgId });
      removed++;
    }
    batch = new Map();
  };
  for await (const { key } of objects.list('bulk/')) {
    signal.throwIfAborted();
    const [, orgId = '', id = ''] = key.split('/');
    const madeMs = idTimeMs(id);
    if (madeMs === null || madeMs > Date.now() - olderThanMs) continue;
    batch.set(id, orgId);
    if (batch.size >= BATCH_MAX) await sweepBatch();
  }
  await sweepBatch();
  return removed;
}
