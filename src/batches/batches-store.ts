import type { Metadata } from '../files/metadata.ts';
import { type HeldJob, isHeldJob } from '../jobs/store.ts';
import { storableValue } from '../platform/postgres/storable-json.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { BatchError, BatchStatus, ListBatchesQuery } from './batch-schema.ts';

/** Parameters of a batch, fixed at its creation. */
export interface NewBatch {
  readonly id: string;
  readonly orgId: string;
  readonly jobId: string;
  readonly actor: string;
  readonly endpoint: string;
  readonly window: string;
  readonly windowMs: number;
  readonly inputFileId: string;
  readonly inputKey: string;
  readonly inputBytes: number;
  readonly outputSeconds: number | null;
  readonly metadata: Metadata | null;
}

export interface BatchRow extends Omit<NewBatch, 'windowMs' | 'inputBytes'> {
  readonly status: BatchStatus;
  readonly errors: readonly BatchError[] | null;
  readonly model: string | null;
  readonly tokens: number | null;
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly inProgressAt: Date | null;
  readonly finalizingAt: Date | null;
  readonly cancellingAt: Date | null;
  readonly endedAt: Date | null;
  /** True once the completion window is over. */
  readonly isOverdue: boolean;
}

type Row = Record<string, unknown>;

export async function insertBatch(tx: Sql, batch: NewBatch): Promise<BatchRow> {
  const { metadata } = batch;
  const [row] = await tx`
    INSERT INTO batches (id, org_id, job_id, actor, endpoint, window_text, input_file_id, input_key, input_bytes,
                         output_seconds, metadata, status, expires_at)
    VALUES (${batch.id}, ${batch.orgId}, ${batch.jobId}, ${batch.actor}, ${batch.endpoint}, ${batch.window},
            ${batch.inputFileId}, ${batch.inputKey}, ${batch.inputBytes}, ${batch.outputSeconds},
            ${metadata && tx.json(storableValue(metadata) as never)}::jsonb, 'validating',
            now() + ${batch.windowMs}::double precision * interval '1 millisecond')
    RETURNING *, false AS is_overdue`;
  return toBatch(row as Row);
}

/** Read a batch. Return null if the organization has none with this id. */
export async function selectBatch(sql: Sql, orgId: string, id: string): Promise<BatchRow | null> {
  const [row] = await sql`
    SELECT *, expires_at <= now() AS is_overdue FROM batches WHERE org_id = ${orgId} AND id = ${id}`;
  return row ? toBatch(row) : null;
}

/** Read the batch of a job. Return null if there is none. */
export async function selectBatchOfJob(sql: Sql, orgId: string, jobId: string): Promise<BatchRow | null> {
  const [row] = await sql`
    SELECT *, expires_at <= now() AS is_overdue FROM batches WHERE org_id = ${orgId} AND job_id = ${jobId}`;
  return row ? toBatch(row) : null;
}

/** List batches, newest first, by ids: one more than the query's limit. */
export async function selectBatches(sql: Sql, orgId: string, query: ListBatchesQuery): Promise<BatchRow[]> {
  const rows = await sql`
    SELECT *, expires_at <= now() AS is_overdue FROM batches WHERE org_id = ${orgId}
      ${query.after === undefined ? sql`` : sql`AND id < ${query.after}`}
    ORDER BY id DESC LIMIT ${query.limit + 1}`;
  return rows.map(toBatch);
}

/**
 * Start the requests of a batch with a valid input, and record the most bytes that its output can have. Return false if
 * its job is no longer held.
 */
export async function beginRequests(
  tx: Sql,
  held: HeldJob,
  batchId: string,
  facts: { readonly total: number; readonly failed: number; readonly outputBytesMax: number },
): Promise<boolean> {
  const rows = await tx`
    UPDATE batches SET total = ${facts.total}, failed = ${facts.failed}, output_bytes_max = ${facts.outputBytesMax},
           in_progress_at = coalesce(in_progress_at, now()),
           status = CASE WHEN status = 'validating' THEN 'in_progress' ELSE status END
    WHERE id = ${batchId} AND ended_at IS NULL AND ${isHeldBy(tx, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Record that the output files are written. Return false if the job is no longer held. */
export async function beginFinalizing(sql: Sql, held: HeldJob, batchId: string): Promise<boolean> {
  const rows = await sql`
    UPDATE batches SET finalizing_at = coalesce(finalizing_at, now()),
           status = CASE WHEN status = 'in_progress' THEN 'finalizing' ELSE status END
    WHERE id = ${batchId} AND ended_at IS NULL AND ${isHeldBy(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Mark an unfinished batch as cancelling. Return null if it has ended. */
export async function beginCancelling(tx: Sql, orgId: string, id: string): Promise<BatchRow | null> {
  const [row] = await tx`
    UPDATE batches SET status = 'cancelling', cancelling_at = coalesce(cancelling_at, now())
    WHERE org_id = ${orgId} AND id = ${id} AND ended_at IS NULL RETURNING *, expires_at <= now() AS is_overdue`;
  return row ? toBatch(row) : null;
}

/** Make a batch's job due at once if it is waiting for another attempt. */
export async function hastenJob(sql: Sql, orgId: string, jobId: string): Promise<void> {
  await sql`
    UPDATE jobs SET scheduled_at = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${jobId} AND status = 'queued' AND scheduled_at IS NOT NULL`;
}

/** Make the jobs of overdue batches in all organizations due, so that they expire. Return the number of jobs. */
export async function hastenOverdue(sql: Sql): Promise<number> {
  const result = await sql`
    UPDATE jobs SET scheduled_at = NULL, updated_at = now() FROM batches
    WHERE batches.job_id = jobs.id AND batches.ended_at IS NULL AND batches.expires_at <= now()
      AND jobs.status = 'queued' AND jobs.scheduled_at IS NOT NULL`;
  return result.count;
}

/** Record the faults of an input before its job fails. Return false if the job is no longer held. */
export async function updateErrors(
  sql: Sql,
  held: HeldJob,
  batchId: string,
  errors: readonly BatchError[],
): Promise<boolean> {
  const rows = await sql`
    UPDATE batches SET errors = ${sql.json(storableValue(errors) as never)}::jsonb
    WHERE id = ${batchId} AND ended_at IS NULL AND ${isHeldBy(sql, held)} RETURNING 1`;
  return rows.length === 1;
}

/** Result of a batch. */
export interface BatchEnd {
  readonly status: 'completed' | 'failed' | 'expired' | 'cancelled';
  readonly errors?: readonly BatchError[];
  readonly model?: string | null;
  readonly tokens?: number | null;
  readonly outputFileId?: string | null;
  readonly errorFileId?: string | null;
  readonly counts?: { readonly total: number; readonly completed: number; readonly failed: number };
}

/** End the batch of a job, in the transaction that ends the job. Leave an ended batch unchanged. */
export async function endBatch(tx: Sql, orgId: string, jobId: string, end: BatchEnd): Promise<void> {
  const { counts, errors } = end;
  await tx`
    UPDATE batches SET status = ${end.status}, ended_at = now(),
           cancelling_at = CASE WHEN ${end.status} = 'cancelled' THEN coalesce(cancelling_at, now()) ELSE cancelling_at END,
           errors = coalesce(errors, ${errors ? tx.json(storableValue(errors) as never) : null}::jsonb), model = ${end.model ?? null},
           tokens = ${end.tokens ?? null}, output_file_id = ${end.outputFileId ?? null},
           error_file_id = ${end.errorFileId ?? null}, total = coalesce(${counts?.total ?? null}, total),
           completed = coalesce(${counts?.completed ?? null}, completed),
           failed = coalesce(${counts?.failed ?? null}, failed)
    WHERE org_id = ${orgId} AND job_id = ${jobId} AND ended_at IS NULL`;
}

/** Delete at most `limit` batches of all organizations that ended more than `ageMs` ago. Return their number. */
export async function deleteOldBatches(sql: Sql, ageMs: number, limit: number): Promise<number> {
  const result = await sql`
    DELETE FROM batches WHERE id IN (
      SELECT id FROM batches WHERE ended_at < now() - ${ageMs}::double precision * interval '1 millisecond'
      ORDER BY ended_at LIMIT ${limit})`;
  return result.count;
}

/** Return the ids that belong to batches in progress. */
export async function selectUnfinished(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql`
    SELECT id FROM batches WHERE ended_at IS NULL AND id = ANY(${sql.array([...ids])}::text[])`;
  return new Set(rows.map((row) => row['id'] as string));
}

function isHeldBy(sql: Sql, held: HeldJob): SqlFragment {
  return sql`EXISTS (SELECT 1 FROM jobs WHERE ${isHeldJob(sql, held)} FOR SHARE)`;
}

function toBatch(row: Row): BatchRow {
  const text = (name: string) => row[name] as string | null;
  const time = (name: string) => row[name] as Date | null;
  return {
    id: row['id'] as string,
    orgId: row['org_id'] as string,
    jobId: row['job_id'] as string,
    actor: row['actor'] as string,
    endpoint: row['endpoint'] as string,
    window: row['window_text'] as string,
    inputFileId: row['input_file_id'] as string,
    inputKey: row['input_key'] as string,
    outputSeconds: row['output_seconds'] as number | null,
    metadata: row['metadata'] as Metadata | null,
    status: row['status'] as BatchStatus,
    errors: row['errors'] as BatchError[] | null,
    model: text('model'),
    tokens: row['tokens'] === null ? null : Number(row['tokens']),
    outputFileId: text('output_file_id'),
    errorFileId: text('error_file_id'),
    total: row['total'] as number,
    completed: row['completed'] as number,
    failed: row['failed'] as number,
    createdAt: row['created_at'] as Date,
    expiresAt: row['expires_at'] as Date,
    inProgressAt: time('in_progress_at'),
    finalizingAt: time('finalizing_at'),
    cancellingAt: time('cancelling_at'),
    endedAt: time('ended_at'),
    isOverdue: row['is_overdue'] as boolean,
  };
}
