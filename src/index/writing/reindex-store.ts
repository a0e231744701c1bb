import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { isUnfinished } from '../../jobs/state-store.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import { KEYWORD_ONLY } from '../../projection/projections.ts';
import { PAGE_ROWS } from './in-pages.ts';

/** A run that has not been heard of for so long is given up. */
const REINDEX_ALIVE_MS = 3_600_000;
/** A run that was killed is taken up again until then: well before the sweep may touch what it wrote. */
const RESUMABLE_MS = REINDEX_ALIVE_MS / 2;
/** Time for which a run that does not say that it is alive keeps jobs from finishing. */
const CLOSING_MS = 60_000;

/** Ways of making the vectors of an index anew: as they are stored, by other maps, or by another model. */
export type ReindexKind = 'rebuild' | 'reproject' | 'reembed';

/** A run that makes the index of a bucket anew. */
export interface ReindexRun {
  readonly id: string;
  readonly bucketId: string;
  readonly kind: ReindexKind;
  /** Name of the table that will replace the bucket's; null: rows go to the bucket's own. */
  readonly tableName: string | null;
  /** Model and space of the index after the run; null: as they are then. */
  readonly origin: VectorOrigin | null;
  /** Null: a command runs it. */
  readonly jobId: string | null;
}

/** Null: none is under way. */
export async function findReindexRun(sql: Sql, bucketId: string): Promise<ReindexRun | null> {
  const [row] = await sql`SELECT * FROM reprojections WHERE bucket_id = ${bucketId}`;
  return row ? toReindexRun(row) : null;
}

/** Take over a run of the bucket that was killed not long ago and had the same aim. Null: there is none. */
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

/** In a transaction: one that is still there is given up. */
export async function startReindexRun(tx: Sql, run: ReindexRun): Promise<void> {
  const { id, bucketId, kind, tableName, origin, jobId } = run;
  await dropReindexRun(tx, bucketId);
  await tx`
    INSERT INTO reprojections (id, bucket_id, kind, table_name, model, revision, space, job_id)
    VALUES (${id}, ${bucketId}, ${kind}, ${tableName}, ${origin?.model ?? null}, ${origin?.revision ?? null},
            ${origin?.space ?? KEYWORD_ONLY}, ${jobId})`;
}

/** Record that a run is alive, and how far it is. False: the run was given up, or its bucket is gone. */
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

/** Keep jobs from making documents of the bucket live, so that the run can catch up; a run that is killed ends this. */
export async function closeIndexForRun(sql: Sql, id: string): Promise<void> {
  await sql`
    UPDATE reprojections SET closing_until = now() + ${CLOSING_MS} * interval '1 millisecond' WHERE id = ${id}`;
}

/** Chunks done, and in all, of the runs of these jobs. */
export async function countReindexedChunks(
  sql: Sql,
  jobIds: readonly string[],
): Promise<Map<string, { done: number; total: number }>> {
  const rows = await sql`
    SELECT job_id, chunks_done, chunks_total FROM reprojections WHERE job_id = ANY(${sql.array([...jobIds])}::text[])`;
  return new Map(
    rows.map((row) => [
      row['job_id'] as string,
      { done: row['chunks_done'] as number, total: row['chunks_total'] as number },
    ]),
  );
}

/** Find the unfinished job that makes the index of a bucket anew. */
export async function findReindexJob(sql: Sql, bucketId: string): Promise<string | null> {
  const [row] = await sql`
    SELECT id FROM jobs WHERE kind = 'reindex' AND bucket_id = ${bucketId} AND ${isUnfinished(sql)} LIMIT 1`;
  return (row?.['id'] as string | undefined) ?? null;
}

/**
 * Condition on a row `r` of `reprojections`: the run is at work, or will be taken over. A run of a job lives as long as
 * its job; one of a command as long as it says that it is alive.
 */
export function isRunAlive(sql: Sql): SqlFragment {
  return sql`(
    r.touched_at > now() - ${REINDEX_ALIVE_MS} * interval '1 millisecond'
    OR EXISTS (SELECT 1 FROM jobs WHERE jobs.id = r.job_id AND ${isUnfinished(sql)}))`;
}

/** In a transaction: give up the run of a job; the sweeps remove what it wrote. */
export async function dropReindexRunOfJob(tx: Sql, jobId: string): Promise<void> {
  const [row] = await tx`SELECT bucket_id FROM reprojections WHERE job_id = ${jobId} FOR UPDATE`;
  if (row) await dropReindexRun(tx, row['bucket_id'] as string);
}

/** In a transaction: what it wrote is left to the sweeps. */
export async function dropReindexRun(tx: Sql, bucketId: string): Promise<void> {
  const [row] = await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId} RETURNING table_name`;
  const tableName = row?.['table_name'] as string | null | undefined;
  if (tableName) await retireTable(tx, bucketId, tableName);
}

/**
 * Find buckets with a run that has not been heard of for long: a page of those behind `after`, in order of their ids.
 */
export async function findAbandonedReindexRuns(sql: Sql, after: string): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM reprojections r WHERE bucket_id > ${after} AND NOT ${isRunAlive(sql)}
    ORDER BY bucket_id LIMIT ${PAGE_ROWS}`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Return true if the bucket has a run that has not been heard of for long. */
export async function hasAbandonedReindexRun(sql: Sql, bucketId: string): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM reprojections r WHERE bucket_id = ${bucketId} AND NOT ${isRunAlive(sql)}`;
  return rows.length > 0;
}

/** In a transaction: no job of the bucket finishes until its end, since those hold the space of the index. */
export async function lockIndexTable(tx: Sql, bucketId: string): Promise<void> {
  await tx`SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} FOR UPDATE`;
}

/** In a transaction: from here on the bucket is searched in this table. */
export async function replaceTable(
  tx: Sql,
  { bucketId, tableName, origin }: ReindexRun,
  version: number,
): Promise<void> {
  const [row] = await tx`
    SELECT coalesce(table_name, bucket_id) AS name FROM index_tables WHERE bucket_id = ${bucketId}`;
  await tx`
    UPDATE index_tables SET table_name = ${tableName}, version = ${version}, settled = false, cleaned_at = now(),
           updated_at = now()
    WHERE bucket_id = ${bucketId}`;
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

/** Find tables that no search can be at any more: a page of those behind `after`, in order of their names. */
export async function findRetiredTables(
  sql: Sql,
  olderThanMs: number,
  after: string,
): Promise<{ bucketId: string; tableName: string }[]> {
  const rows = await sql`
    SELECT bucket_id, table_name FROM retired_index_tables
    WHERE table_name > ${after} AND retired_at < now() - ${olderThanMs} * interval '1 millisecond'
    ORDER BY table_name LIMIT ${PAGE_ROWS}`;
  return rows.map((row) => ({ bucketId: row['bucket_id'] as string, tableName: row['table_name'] as string }));
}

/** Tables of a bucket that nothing looks into any more, however lately they were replaced. */
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
