import type { JobStatus } from '../jobs/schema.ts';
import { isFinished, isInProgress } from '../jobs/state-store.ts';
import type { HeldJob } from '../jobs/store.ts';
import type { CountedTokens } from '../models/count-tokens.ts';
import type { TaskType } from '../models/task-types.ts';
import type { Sql } from '../platform/postgres.ts';
import type { UsedModel } from '../usage/ledger.ts';
import type { ResultChunkFacts } from './result-chunk.ts';
import { tokenBytes } from './token-counts-store.ts';

/** Parameters of a bulk job, fixed on submission. Only a switch to the fallback changes them (`SwitchedSpec`). */
export interface BulkSpec {
  readonly model: string;
  /** Backend for all texts: one model, or the alias if its backends are comparable. */
  readonly backend: string;
  /** Requested dimensions; null if not specified. */
  readonly dimensions: number | null;
  readonly vectorDimensions: number;
  readonly taskType: TaskType | null;
  readonly inputCount: number;
  readonly chunkSize: number;
  readonly tokenCount: number;
  readonly resumesJobId: string | null;
}

/** Parameters that change when the fallback takes over the job. */
export type SwitchedSpec = Pick<BulkSpec, 'model' | 'backend' | 'vectorDimensions'>;

/** State of a bulk job: its parameters, and fields of its row in `jobs`. */
export interface BulkJob extends BulkSpec {
  readonly id: string;
  readonly orgId: string;
  readonly status: JobStatus;
  readonly failedPhase: string | null;
  readonly errorCategory: string | null;
  readonly errorMessage: string | null;
  readonly retryable: boolean | null;
  readonly completedAt: Date | null;
  /** Number of texts with stored vectors, as of the query. */
  readonly completedCount: number;
  readonly resultModel: string | null;
  /** True if input and results have been deleted. */
  readonly isSwept: boolean;
}

/** @param counted token counts of all texts; null if unknown, so that the worker counts */
export async function insertBulkJob(
  sql: Sql,
  id: string,
  spec: BulkSpec,
  counted: CountedTokens | null,
): Promise<void> {
  await sql`
    INSERT INTO bulk_jobs (job_id, model, backend, dimensions, vector_dimensions, task_type, input_count, chunk_size,
                           token_count, resumes_job_id, token_counts, counted_by)
    VALUES (${id}, ${spec.model}, ${spec.backend}, ${spec.dimensions}, ${spec.vectorDimensions}, ${spec.taskType},
            ${spec.inputCount}, ${spec.chunkSize}, ${spec.tokenCount}, ${spec.resumesJobId},
            ${counted && tokenBytes(counted.tokens)}::bytea, ${counted?.model ?? null})`;
}

/** Switch the rest of a held job to another model. Return false if the job is no longer held. */
export async function updateBackend(sql: Sql, held: HeldJob, spec: SwitchedSpec): Promise<boolean> {
  const rows = await sql`
    UPDATE bulk_jobs
    SET model = ${spec.model}, backend = ${spec.backend}, vector_dimensions = ${spec.vectorDimensions} FROM jobs
    WHERE bulk_jobs.job_id = ${held.id} AND jobs.id = bulk_jobs.job_id AND jobs.fence = ${held.fence}
      AND ${isInProgress(sql)} RETURNING 1`;
  return rows.length > 0;
}

/** Read a job and its finished chunks in one snapshot. Return null if the organization has no such bulk job. */
export async function selectBulkJob(sql: Sql, orgId: string, id: string): Promise<BulkJob | null> {
  const [row] = await sql<BulkJob[]>`
    SELECT b.job_id AS id, b.model, b.backend, b.dimensions, b.vector_dimensions AS "vectorDimensions",
           b.task_type AS "taskType", b.input_count AS "inputCount", b.chunk_size AS "chunkSize",
           b.token_count AS "tokenCount", b.resumes_job_id AS "resumesJobId", b.result_model AS "resultModel",
           b.swept_at IS NOT NULL AS "isSwept", jobs.org_id AS "orgId", jobs.status,
           jobs.failed_phase AS "failedPhase", jobs.error_category AS "errorCategory",
           jobs.error_message AS "errorMessage", jobs.retryable, jobs.completed_at AS "completedAt",
           coalesce(b.completed_count, (
             SELECT coalesce(sum(texts), 0)::int FROM bulk_chunks WHERE bulk_chunks.job_id = b.job_id
           )) AS "completedCount"
    FROM bulk_jobs b JOIN jobs ON jobs.id = b.job_id
    WHERE b.job_id = ${id} AND jobs.org_id = ${orgId}`;
  return row ?? null;
}

/** Count the texts of these jobs: embedded so far, and in total. */
export async function countTexts(
  sql: Sql,
  jobIds: readonly string[],
): Promise<Map<string, { done: number; total: number }>> {
  const rows = await sql<{ id: string; done: number; total: number }[]>`
    SELECT b.job_id AS id, b.input_count AS total, coalesce(b.completed_count, done.texts, 0)::int AS done
    FROM bulk_jobs b
    LEFT JOIN LATERAL (SELECT sum(texts) AS texts FROM bulk_chunks c WHERE c.job_id = b.job_id) AS done ON true
    WHERE b.job_id = ANY(${sql.array([...jobIds])}::text[])`;
  return new Map(rows.map(({ id, done, total }) => [id, { done, total }]));
}

export interface FinishedChunk {
  readonly chunk: number;
  readonly texts: number;
  readonly space: string;
  readonly used: readonly UsedModel[];
  readonly cost: number;
  readonly inherited: boolean;
}

/** Read the finished chunks of a job, in completion order. */
export async function selectFinishedChunks(sql: Sql, jobId: string): Promise<FinishedChunk[]> {
  return sql<FinishedChunk[]>`
    SELECT chunk, texts, space, used, cost, inherited FROM bulk_chunks
    WHERE job_id = ${jobId} ORDER BY finished_at, chunk`;
}

/**
 * Record a stored chunk as finished. Lock the job's row until the transaction ends, so that no cancel, reaper or other
 * worker changes it. Return false if the job is no longer held.
 */
export async function insertFinishedChunk(
  sql: Sql,
  held: HeldJob,
  chunk: number,
  facts: ResultChunkFacts,
  inherited: boolean,
): Promise<boolean> {
  const crcs = Buffer.alloc(facts.rowCrcs.length * 4);
  for (const [row, crc] of facts.rowCrcs.entries()) crcs.writeUInt32LE(crc, row * 4);
  const rows = await sql`
    INSERT INTO bulk_chunks (job_id, chunk, texts, row_crcs, space, used, cost, inherited)
    SELECT id, ${chunk}::int, ${facts.texts}::int, ${crcs}::bytea, ${facts.space}::text,
           ${sql.json(facts.used as never)}::jsonb, ${facts.cost}::double precision, ${inherited}::boolean
    FROM jobs WHERE id = ${held.id} AND fence = ${held.fence} AND status = 'embedding' FOR SHARE
    RETURNING 1`;
  return rows.length === 1;
}

/** Delete the records of chunks that must be embedded again. Return false if the job is no longer held. */
export async function deleteFinishedChunks(sql: Sql, held: HeldJob, chunks: readonly number[]): Promise<boolean> {
  const [row] = await sql`
    WITH mine AS (
      SELECT id FROM jobs WHERE id = ${held.id} AND fence = ${held.fence} AND status IN ('embedding', 'indexing')
      FOR SHARE
    ), gone AS (
      DELETE FROM bulk_chunks USING mine
      WHERE bulk_chunks.job_id = mine.id AND chunk = ANY(${sql.array([...chunks])}::int[])
    )
    SELECT count(*)::int AS held FROM mine`;
  return row?.['held'] === 1;
}

/** Sum the usage of the job by model. Chunks inherited from another job were charged there. */
export async function selectUsed(sql: Sql, jobId: string): Promise<UsedModel[]> {
  return sql<UsedModel[]>`
    SELECT used.model, sum(used.texts)::bigint AS texts, sum(used.tokens)::bigint AS tokens
    FROM bulk_chunks, jsonb_to_recordset(used) AS used (model text, texts bigint, tokens bigint)
    WHERE job_id = ${jobId} AND NOT inherited GROUP BY used.model ORDER BY 2 DESC, 1`;
}

/** List the models of a job's finished chunks, ordered by first chunk. */
export async function selectUsedModels(sql: Sql, jobId: string): Promise<string[]> {
  const rows = await sql`
    SELECT used.model FROM bulk_chunks, jsonb_to_recordset(used) AS used (model text)
    WHERE job_id = ${jobId} GROUP BY used.model ORDER BY min(chunk)`;
  return rows.map((row) => row['model'] as string);
}

/** Record the models that embedded a job. Return false if texts are missing. */
export async function updateResult(sql: Sql, jobId: string, resultModel: string): Promise<boolean> {
  const rows = await sql`
    UPDATE bulk_jobs SET result_model = ${resultModel}
    WHERE job_id = ${jobId} AND input_count = (SELECT sum(texts) FROM bulk_chunks WHERE job_id = ${jobId})
    RETURNING 1`;
  return rows.length === 1;
}

/** Chunk that contains rows of a page. */
export interface PageChunk {
  readonly chunk: number;
  readonly texts: number;
  readonly rowCrcs: readonly number[];
}

/** Read the chunks from `first` to `last`, in order. */
export async function selectPageChunks(sql: Sql, jobId: string, first: number, last: number): Promise<PageChunk[]> {
  const rows = await sql<{ chunk: number; texts: number; row_crcs: Uint8Array }[]>`
    SELECT chunk, texts, row_crcs FROM bulk_chunks
    WHERE job_id = ${jobId} AND chunk BETWEEN ${first} AND ${last} ORDER BY chunk`;
  return rows.map(({ chunk, texts, row_crcs: crcs }) => {
    const view = new DataView(crcs.buffer, crcs.byteOffset, crcs.byteLength);
    return { chunk, texts, rowCrcs: Array.from({ length: texts }, (_, row) => view.getUint32(row * 4, true)) };
  });
}

/** Cancel a queued job. Return false if it is no longer queued. */
export async function cancelQueued(sql: Sql, orgId: string, jobId: string): Promise<boolean> {
  const rows = await sql`
    UPDATE jobs SET status = 'cancelled', fence = fence + 1, completed_at = now(), updated_at = now(),
           scheduled_at = NULL
    WHERE id = ${jobId} AND org_id = ${orgId} AND kind = 'bulk' AND status = 'queued' RETURNING 1`;
  return rows.length === 1;
}

/** Find jobs that ended more than `olderThanMs` ago and still have files, oldest first. */
export async function selectToSweep(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<{ id: string; orgId: string }[]> {
  return sql<{ id: string; orgId: string }[]>`
    SELECT jobs.id, jobs.org_id AS "orgId" FROM bulk_jobs JOIN jobs ON jobs.id = bulk_jobs.job_id
    WHERE swept_at IS NULL AND ${isFinished(sql)}
      AND jobs.completed_at < now() - ${olderThanMs}::double precision * interval '1 millisecond'
    ORDER BY bulk_jobs.created_at LIMIT ${limit}`;
}

/** Record that a job's files were deleted: keep its text count, and delete the rows of its chunks. */
export async function markSwept(sql: Sql, jobId: string): Promise<void> {
  await sql`
    WITH gone AS (DELETE FROM bulk_chunks WHERE job_id = ${jobId} RETURNING texts)
    UPDATE bulk_jobs SET swept_at = now(), completed_count = (SELECT coalesce(sum(texts), 0) FROM gone),
           token_counts = NULL, counted_by = NULL
    WHERE job_id = ${jobId} AND swept_at IS NULL`;
}

/** Return the ids that belong to existing jobs. */
export async function findExistingJobs(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`SELECT id FROM jobs WHERE id = ANY(${sql.array([...ids])}::text[])`;
  return new Set(rows.map((row) => row.id));
}
