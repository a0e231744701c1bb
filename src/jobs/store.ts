import { isStaying } from '../access/move-store.ts';
import { notFound } from '../platform/errors.ts';
import { idTimeMs } from '../platform/ids.ts';
import { fromRecords, type RowRecord } from '../platform/postgres/records.ts';
import { storableValue } from '../platform/postgres/storable-json.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { currentWork } from '../platform/work-context.ts';
import { storedMessage } from './failure-message.ts';
import { type Row, toJob, toView, VIEW_COLUMNS } from './rows.ts';
import type { ErrorCategory, Job, JobKind, JobPhase, JobView, ListJobsQuery, NewJob } from './schema.ts';
import { isFinished, isInProgress } from './state-store.ts';

/** Job of a worker, by id and fence. The worker has lost it once the fence or the state has changed. */
export interface HeldJob {
  readonly id: string;
  readonly fence: number;
}

/** Build the condition that a row of `jobs` is this job and its worker has not lost it. */
export function isHeldJob(sql: Sql, { id, fence }: HeldJob): SqlFragment {
  return sql`jobs.id = ${id} AND jobs.fence = ${fence} AND ${isInProgress(sql)}`;
}

/**
 * Insert a queued job. Its fair rank interleaves organizations: one more than the organization's last queued rank, but
 * not below the smallest rank queued at this priority, which is being served now. Many jobs of one organization
 * therefore can't delay the first job of another.
 *
 * The job keeps the id and trace of the request that queues it, for its worker's logs and spans.
 */
export async function enqueueJob(sql: Sql, job: NewJob): Promise<JobView> {
  const [row] = await sql`
    ${jobInsert(sql, fromRecords(sql, 'jobs', [jobRecord(job)]))} RETURNING ${sql(VIEW_COLUMNS)}`;
  return toView(row as Row);
}

/** Queue several jobs. */
export async function enqueueJobs(sql: Sql, jobs: readonly NewJob[]): Promise<void> {
  await sql`${jobInsert(sql, fromRecords(sql, 'jobs', jobs.map(jobRecord)))}`;
}

/** Return the columns of a new job as JSON for PostgreSQL. */
export function jobRecord(job: NewJob): RowRecord {
  const work = currentWork();
  return {
    id: job.id,
    kind: job.kind,
    org_id: job.orgId,
    bucket_id: job.bucketId,
    collection_id: job.collectionId,
    document_id: job.documentId,
    workflow_id: job.workflowId,
    source_entry_id: job.sourceEntryId,
    priority: job.priority,
    s3_key: job.s3Key,
    file_name: job.fileName,
    file_size: job.fileSizeBytes,
    file_type: job.fileType,
    processing_type: job.processingType,
    estimated_cost: job.estimatedCost ?? 0,
    reprocess_of_job_id: job.reprocessOfJobId,
    metadata_snapshot: job.metadataSnapshot && storableValue(job.metadataSnapshot),
    request_id: work?.requestId,
    trace_parent: work?.span?.traceParent,
  };
}

/**
 * Build the statement that inserts queued jobs, like `enqueueJob`. Jobs of one organization get ranks in the order of
 * their ids, which is their order of creation.
 * @param records end of the statement, starting with FROM, with `jobRecord`s as rows `record`
 */
export function jobInsert(sql: Sql, records: SqlFragment): SqlFragment {
  return sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, collection_id, document_id, workflow_id, source_entry_id, priority,
                      fair_rank, status, s3_key, file_name, file_size, file_type, processing_type, estimated_cost,
                      reprocess_of_job_id, metadata_snapshot, request_id, trace_parent)
    SELECT record.id, record.kind, record.org_id, record.bucket_id, record.collection_id, record.document_id,
           record.workflow_id, record.source_entry_id, record.priority,
           greatest(
             coalesce((SELECT max(fair_rank) + 1 FROM jobs WHERE status = 'queued' AND kind = record.kind
                        AND priority = record.priority AND org_id = record.org_id), 0),
             coalesce((SELECT min(fair_rank) FROM jobs WHERE status = 'queued' AND kind = record.kind
                        AND priority = record.priority), 0))
             + row_number() OVER (PARTITION BY record.org_id, record.kind, record.priority ORDER BY record.id) - 1,
           'queued', record.s3_key, record.file_name, record.file_size, record.file_type, record.processing_type,
           record.estimated_cost, record.reprocess_of_job_id, record.metadata_snapshot, record.request_id,
           record.trace_parent
    ${records}`;
}

/**
 * Claim up to `limit` due jobs in order of priority, fair rank and age. A claimed job gets the next fence and a new
 * generation, so that former holders can't write any more.
 *
 * Organizations that are moving to another installation wait.
 *
 * `suspects`: `only` claims jobs that have lost a lease before; `none` claims all others.
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
        AND ${isStaying(sql, 'org_id')}
        AND ${claim.suspects === 'only' ? sql`crash_count > 0` : sql`crash_count = 0`}
      ORDER BY priority, fair_rank, created_at
      FOR UPDATE SKIP LOCKED LIMIT ${claim.limit})
    UPDATE jobs SET status = ${claim.firstPhase}, worker_id = ${claim.workerId}, fence = fence + 1,
           lease_expires_at = now() + ${claim.leaseMs} * interval '1 millisecond', checkpoint_at = now(),
           generation = nextval('document_generations'), started_at = coalesce(started_at, now()),
           scheduled_at = NULL, updated_at = now()
    FROM due WHERE jobs.id = due.id
    RETURNING jobs.*`;
  // RETURNING doesn't preserve order, but the first job in the queue must start first.
  return rows.sort(byQueueOrder).map((row) => toJob(row as Row));
}

function byQueueOrder(a: Row, b: Row): number {
  for (const column of ['priority', 'fair_rank', 'created_at']) {
    const difference = Number(a[column]) - Number(b[column]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Held job whose lease to extend. */
export interface RunningJob extends HeldJob {
  /** True if it completed a unit of work since the last write. Reaping measures from that time. */
  readonly hasWorked: boolean;
}

/**
 * Extend the leases of a worker's jobs. Return the jobs that are still held. Skip a row that another transaction has
 * locked (a cancel, the end of the job), and count it as held: waiting for it would delay the other leases, and could
 * deadlock. `isWritten` is false for a skipped row.
 */
export async function renewLeases(
  sql: Sql,
  workerId: string,
  held: readonly RunningJob[],
  leaseMs: number,
): Promise<(HeldJob & { readonly isWritten: boolean })[]> {
  if (held.length === 0) return [];
  return sql<(HeldJob & { readonly isWritten: boolean })[]>`
    WITH mine AS MATERIALIZED (
      SELECT jobs.id, jobs.fence, held.has_worked
      FROM jobs JOIN (SELECT unnest(${sql.array(held.map((h) => h.id))}::text[]) AS id,
                             unnest(${sql.array(held.map((h) => h.fence))}::bigint[]) AS fence,
                             unnest(${sql.array(held.map((h) => h.hasWorked))}::boolean[]) AS has_worked) AS held
        ON held.id = jobs.id AND held.fence = jobs.fence
      WHERE jobs.worker_id = ${workerId} AND ${isInProgress(sql)}),
    free AS MATERIALIZED (
      SELECT jobs.id, mine.has_worked FROM jobs JOIN mine ON mine.id = jobs.id AND mine.fence = jobs.fence
      WHERE ${isInProgress(sql)}
      FOR UPDATE OF jobs SKIP LOCKED),
    renewed AS (
      UPDATE jobs SET lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
             checkpoint_at = CASE WHEN free.has_worked THEN now() ELSE checkpoint_at END
      FROM free WHERE jobs.id = free.id)
    SELECT id, fence, id IN (SELECT id FROM free) AS "isWritten" FROM mine`;
}

/** Move a held job to its next phase. Return false if it is no longer held. */
export async function advanceJob(sql: Sql, held: HeldJob, from: JobPhase, to: JobPhase): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = ${to}, checkpoint_at = now(), updated_at = now()
    WHERE id = ${held.id} AND fence = ${held.fence} AND status = ${from} RETURNING 1`;
  return rows.length === 1;
}

/** Return true if the worker still holds the lease of the job. */
export async function isHeld(sql: Sql, held: HeldJob): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM jobs WHERE ${isHeldJob(sql, held)}`;
  return rows.length === 1;
}

/** Reset a held job's count of lost leases. */
export async function forgetCrashes(sql: Sql, held: HeldJob): Promise<void> {
  await sql`
    UPDATE jobs SET crash_count = 0
    WHERE ${isHeldJob(sql, held)} AND crash_count > 0`;
}

/** Finish a held job, in the transaction that makes its work visible. Return false if it is no longer held. */
export async function completeJob(
  sql: Sql,
  held: HeldJob,
  result: { chunksCount: number; fileType: string | null; actualCost: number },
): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET ${readyState(sql)}, chunks_count = ${result.chunksCount}, file_type = ${result.fileType},
           actual_cost = ${result.actualCost}
    WHERE ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Return the assignments that finish a row of `jobs`, except for its result. */
export function readyState(sql: Sql): SqlFragment {
  return sql`
    status = 'ready', completed_at = now(), updated_at = now(), lease_expires_at = NULL, failed_phase = NULL,
    error_category = NULL, error_message = NULL, retryable = NULL`;
}

export interface JobFailure {
  readonly category: ErrorCategory;
  /** Message for the job's owner that names the problem and the remedy. */
  readonly message: string;
  readonly retryable: boolean;
}

/** Fail a held job permanently. Return false if it is no longer held. */
export async function failJob(sql: Sql, held: HeldJob, phase: string, failure: JobFailure): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'failed', failed_phase = ${phase}, error_category = ${failure.category},
           error_message = ${storedMessage(failure.message)}, retryable = ${failure.retryable}, completed_at = now(),
           updated_at = now(), lease_expires_at = NULL
    WHERE ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Return a held job to the queue after a failed attempt, due in `delayMs`. Return false if it is no longer held. */
export async function retryJob(
  sql: Sql,
  held: HeldJob,
  phase: string,
  failure: JobFailure,
  delayMs: number,
): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', retry_count = retry_count + 1, failed_phase = ${phase},
           error_category = ${failure.category}, error_message = ${storedMessage(failure.message)}, retryable = true,
           scheduled_at = now() + ${delayMs} * interval '1 millisecond', worker_id = NULL,
           lease_expires_at = NULL, updated_at = now()
    WHERE ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Return a held job to the queue without counting an attempt, due in `delayMs`. Return false if no longer held. */
export async function deferJob(sql: Sql, held: HeldJob, delayMs: number): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', worker_id = NULL, lease_expires_at = NULL, updated_at = now(),
           scheduled_at = now() + ${delayMs} * interval '1 millisecond'
    WHERE ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Return a held job to the queue when draining, due at once and without counting an attempt. */
export async function releaseJob(sql: Sql, held: HeldJob): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE ${isHeldJob(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/**
 * Return jobs to the queue that a worker unknowingly holds, since the reply to its claim was lost. Nothing ran, so
 * count neither an attempt nor a lost lease.
 * @param known jobs that the worker runs
 * @returns number of returned jobs
 */
export async function releaseUnknown(sql: Sql, workerId: string, known: readonly HeldJob[]): Promise<number> {
  const rows = await sql`
    UPDATE jobs SET status = 'queued', worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE id IN (
      SELECT id FROM jobs WHERE worker_id = ${workerId} AND ${isInProgress(sql)} AND NOT EXISTS (
        SELECT 1 FROM unnest(${sql.array(known.map((held) => held.id))}::text[],
                             ${sql.array(known.map((held) => held.fence))}::bigint[]) AS known (id, fence)
        WHERE known.id = jobs.id AND known.fence = jobs.fence)
      FOR UPDATE SKIP LOCKED) RETURNING 1`;
  return rows.length;
}

/** Find jobs whose lease has expired, oldest first. */
export async function findExpired(sql: Sql, limit: number): Promise<Job[]> {
  const rows = await sql`
    SELECT * FROM jobs WHERE ${isInProgress(sql)}
      AND lease_expires_at < now() ORDER BY lease_expires_at LIMIT ${limit}`;
  return rows.map((row) => toJob(row as Row));
}

/**
 * Lock an expired job until the transaction ends. Return false if it has changed or another transaction holds its row.
 * That transaction may hang, and waiting for it would delay the recovery of other jobs.
 */
export async function lockExpired(tx: Sql, held: HeldJob): Promise<boolean> {
  return (await tx`SELECT 1 FROM jobs WHERE ${isExpired(tx, held)} FOR UPDATE SKIP LOCKED`).length === 1;
}

/** Return an expired job to the queue and count the crash. Return false in the same cases as `lockExpired`. */
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
 * List jobs of an organization, newest first.
 * @param visible condition on a row of `jobs` that it matches the query and the caller may see it (by `src/documents`)
 */
export async function listJobs(
  sql: Sql,
  orgId: string,
  visible: SqlFragment,
  query: Pick<ListJobsQuery, 'status' | 'document_id' | 'cursor' | 'limit'>,
): Promise<JobView[]> {
  const rows = await sql`
    SELECT * FROM jobs WHERE org_id = ${orgId} AND ${visible}
      ${query.status === undefined ? sql`` : sql`AND status = ${query.status}`}
      ${query.document_id === undefined ? sql`` : sql`AND document_id = ${query.document_id}`}
      ${query.cursor === undefined ? sql`` : sql`AND ${isAfter(sql, orgId, query.cursor)}`}
    ORDER BY created_at DESC, id DESC LIMIT ${query.limit}`;
  return rows.map((row) => toView(row as Row));
}

/** Build the condition for jobs after a page. The time in the id locates a deleted job. */
function isAfter(sql: Sql, orgId: string, cursor: string): SqlFragment {
  const placed = new Date(idTimeMs(cursor) ?? 0);
  return sql`(created_at, id) < (
    COALESCE((SELECT last.created_at FROM jobs AS last WHERE last.org_id = ${orgId} AND last.id = ${cursor}), ${placed}),
    ${cursor})`;
}

/**
 * Find a job of an organization.
 * @param visible as for `listJobs`
 * @throws AppError `job_not_found` (404), also for a job of another organization or an invisible one
 */
export async function findJob(sql: Sql, orgId: string, visible: SqlFragment, jobId: string): Promise<Job> {
  const [row] = await sql`SELECT * FROM jobs WHERE org_id = ${orgId} AND id = ${jobId} AND ${visible}`;
  if (!row) throw notFound('job', jobId);
  return toJob(row as Row);
}

/** Return those of the jobs that have finished (ready, failed or cancelled), to show the progress of an upload. */
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
