import type { Sql } from '../../src/platform/postgres.ts';

/**
 * Register a generation of the document `doc_<id>`, as ingest does before it appends rows. Leave a registered one
 * unchanged.
 */
export async function registerGeneration(
  sql: Sql,
  generation: { id: number; orgId: string; bucketId: string; chunks?: number; space?: string },
): Promise<void> {
  const { id, orgId, bucketId, chunks = 1, space = 'lexical-1' } = generation;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    VALUES (${id}, ${orgId}, ${bucketId}, ${`doc_${id}`}, 'job_x', ${`a/${id}`}, ${chunks}, 'm', ${space})
    ON CONFLICT DO NOTHING`;
}
