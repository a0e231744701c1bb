import type { Caller } from '../../access/caller.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';

/** Sampled document and its active generation. */
export interface SampledDocument {
  readonly id: string;
  readonly generation: number;
  readonly fileName: string;
}

/**
 * Sample documents of a bucket that the caller may see and that have vectors. Ordering by a hash of the id makes the
 * sample evenly spread and repeatable.
 *
 * @returns at most `documentsMax` documents, and the total number of documents
 */
export async function sampleDocuments(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  documentsMax: number,
): Promise<{ documents: SampledDocument[]; all: number }> {
  const rows = await sql`
    SELECT id, active_generation, file_name, count(*) OVER ()::int AS n FROM documents
    WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND active_generation IS NOT NULL AND searchable
      AND NOT keyword_only AND ${visibleTo(sql, caller)}
    ORDER BY hashtext(id), id LIMIT ${documentsMax}`;
  return {
    all: (rows[0]?.['n'] as number | undefined) ?? 0,
    documents: rows.map((row) => ({
      id: row['id'] as string,
      generation: Number(row['active_generation']),
      fileName: row['file_name'] as string,
    })),
  };
}
