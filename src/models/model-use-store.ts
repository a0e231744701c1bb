import type { Sql } from '../platform/postgres.ts';

/** Maximum number of names in a refusal. */
const NAMED_MAX = 20;

/** Select the names of at most 20 buckets, across all organizations, whose vectors come from one of the models. */
export async function selectBucketsOfModels(sql: Sql, models: readonly string[]): Promise<string[]> {
  const rows = await sql`
    SELECT b.name FROM index_tables t JOIN buckets b ON b.id = t.bucket_id
    WHERE t.model IN ${sql(['', ...models])} AND b.deleting_at IS NULL ORDER BY b.name LIMIT ${NAMED_MAX}`;
  return rows.map((row) => row['name'] as string);
}
