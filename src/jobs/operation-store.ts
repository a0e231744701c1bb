import type { Sql } from '../platform/postgres.ts';
import { storedMessage } from './failure-message.ts';
import { type Row, toJob } from './rows.ts';
import { type Job, type JobStatus, UNFINISHED } from './schema.ts';
import { isFinished, isInProgress } from './state-store.ts';
import type { HeldJob, JobFailure } from './store.ts';

/**
 * Cancel a job in one of the states `from`, and raise its fence, so that its worker can't write any more. Return null
 * if the job is now in another state.
 * @param options.neverStarted true to skip a job that a worker has ever started
 */
export async function cancelRow(
  sql: Sql,
  orgId: string,
  jobId: string,
  from: readonly JobStatus[] = UNFINISHED,
  options: { readonly neverStarted?: boolean } = {},
): Promise<Job | null> {
  const [row] = await sql`
    UPDATE jobs SET status = 'cancelled', fence = fence + 1, completed_at = now(), updated_at = now(),
           scheduled_at = NULL, lease_expires_at = NULL
    WHERE org_id = ${orgId} AND id = ${jobId} AND status = ANY(${sql.array([...from])}::text[])
      ${options.neverStarted ? sql`AND started_at IS NULL` : sql``} RETURNING *`;
  return row ? toJob(row as Row) : null;
}

/** Delete the row of a job that is not in progress, and return it; null if the job is now in progress or gone. */
export async function deleteRow(sql: Sql, orgId: string, jobId: string): Promise<Job | null> {
  const [row] = await sql`
    DELETE FROM jobs WHERE org_id = ${orgId} AND id = ${jobId}
      AND NOT ${isInProgress(sql)} RETURNING *`;
  return row ? toJob(row as Row) : null;
}

/**
 * Delete jobs of all organizations that ended more than `ageMs` ago. Keep the last job of an existing document, and a
 * bulk job with results. Return the number of deleted rows, at most `rowsMax`.
 */
export async function deleteOldJobs(sql: Sql, ageMs: number, rowsMax: number): Promise<number> {
  const result = await sql`
    DELETE FROM jobs WHERE id IN (
      SELECT jobs.id FROM jobs
      WHERE ${isFinished(sql)} AND jobs.completed_at < now() - ${ageMs}::double precision * interval '1 millisecond'
        AND NOT EXISTS (SELECT 1 FROM bulk_jobs b WHERE b.job_id = jobs.id AND b.swept_at IS NULL)
        AND (NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = jobs.document_id)
             OR EXISTS (SELECT 1 FROM jobs later WHERE later.document_id = jobs.document_id
                        AND (later.created_at, later.id) > (jobs.created_at, jobs.id)))
      ORDER BY jobs.completed_at LIMIT ${rowsMax})
      AND ${isFinished(sql)}`;
  return result.count;
}

/** Find jobs in progress of all organizations that did no work for `idleMs`, longest idle first. */
export async function findStale(sql: Sql, idleMs: number, limit: number): Promise<Job[]> {
  const rows = await sql`
    SELECT * FROM jobs
    WHERE ${isInProgress(sql)} AND ${isIdle(sql, idleMs)}
    ORDER BY checkpoint_at LIMIT ${limit}`;
  return rows.map((row) => toJob(row as Row));
}

/** Fail an idle job and raise its fence. Return false if it has worked or was changed meanwhile. */
export async function failStale(
  sql: Sql,
  stale: HeldJob & { readonly status: JobStatus },
  idleMs: number,
  failure: JobFailure,
): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'failed', fence = fence + 1, failed_phase = ${stale.status},
           error_category = ${failure.category}, error_message = ${storedMessage(failure.message)}, retryable = ${failure.retryable},
           completed_at = now(), updated_at = now(), lease_expires_at = NULL
    WHERE id = ${stale.id} AND fence = ${stale.fence} AND status = ${stale.status} AND ${isIdle(sql, idleMs)}
    RETURNING 1`;
  return rows.length === 1;
}

function isIdle(sql: Sql, idleMs: number) {
  return sql`checkpoint_at < now() - ${idleMs} * interval '1 millisecond'`;
}
