import type { IngestOptions } from '../documents/schema.ts';
import type { Sql } from '../platform/postgres.ts';

/** What ingest needs of a document. */
export interface IngestSource {
  readonly documentId: string;
  readonly orgId: string;
  readonly bucketId: string;
  readonly collectionId: string | null;
  readonly fileName: string;
  readonly contentType: string | null;
  readonly sizeBytes: number;
  readonly objectKey: string;
  readonly options: IngestOptions;
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
}

/** Mark a document as being worked on and read it; null when it is gone or going. */
export async function beginIngest(sql: Sql, orgId: string, documentId: string): Promise<IngestSource | null> {
  const [row] = await sql`
    UPDATE documents SET status = CASE WHEN active_generation IS NULL THEN 'processing' ELSE status END, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting' RETURNING *`;
  if (!row) return null;
  return {
    documentId,
    orgId,
    bucketId: row['bucket_id'] as string,
    collectionId: row['collection_id'] as string | null,
    fileName: row['file_name'] as string,
    contentType: row['content_type'] as string | null,
    sizeBytes: Number(row['size_bytes']),
    objectKey: row['object_key'] as string,
    options: row['ingest_options'] as IngestOptions,
    privacyLevel: row['privacy_level'] as number,
    eventTimeMs: row['event_time'] instanceof Date ? row['event_time'].getTime() : null,
  };
}

export interface NewGeneration {
  readonly id: number;
  readonly orgId: string;
  readonly bucketId: string;
  readonly documentId: string;
  readonly jobId: string;
  readonly artifactKey: string;
  readonly chunksCount: number;
  readonly embedModel: string;
  readonly space: string;
}

/**
 * Make a generation known before anything of it is written, so that whatever a crash leaves can be swept.
 * False: the document is gone or going.
 */
export async function registerGeneration(sql: Sql, generation: NewGeneration): Promise<boolean> {
  const rows = await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT ${generation.id}, org_id, bucket_id, id, ${generation.jobId}, ${generation.artifactKey},
           ${generation.chunksCount}, ${generation.embedModel}, ${generation.space}
    FROM documents WHERE org_id = ${generation.orgId} AND id = ${generation.documentId} AND status <> 'deleting'
    FOR SHARE
    RETURNING 1`;
  return rows.length === 1;
}

/** Make a generation the one that searches find. False: the document is gone or going. */
export async function activateGeneration(
  sql: Sql,
  generation: NewGeneration,
  found: { fileType: string; pageCount: number | null },
): Promise<boolean> {
  const rows = await sql`
    UPDATE documents SET active_generation = ${generation.id}, status = 'ready', file_type = ${found.fileType},
           page_count = ${found.pageCount}, chunks_count = ${generation.chunksCount},
           embed_model = ${generation.embedModel}, updated_at = now()
    WHERE org_id = ${generation.orgId} AND id = ${generation.documentId} AND status <> 'deleting' RETURNING 1`;
  return rows.length === 1;
}

/** A document whose ingest failed for good stays findable if an earlier generation is live. */
export async function markIngestFailed(sql: Sql, orgId: string, documentId: string): Promise<void> {
  await sql`
    UPDATE documents SET status = CASE WHEN active_generation IS NULL THEN 'failed' ELSE 'ready' END, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting'`;
}

/** The chunk artifacts behind a bucket's live generations, in random order. */
export async function selectLiveArtifacts(
  sql: Sql,
  orgId: string,
  bucketId: string,
  limit: number,
): Promise<{ artifactKey: string }[]> {
  const rows = await sql<{ artifact_key: string }[]>`
    SELECT artifact_key FROM generations
    JOIN documents ON documents.active_generation = generations.id AND documents.id = generations.document_id
    WHERE documents.org_id = ${orgId} AND documents.bucket_id = ${bucketId} AND documents.status = 'ready'
    ORDER BY random() LIMIT ${limit}`;
  return rows.map((row) => ({ artifactKey: row.artifact_key }));
}
