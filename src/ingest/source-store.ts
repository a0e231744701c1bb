import type { IngestOptions } from '../documents/schema.ts';
import type { VectorOrigin } from '../embedding/model-choice.ts';
import { hasFoundVectors, toOrigin } from '../index/index-store.ts';
import { type HeldJob, isHeldJob } from '../jobs/store.ts';
import { valueRows } from '../platform/postgres/value-rows.ts';
import type { Sql } from '../platform/postgres.ts';

/** Document fields that ingest needs. */
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
  /** Format and page count from an earlier extraction; null before the first one, or for a format without pages. */
  readonly fileType: string | null;
  readonly pageCount: number | null;
  /** True if the stored chunks are from earlier content. */
  readonly isContentPending: boolean;
  /** False if no chunks or vectors are stored, as for a new document. */
  readonly hasGeneration: boolean;
  /** Model and space of the bucket's searchable vectors; null if there are none. */
  readonly origin: VectorOrigin | null;
}

/** Job claimed by a worker, with its document. */
export interface ClaimedIngest {
  readonly held: HeldJob;
  readonly orgId: string;
  readonly documentId: string;
}

/**
 * Read the documents of held jobs.
 * @returns a document for each job; null if it is deleted or being deleted, or the job is no longer held
 */
export async function findSources(sql: Sql, claimed: readonly ClaimedIngest[]): Promise<(IngestSource | null)[]> {
  const jobs = valueRows(sql, 'claimed', claimed, {
    job_id: ['text', ({ held }) => held.id],
    fence: ['bigint', ({ held }) => held.fence],
    org_id: ['text', ({ orgId }) => orgId],
    document_id: ['text', ({ documentId }) => documentId],
  });
  const rows = await sql`
    SELECT job_id, documents.id, documents.org_id, documents.bucket_id, documents.collection_id, documents.file_name,
           content_type, size_bytes, object_key, ingest_options, privacy_level, event_time, documents.file_type,
           page_count, content_pending, active_generation, stored_generation, index_tables.model,
           index_tables.revision, index_tables.space
    FROM ${jobs}
    JOIN jobs ON jobs.id = job_id AND jobs.fence = claimed.fence AND jobs.status = 'extracting'
    JOIN documents ON documents.org_id = claimed.org_id AND documents.id = claimed.document_id
    LEFT JOIN index_tables ON index_tables.bucket_id = documents.bucket_id AND ${hasFoundVectors(sql)}
    WHERE documents.status <> 'deleting'`;
  const sources = new Map(rows.map((row) => [row['job_id'] as string, toSource(row)]));
  return claimed.map(({ held }) => sources.get(held.id) ?? null);
}

/**
 * Mark the document of a held job as being processed if searches don't find it. Lock the job's row first, so that this
 * has no effect if a cancellation has already set the document's status.
 */
export async function markProcessing(sql: Sql, { held, orgId, documentId }: ClaimedIngest): Promise<void> {
  await sql`
    WITH held AS (SELECT 1 FROM jobs WHERE ${isHeldJob(sql, held)} FOR SHARE)
    UPDATE documents SET status = 'processing', updated_at = now() FROM held
    WHERE org_id = ${orgId} AND id = ${documentId} AND active_generation IS NULL AND documents.status <> 'deleting'`;
}

function toSource(row: Readonly<Record<string, unknown>>): IngestSource {
  return {
    documentId: row['id'] as string,
    orgId: row['org_id'] as string,
    bucketId: row['bucket_id'] as string,
    collectionId: row['collection_id'] as string | null,
    fileName: row['file_name'] as string,
    contentType: row['content_type'] as string | null,
    sizeBytes: Number(row['size_bytes']),
    objectKey: row['object_key'] as string,
    options: row['ingest_options'] as IngestOptions,
    privacyLevel: row['privacy_level'] as number,
    eventTimeMs: row['event_time'] instanceof Date ? row['event_time'].getTime() : null,
    fileType: row['file_type'] as string | null,
    pageCount: row['page_count'] as number | null,
    isContentPending: row['content_pending'] as boolean,
    hasGeneration: row['active_generation'] !== null || row['stored_generation'] !== null,
    origin: toOrigin(row),
  };
}
