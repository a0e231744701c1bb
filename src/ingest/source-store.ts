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
  const rows = await sql<SourceRow[]>`
    SELECT job_id AS "jobId", documents.id AS "documentId", documents.org_id AS "orgId",
           documents.bucket_id AS "bucketId", documents.collection_id AS "collectionId",
           documents.file_name AS "fileName", content_type AS "contentType", size_bytes AS "sizeBytes",
           object_key AS "objectKey", ingest_options AS options, privacy_level AS "privacyLevel",
           event_time AS "eventTime", documents.file_type AS "fileType", page_count AS "pageCount",
           content_pending AS "isContentPending",
           coalesce(active_generation, stored_generation) IS NOT NULL AS "hasGeneration",
           index_tables.model, index_tables.revision, index_tables.space
    FROM ${jobs}
    JOIN jobs ON jobs.id = job_id AND jobs.fence = claimed.fence AND jobs.status = 'extracting'
    JOIN documents ON documents.org_id = claimed.org_id AND documents.id = claimed.document_id
    LEFT JOIN index_tables ON index_tables.bucket_id = documents.bucket_id AND ${hasFoundVectors(sql)}
    WHERE documents.status <> 'deleting'`;
  const sources = new Map(rows.map(({ jobId, ...row }) => [jobId, toSource(row)]));
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

interface SourceRow extends Omit<IngestSource, 'eventTimeMs' | 'origin'> {
  readonly jobId: string;
  readonly eventTime: Date | null;
  readonly model: string | null;
  readonly revision: string | null;
  readonly space: string | null;
}

function toSource({ eventTime, model, revision, space, ...document }: Omit<SourceRow, 'jobId'>): IngestSource {
  const origin = toOrigin({ model, revision, space });
  return { ...document, eventTimeMs: eventTime?.getTime() ?? null, origin };
}
