import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { isUnfinished } from '../../jobs/state-store.ts';
import { INDEX_TERMS_VERSION } from '../../language/terms-version.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import { KEYWORD_ONLY } from '../../projection/projections.ts';
import { PAGE_ROWS } from './in-pages.ts';

/** Time without a heartbeat after which a run is given up. */
const REINDEX_ALIVE_MS = 3_600_000;
/** Time within which a killed run can be resumed, well before a sweep may remove its rows. */
const RESUMABLE_MS = REINDEX_ALIVE_MS / 2;
/** Time since its last heartbeat for which a run keeps jobs from finishing. */
const CLOSING_MS = 60_000;

/** Kinds of reindexing: from the stored vectors, with other maps, or with another model. */
export type ReindexKind = 'rebuild' | 'reproject' | 'reembed';

/** Run that rebuilds a bucket's index. */
export interface ReindexRun {
  readonly id: string;
  readonly bucketId: string;
  readonly kind: ReindexKind;
  /** Name of the table that will replace the bucket's; null if rows go to the bucket's own. */
  readonly tableName: string | null;
  /** Model and space of the index after the run; null to keep the current ones. */
  readonly origin: VectorOrigin | null;
  /** Id of the run's job; null if a command runs it. */
  readonly jobId: string | null;
}

/** Return the run of a bucket, or null if there is none. */
export async function findReindexRun(sql: Sql, bucketId: string): Promise<ReindexRun | null> {
  const [row] = await sql`SELECT * FROM reprojections WHERE bucket_id = ${bucketId}`;
  return row ? toReindexRun(row) : null;
}

/** Take over a recently killed run of the bucket with the same goal, or return null if there is none. */
export async function resumeReindexRun(
  sql: Sql,
  { bucketId, kind, origin, jobId }: Omit<ReindexRun, 'id' | 'tableName'>,
): Promise<ReindexRun | null> {
  const [row] = await sql`
    UPDATE reprojections SET touched_at = now()
    WHERE bucket_id = ${bucketId} AND kind = ${kind} AND space = ${origin?.space ?? KEYWORD_ONLY}
      AND model IS NOT DISTINCT FROM ${origin?.model ?? null}
      AND job_id IS NOT DISTINCT FROM ${jobId} AND table_name IS NOT NULL
      AND (job_id IS NOT NULL OR touched_at > now() - ${RESUMABLE_MS} * interval '1 millisecond')
    RETURNING *`;
  return row ? toReindexRun(row) : null;
}

/** Record a new run, and give up any existing run of the bucket. Call in a transaction. */
export async function startReindexRun(tx: Sql, run: ReindexRun): Promise<void> {
  const { id, bucketId, kind, tableName, origin, jobId } = run;
  await dropReindexRun(tx, bucketId);
  await tx`
    INSERT INTO reprojections (id, bucket_id, kind, table_name, model, revision, space, job_id)
    VALUES (${id}, ${bucketId}, ${kind}, ${tableName}, ${origin?.model ?? null}, ${origin?.revision ?? null},
            ${origin?.space ?? KEYWORD_ONLY}, ${jobId})`;
}

/** Record a heartbeat and the progress of a run. Return false if the run was given up or its bucket is gone. */
export async function touchReindexRun(
  sql: Sql,
  id: string,
  progress: { done: number; total: number },
): Promise<boolean> {
  const rows = await sql`
    UPDATE reprojections SET touched_at = now(), chunks_done = ${progress.done}, chunks_total = ${progress.total},
           closing_until = CASE WHEN closing_until IS NOT NULL THEN now() + ${CLOSING_MS} * interval '1 millisecond' END
    WHERE id = ${id} RETURNING 1`;
  return rows.length > 0;
}

/** Keep jobs from activating documents of the bucket, so that the run can catch up. This ends if the run is killed. */
export async function closeIndexForRun(sql: Sql, id: string): Promise<void> {
  await sql`
    UPDATE reprojections SET closing_until = now() + ${CLOSING_MS} * interval '1 millisecond' WHERE id = ${id}`;
}

/** Return the number of finished chunks and of all chunks, for the runs of these jobs. */
export async function countReindexedChunks(
  sql: Sql,
  jobIds: readonly string[],
): Promise<Map<string, { done: number; total: number }>> {
  const rows = await sql<{ id: string; done: number; total: number }[]>`
    SELECT job_id AS id, chunks_done AS done, chunks_total AS total FROM reprojections
    WHERE job_id = ANY(${sql.array([...jobIds])}::text[])`;
  return new Map(rows.map(({ id, done, total }) => [id, { done, total }]));
}

/**
 * Find the unfinished job that works on a bucket's index.
 *
 * @param processingType the only job type to consider
 */
export async function findReindexJob(sql: Sql, bucketId: string, processingType?: string): Promise<string | null> {
  const ofType = processingType === undefined ? sql`` : sql`AND processing_type = ${processingType}`;
  const [row] = await sql`
    SELECT id FROM jobs WHERE kind = 'reindex' AND bucket_id = ${bucketId} AND ${isUnfinished(sql)} ${ofType} LIMIT 1`;
  return (row?.['id'] as string | undefined) ?? null;
}

/**
 * Build a condition on a row `r` of `reprojections`: the run is in progress or will be resumed. A job's run lives as
 * long as the job. A command's run lives as long as it sends heartbeats.
 */
export function isRunAlive(sql: Sql): SqlFragment {
  return sql`(
    r.touched_at > now() - ${REINDEX_ALIVE_MS} * interval '1 millisecond'
    OR EXISTS (SELECT 1 FROM jobs WHERE jobs.id = r.job_id AND ${isUnfinished(sql)}))`;
}

/** Give up the run of a job, whose rows a sweep removes. Call in a transaction. */
export async function dropReindexRunOfJob(tx: Sql, jobId: string): Promise<void> {
  const [row] = await tx`SELECT bucket_id FROM reprojections WHERE job_id = ${jobId} FOR UPDATE`;
  if (row) await dropReindexRun(tx, row['bucket_id'] as string);
}

/** Give up a run, whose rows a sweep removes. Call in a transaction. */
export async function dropReindexRun(tx: Sql, bucketId: string): Promise<void> {
  const [row] = await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId} RETURNING table_name`;
  const tableName = row?.['table_name'] as string | null | undefined;
  if (tableName) await retireTable(tx, bucketId, tableName);
}

/** Return a page of buckets whose run has sent no heartbeat for long: those after `after`, ordered by id. */
export async function findAbandonedReindexRuns(sql: Sql, after: string): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM reprojections r WHERE bucket_id > ${after} AND NOT ${isRunAlive(sql)}
    ORDER BY bucket_id LIMIT ${PAGE_ROWS}`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Return true if the bucket has a run that has sent no heartbeat for long. */
export async function hasAbandonedReindexRun(sql: Sql, bucketId: string): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM reprojections r WHERE bucket_id = ${bucketId} AND NOT ${isRunAlive(sql)}`;
  return rows.length > 0;
}

/**
 * Keep the bucket's jobs from finishing until the transaction ends, since each of them first locks the space of the
 * index. Call in a transaction.
 */
export async function lockIndexTable(tx: Sql, bucketId: string): Promise<void> {
  await tx`SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} FOR UPDATE`;
}

/** Make searches of the bucket use this table from now on. Call in a transaction. */
export async function replaceTable(
  tx: Sql,
  { bucketId, kind, tableName, origin }: ReindexRun,
  version: number,
): Promise<void> {
  const [row] = await tx`
    SELECT coalesce(table_name, bucket_id) AS name FROM index_tables WHERE bucket_id = ${bucketId}`;
  await tx`
    UPDATE index_tables SET table_name = ${tableName}, version = ${version}, settled = false, cleaned_at = now(),
           updated_at = now()
    WHERE bucket_id = ${bucketId}`;
  // Other kinds of runs keep the terms of the rows that they replace.
  if (kind === 'rebuild')
    await tx`UPDATE index_tables SET terms_version = ${INDEX_TERMS_VERSION} WHERE bucket_id = ${bucketId}`;
  if (origin !== null)
    await tx`
      UPDATE index_tables SET model = ${origin.model}, revision = ${origin.revision}, space = ${origin.space}
      WHERE bucket_id = ${bucketId}`;
  await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId}`;
  await retireTable(tx, bucketId, row?.['name'] as string);
}

async function retireTable(tx: Sql, bucketId: string, tableName: string): Promise<void> {
  await tx`
    INSERT INTO retired_index_tables (table_name, bucket_id) VALUES (${tableName}, ${bucketId})
    ON CONFLICT (table_name) DO NOTHING`;
}

/** Return a page of tables that no search can still use: those after `after`, ordered by name. */
export async function findRetiredTables(
  sql: Sql,
  olderThanMs: number,
  after: string,
): Promise<{ bucketId: string; tableName: string }[]> {
  return sql<{ bucketId: string; tableName: string }[]>`
    SELECT bucket_id AS "bucketId", table_name AS "tableName" FROM retired_index_tables
    WHERE table_name > ${after} AND retired_at < now() - ${olderThanMs} * interval '1 millisecond'
    ORDER BY table_name LIMIT ${PAGE_ROWS}`;
}

/** Select the tables of a bucket that nothing uses any more, however recently they were replaced. */
export async function findRetiredTablesOf(sql: Sql, bucketId: string): Promise<string[]> {
  const rows = await sql`SELECT table_name FROM retired_index_tables WHERE bucket_id = ${bucketId}`;
  return rows.map((row) => row['table_name'] as string);
}

export async function forgetRetiredTable(sql: Sql, tableName: string): Promise<void> {
  await sql`DELETE FROM retired_index_tables WHERE table_name = ${tableName}`;
}

function toReindexRun(row: Record<string, unknown>): ReindexRun {
  const space = row['space'] as string;
  return {
    id: row['id'] as string,
    bucketId: row['bucket_id'] as string,
    kind: row['kind'] as ReindexKind,
    tableName: row['table_name'] as string | null,
    origin:
      space === KEYWORD_ONLY
        ? null
        : { model: (row['model'] as string | null) ?? '', revision: row['revision'] as string | null, space },
    jobId: row['job_id'] as string | null,
  };
}
