import type { Sql } from '../platform/postgres.ts';

/** Time without a heartbeat after which a run is given up. */
export const REPROJECTION_ALIVE_MS = 3_600_000;
/** Time within which a killed run can be resumed: well before the sweep may remove what it wrote. */
const RESUMABLE_MS = REPROJECTION_ALIVE_MS / 2;

/** Reprojection of a bucket's vectors that is in progress. */
export interface Reprojection {
  readonly id: string;
  readonly bucketId: string;
  /** Table that will replace the bucket's own; null if rows are written to the bucket's own. */
  readonly tableName: string | null;
  readonly space: string;
}

/** Find the bucket's reprojection in progress; null if there is none. */
export async function findReprojection(sql: Sql, bucketId: string): Promise<Reprojection | null> {
  const [row] = await sql`SELECT * FROM reprojections WHERE bucket_id = ${bucketId}`;
  return row ? toReprojection(row) : null;
}

/** Find a recently killed run of the bucket into the same space, and mark it as alive; null if there is none. */
export async function findResumable(sql: Sql, bucketId: string, space: string): Promise<Reprojection | null> {
  const [row] = await sql`
    UPDATE reprojections SET touched_at = now()
    WHERE bucket_id = ${bucketId} AND space = ${space} AND table_name IS NOT NULL
      AND touched_at > now() - ${RESUMABLE_MS} * interval '1 millisecond'
    RETURNING *`;
  return row ? toReprojection(row) : null;
}

/** Record a new run; one that still exists is given up. Call in a transaction. */
export async function startReprojection(tx: Sql, reprojection: Reprojection): Promise<void> {
  const { id, bucketId, tableName, space } = reprojection;
  await dropReprojection(tx, bucketId);
  await tx`
    INSERT INTO reprojections (id, bucket_id, table_name, space) VALUES (${id}, ${bucketId}, ${tableName}, ${space})`;
}

/** Record a heartbeat of a run. Return false if the run was given up or its bucket is gone. */
export async function touchReprojection(sql: Sql, id: string): Promise<boolean> {
  return (await sql`UPDATE reprojections SET touched_at = now() WHERE id = ${id} RETURNING 1`).length > 0;
}

/** Give up the bucket's run; the sweeps remove what it wrote. Call in a transaction. */
export async function dropReprojection(tx: Sql, bucketId: string): Promise<void> {
  const [row] = await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId} RETURNING table_name`;
  const tableName = row?.['table_name'] as string | null | undefined;
  if (tableName) await retireTable(tx, bucketId, tableName);
}

/** Find buckets whose run has had no heartbeat for too long. */
export async function findAbandonedReprojections(sql: Sql): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM reprojections
    WHERE touched_at < now() - ${REPROJECTION_ALIVE_MS} * interval '1 millisecond' LIMIT 100`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Keep jobs of the bucket from finishing until the transaction ends, since they lock the space of the index. */
export async function lockIndexTable(tx: Sql, bucketId: string): Promise<void> {
  await tx`SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} FOR UPDATE`;
}

/** Make this the table in which the bucket is searched. Call in a transaction. */
export async function replaceTable(
  tx: Sql,
  { bucketId, tableName, space }: Reprojection,
  version: number,
): Promise<void> {
  const [row] = await tx`
    SELECT coalesce(table_name, bucket_id) AS name FROM index_tables WHERE bucket_id = ${bucketId}`;
  await tx`
    UPDATE index_tables SET table_name = ${tableName}, version = ${version}, space = ${space}, settled = false,
           cleaned_at = now(), updated_at = now()
    WHERE bucket_id = ${bucketId}`;
  await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId}`;
  await retireTable(tx, bucketId, row?.['name'] as string);
}

async function retireTable(tx: Sql, bucketId: string, tableName: string): Promise<void> {
  await tx`
    INSERT INTO retired_index_tables (table_name, bucket_id) VALUES (${tableName}, ${bucketId})
    ON CONFLICT (table_name) DO NOTHING`;
}

/** Find replaced tables that no search can use any more. */
export async function findRetiredTables(
  sql: Sql,
  olderThanMs: number,
): Promise<{ bucketId: string; tableName: string }[]> {
  const rows = await sql`
    SELECT bucket_id, table_name FROM retired_index_tables
    WHERE retired_at < now() - ${olderThanMs} * interval '1 millisecond' LIMIT 100`;
  return rows.map((row) => ({ bucketId: row['bucket_id'] as string, tableName: row['table_name'] as string }));
}

/** Find all replaced tables of a bucket, regardless of their age. */
export async function findRetiredTablesOf(sql: Sql, bucketId: string): Promise<string[]> {
  const rows = await sql`SELECT table_name FROM retired_index_tables WHERE bucket_id = ${bucketId}`;
  return rows.map((row) => row['table_name'] as string);
}

export async function forgetRetiredTable(sql: Sql, tableName: string): Promise<void> {
  await sql`DELETE FROM retired_index_tables WHERE table_name = ${tableName}`;
}

function toReprojection(row: Record<string, unknown>): Reprojection {
  return {
    id: row['id'] as string,
    bucketId: row['bucket_id'] as string,
    tableName: row['table_name'] as string | null,
    space: row['space'] as string,
  };
}
