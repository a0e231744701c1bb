import type { Sql } from '../platform/postgres.ts';

/** Count a bucket's documents other than those with these paths. */
export async function countOtherDocuments(
  sql: Sql,
  orgId: string,
  bucketId: string,
  paths: readonly string[],
): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    SELECT count(*)::int AS n FROM documents
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND status <> 'deleting'
      AND (source_path IS NULL OR source_path <> ALL(${sql.array([...paths])}::text[]))`;
  return row.n;
}

/** Return those of the paths that a document of the bucket has. */
export async function selectPaths(
  sql: Sql,
  orgId: string,
  bucketId: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ source_path: string }[]>`
    SELECT DISTINCT source_path FROM documents
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND status <> 'deleting'
      AND source_path = ANY(${sql.array([...paths])}::text[])`;
  return new Set(rows.map((row) => row.source_path));
}
