import type { Sql } from '../platform/postgres.ts';

/** Documents added to the entire installation in a period. */
export interface Growth {
  readonly fileBytes: number;
  readonly chunks: number;
  /** Time since the first of them, at most the requested period. */
  readonly overMs: number;
}

/** Sum the documents of the last `days` days, across all organizations. */
export async function selectGrowth(sql: Sql, days: number): Promise<Growth> {
  const [row] = await sql`
    SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes, coalesce(sum(chunks_count), 0)::bigint AS chunks,
           coalesce(extract(epoch FROM now() - min(created_at)) * 1000, 0)::float8 AS over_ms
    FROM documents WHERE created_at > now() - ${days} * interval '1 day'`;
  return { fileBytes: row?.['bytes'] as number, chunks: row?.['chunks'] as number, overMs: row?.['over_ms'] as number };
}

/** Count the searchable documents of the entire installation in buckets with a model. */
export async function countDocumentsOfModel(sql: Sql, model: string): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS n
    FROM documents JOIN index_tables ON index_tables.bucket_id = documents.bucket_id
    WHERE documents.active_generation IS NOT NULL AND index_tables.model = ${model}`;
  return row?.['n'] as number;
}
