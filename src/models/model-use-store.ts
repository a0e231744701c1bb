import type { Sql } from '../platform/postgres.ts';

/** Names that a refusal lists at most. */
const NAMED_MAX = 20;

/** Select the names of the buckets, of every organization, whose vectors one of the models made: at most 20. */
export async function selectBucketsOfModels(sql: Sql, models: readonly string[]): Promise<string[]> {
  const rows = await sql`
    SELECT b.name FROM index_tables t JOIN buckets b ON b.id = t.bucket_id
    WHERE t.model IN ${sql(['', ...models])} AND b.deleting_at IS NULL ORDER BY b.name LIMIT ${NAMED_MAX}`;
  return rows.map((row) => row['name'] as string);
}
