import type { Sql } from '../platform/postgres.ts';

/** A run that has not been heard of for so long is given up. */
export const REPROJECTION_ALIVE_MS = 3_600_000;
/** A run that was killed is taken up again until then: well before the sweep may touch what it wrote. */
const RESUMABLE_MS = REPROJECTION_ALIVE_MS / 2;

/** A bucket whose vectors are being projected anew. */
export interface Reprojection {
  readonly id: string;
  readonly bucketId: string;
  /** The table that will take the place of the bucket's; null: rows go to the bucket's own. */
  readonly tableName: string | null;
  readonly space: string;
}

/** Null: none is under way. */
export async function findReprojection(sql: Sql, bucketId: string): Promise<Reprojection | null> {
  const [row] = await sql`SELECT * FROM reprojections WHERE bucket_id = ${bucketId}`;
  return row ? toReprojection(row) : null;
}

/** One of the bucket that was killed, in the same direction and not long ago. Null: there is none. */
export async function findResumable(sql: Sql, bucketId: string, space: string): Promise<Reprojection | null> {
  const [row] = await sql`
    UPDATE reprojections SET touched_at = now()
    WHERE bucket_id = ${bucketId} AND space = ${space} AND table_name IS NOT NULL
      AND touched_at > now() - ${RESUMABLE_MS} * interval '1 millisecond'
    RETURNING *`;
  return row ? toReprojection(row) : null;
}

/** In a transaction: one that is still there is given up. */
export async function startReprojection(tx: Sql, reprojection: Reprojection): Promise<void> {
  const { id, bucketId, tableName, space } = reprojection;
  await dropReprojection(tx, bucketId);
  await tx`
    INSERT INTO reprojections (id, bucket_id, table_name, space) VALUES (${id}, ${bucketId}, ${tableName}, ${space})`;
}

/** A sign of life. False: the run was given up, or its bucket is gone. */
export async function touchReprojection(sql: Sql, id: string): Promise<boolean> {
  return (await sql`UPDATE reprojections SET touched_at = now() WHERE id = ${id} RETURNING 1`).length > 0;
}

/** In a transaction: what it wrote is left to the sweeps. */
export async function dropReprojection(tx: Sql, bucketId: string): Promise<void> {
  const [row] = await tx`DELETE FROM reprojections WHERE bucket_id = ${bucketId} RETURNING table_name`;
  const tableName = row?.['table_name'] as string | null | undefined;
  if (tableName) await retireTable(tx, bucketId, tableName);
}

/** Buckets with a run that has not been heard of for long. */
export async function findAbandonedReprojections(sql: Sql): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM reprojections
    WHERE touched_at < now() - ${REPROJECTION_ALIVE_MS} * interval '1 millisecond' LIMIT 100`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** In a transaction: no job of the bucket finishes until its end, since those hold the space of the index. */
export async function lockIndexTable(tx: Sql, bucketId: string): Promise<void> {
  await tx`SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} FOR UPDATE`;
}

/** In a transaction: from here on the bucket is searched in this table. */
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

/** Tables that no search can be at any more. */
export async function findRetiredTables(
  sql: Sql,
  olderThanMs: number,
): Promise<{ bucketId: string; tableName: string }[]> {
  const rows = await sql`
    SELECT bucket_id, table_name FROM retired_index_tables
    WHERE retired_at < now() - ${olderThanMs} * interval '1 millisecond' LIMIT 100`;
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

function toReprojection(row: Record<string, unknown>): Reprojection {
  return {
    id: row['id'] as string,
    bucketId: row['bucket_id'] as string,
    tableName: row['table_name'] as string | null,
    space: row['space'] as string,
  };
}
