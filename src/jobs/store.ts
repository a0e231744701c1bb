import { notFound } from '../platform/errors.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type Row, toJob, toView } from './rows.ts';
import type { ErrorCategory, Job, JobKind, JobPhase, JobView, ListJobsQuery, NewJob } from './schema.ts';
import { isFinished, isInProgress } from './state-store.ts';

/** A job is lost, cancelled, reaped or taken over once its fence or its state is not what its worker last saw. */
export interface HeldJob {
  readonly id: string;
  readonly fence: number;
}

/**
 * Write a queued job. Its fair rank interleaves organizations: it is one more than the organization's last
 * queued rank, but never below the turn that is being served now (the smallest rank queued at this priority),
 * so that a crowd of one organization's jobs cannot hold up another's first one.
 */
export async function enqueueJob(sql: Sql, job: NewJob): Promise<JobView> {
  const [row] = await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, collection_id, document_id, workflow_id, source_entry_id, priority,
                      fair_rank, status, s3_key, file_name, file_size, file_type, processing_type, estimated_cost,
                      reprocess_of_job_id, metadata_snapshot)
    SELECT ${job.id}, ${job.kind}, ${job.orgId}, ${job.bucketId}, ${job.collectionId ?? null},
           ${job.documentId ?? null}, ${job.workflowId ?? null}, ${job.sourceEntryId ?? null}, ${job.priority},
           greatest(
             coalesce((SELECT max(fair_rank) + 1 FROM jobs WHERE status = 'queued' AND kind = ${job.kind}
                        AND priority = ${job.priority} AND org_id = ${job.orgId}), 0),
             coalesce((SELECT min(fair_rank) FROM jobs WHERE status = 'queued' AND kind = ${job.kind}
                        AND priority = ${job.priority}), 0)),
           'queued', ${job.s3Key}, ${job.fileName}, ${job.fileSizeBytes}, ${job.fileType ?? null},
           ${job.processingType}, ${job.estimatedCost ?? 0}, ${job.reprocessOfJobId ?? null},
           ${job.metadataSnapshot ? sql.json(job.metadataSnapshot as never) : null}
    RETURNING *`;
  return toView(row as Row);
}

/**
 * Claim up to `limit` due jobs in order of priority, organization's turn and age. A claimed job gets the next
 * fence and a generation of its own; whoever held it before can write nothing from here on.
 *
 * `suspects`: claim only jobs whose lease was lost before (`only`), or only those whose was not, and nothing at all
 * while one of the former waits (`none`).
 */
export async function claimJobs(
  sql: Sql,
  claim: {
    kind: JobKind;
    workerId: string;
    firstPhase: JobPhase;
    leaseMs: number;
    limit: number;
    suspects: 'only' | 'none';
  },
): Promise<Job[]> {
  const rows = await sql`
    WITH due AS (
      SELECT id FROM jobs
      WHERE status = 'queued' AND kind = ${claim.kind} AND (scheduled_at IS NULL OR scheduled_at <= now())
        AND ${claim.suspects === 'only' ? sql`crash_count > 0` : sql`crash_count = 0 AND NOT ${dueSuspect(sql, claim.kind)}`}
      ORDER BY priority, fair_rank, created_at
      FOR UPDATE SKIP LOCKED LIMIT ${claim.limit})
    UPDATE jobs SET status = ${claim.firstPhase}, worker_id = ${claim.workerId}, fence = fence + 1,
           lease_expires_at = now() + ${claim.leaseMs} * interval '1 millisecond', checkpoint_at = now(),
           generation = nextval('document_generations'), started_at = coalesce(started_at, now()),
           scheduled_at = NULL, updated_at = now()
    FROM due WHERE jobs.id = due.id
    RETURNING jobs.*`;
  // RETURNING keeps no order, and the first of the queue is to be the first that runs.
  return rows.sort(inTurn).map((row) => toJob(row as Row));
}

function inTurn(a: Row, b: Row): number {
  for (const column of ['priority', 'fair_rank', 'created_at']) {
    const difference = Number(a[column]) - Number(b[column]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Whether a due job waits whose lease was lost before: it may have killed its worker, so it must run alone. */
export async function hasDueSuspect(sql: Sql, kind: JobKind): Promise<boolean> {
  const [row] = await sql`SELECT ${dueSuspect(sql, kind)} AS found`;
  return row?.['found'] === true;
}

function dueSuspect(sql: Sql, kind: JobKind) {
  return sql`
    EXISTS (SELECT 1 FROM jobs AS suspect WHERE suspect.status = 'queued' AND suspect.kind = ${kind}
            AND suspect.crash_count > 0 AND (suspect.scheduled_at IS NULL OR suspect.scheduled_at <= now()))`;
}

/**
 * Extend the leases of one worker's jobs; returns those that are still held. A row that somebody is changing just now (a
 * cancel, the end of the job) is passed over and counts as held: to wait for it would keep the other leases back, and two
 * that wait for each other's rows are a deadlock.
 */
export async function renewLeases(
  sql: Sql,
  workerId: string,
  held: readonly HeldJob[],
  leaseMs: number,
): Promise<HeldJob[]> {
  if (held.length === 0) return [];
  const rows = await sql`
    WITH mine AS MATERIALIZED (
      SELECT jobs.id, jobs.fence
      FROM jobs JOIN (SELECT unnest(${sql.array(held.map((h) => h.id))}::text[]) AS id,
                             unnest(${sql.array(held.map((h) => h.fence))}::bigint[]) AS fence) AS held
        ON held.id = jobs.id AND held.fence = jobs.fence
      WHERE jobs.worker_id = ${workerId} AND ${isInProgress(sql)}),
    free AS MATERIALIZED (
      SELECT jobs.id FROM jobs JOIN mine ON mine.id = jobs.id AND mine.fence = jobs.fence
      WHERE ${isInProgress(sql)}
      FOR UPDATE OF jobs SKIP LOCKED),
    renewed AS (
      UPDATE jobs SET lease_expires_at = now() + ${leaseMs} * interval '1 millisecond', checkpoint_at = now()
      FROM free WHERE jobs.id = free.id)
    SELECT id, fence FROM mine`;
  return rows.map((row) => ({ id: row['id'] as string, fence: Number(row['fence']) }));
}

/** Move a held job to its next phase. False: it is no longer held. */
export async function advanceJob(sql: Sql, held: HeldJob, from: JobPhase, to: JobPhase): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = ${to}, checkpoint_at = now(), updated_at = now()
    WHERE id = ${held.id} AND fence = ${held.fence} AND status = ${from} RETURNING 1`;
  return rows.length === 1;
}

/** Whether a job is still held, at the moment of the query. */
export async function isHeld(sql: Sql, held: HeldJob): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM jobs WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)}`;
  return rows.length === 1;
}

/** Forget the leases that a held job lost before. */
export async function forgetCrashes(sql: Sql, held: HeldJob): Promise<void> {
  await sql`
    UPDATE jobs SET crash_count = 0
    WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)}`;
}

/** Finish a held job. Run it in the transaction that makes the job's work visible. False: no longer held. */
export async function completeJob(
  sql: Sql,
  held: HeldJob,
  from: JobPhase,
  result: { chunksCount: number; fileType: string | null; actualCost: number },
): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'ready', chunks_count = ${result.chunksCount}, file_type = ${result.fileType},
           actual_cost = ${result.actualCost}, completed_at = now(), updated_at = now(), lease_expires_at = NULL,
           failed_phase = NULL, error_category = NULL, error_message = NULL, retryable = NULL
    WHERE id = ${held.id} AND fence = ${held.fence} AND status = ${from} RETURNING 1`;
  return rows.length === 1;
}

export interface JobFailure {
  readonly category: ErrorCategory;
  /** Safe to show: says what was wrong with the input and what to do. */
  readonly message: string;
  readonly retryable: boolean;
}

/** End a held job as failed for good. False: no longer held. */
export async function failJob(sql: Sql, held: HeldJob, phase: string, failure: JobFailure): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'failed', failed_phase = ${phase}, error_category = ${failure.category},
           error_message = ${failure.message}, retryable = ${failure.retryable}, completed_at = now(),
           updated_at = now(), lease_expires_at = NULL
    WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)} RETURNING 1`;
  return rows.length === 1;
}

/** Put a held job back in the queue after a failed attempt, due in `delayMs`. False: no longer held. */
export async function retryJob(
  sql: Sql,
  held: HeldJob,
  phase: string,
  failure: JobFailure,
  delayMs: number,
): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', retry_count = retry_count + 1, failed_phase = ${phase},
           error_category = ${failure.category}, error_message = ${failure.message}, retryable = true,
           scheduled_at = now() + ${delayMs} * interval '1 millisecond', worker_id = NULL,
           lease_expires_at = NULL, updated_at = now()
    WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)} RETURNING 1`;
  return rows.length === 1;
}

/** Put a held job back in the queue, due in `delayMs`, without spending an attempt. False: no longer held. */
export async function deferJob(sql: Sql, held: HeldJob, delayMs: number): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', worker_id = NULL, lease_expires_at = NULL, updated_at = now(),
           scheduled_at = now() + ${delayMs} * interval '1 millisecond'
    WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)} RETURNING 1`;
  return rows.length === 1;
}

/** Hand a held job back unharmed (drain): no attempt is spent. */
export async function releaseJob(sql: Sql, held: HeldJob): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE id = ${held.id} AND fence = ${held.fence}
      AND ${isInProgress(sql)} RETURNING 1`;
  return rows.length === 1;
}

/** Jobs whose lease ran out, oldest first. */
export async function findExpired(sql: Sql, limit: number): Promise<Job[]> {
  const rows = await sql`
    SELECT * FROM jobs WHERE ${isInProgress(sql)}
      AND lease_expires_at < now() ORDER BY lease_expires_at LIMIT ${limit}`;
  return rows.map((row) => toJob(row as Row));
}

/**
 * In a transaction: keep an expired job as it is. False: somebody was faster, or holds its row and may be hung: whoever
 * waited for it would bring no other job back either.
 */
export async function lockExpired(tx: Sql, held: HeldJob): Promise<boolean> {
  return (await tx`SELECT 1 FROM jobs WHERE ${isExpired(tx, held)} FOR UPDATE SKIP LOCKED`).length === 1;
}

/** Return an expired job to the queue, counting the crash. False: as `lockExpired`. */
export async function requeueExpired(sql: Sql, held: HeldJob): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', crash_count = crash_count + 1, worker_id = NULL, lease_expires_at = NULL,
           updated_at = now()
    WHERE id = (SELECT id FROM jobs WHERE ${isExpired(sql, held)} FOR UPDATE SKIP LOCKED) RETURNING 1`;
  return rows.length === 1;
}

function isExpired(sql: Sql, held: HeldJob) {
  return sql`
    id = ${held.id} AND fence = ${held.fence} AND lease_expires_at < now()
    AND ${isInProgress(sql)}`;
}

/**
 * Jobs of one organization, newest first.
 *
 * @param visible condition on a row of `jobs`: what the caller may see, as `src/documents` says, and what is looked for
 */
export async function listJobs(
  sql: Sql,
  orgId: string,
  visible: SqlFragment,
  query: Pick<ListJobsQuery, 'status' | 'limit'>,
): Promise<JobView[]> {
  const rows = await sql`
    SELECT * FROM jobs WHERE org_id = ${orgId} AND ${visible}
      ${query.status === undefined ? sql`` : sql`AND status = ${query.status}`}
    ORDER BY created_at DESC, id DESC LIMIT ${query.limit}`;
  return rows.map((row) => toView(row as Row));
}

/**
 * One job of an organization.
 *
 * @param visible as for `listJobs`
 * @throws AppError `job_not_found` (404), for another organization's job and for one that is not visible too
 */
export async function findJob(sql: Sql, orgId: string, visible: SqlFragment, jobId: string): Promise<Job> {
  const [row] = await sql`SELECT * FROM jobs WHERE org_id = ${orgId} AND id = ${jobId} AND ${visible}`;
  if (!row) throw notFound('job', jobId);
  return toJob(row as Row);
}

/** Those of these jobs that are finished: ready, failed or cancelled (progress of an upload). */
export async function listFinishedJobs(
  sql: Sql,
  orgId: string,
  visible: SqlFragment,
  jobIds: readonly string[],
): Promise<JobView[]> {
  const rows = await sql`
    SELECT * FROM jobs
    WHERE org_id = ${orgId} AND ${visible} AND id = ANY(${sql.array([...jobIds])}::text[])
      AND ${isFinished(sql)}`;
  return rows.map((row) => toView(row as Row));
}
