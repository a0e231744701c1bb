import type { Caller } from '../access/caller.ts';
import type { IngestOptions } from '../documents/schema.ts';
import { visibleTo } from '../documents/visibility.ts';
import { isInProgress } from '../jobs/state-store.ts';
import type { HeldJob } from '../jobs/store.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { KEYWORD_ONLY } from '../projection/projections.ts';
import type { VectorFacts } from '../search/index-store.ts';

/** Fields of a document that ingest needs. */
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
  /** Format and pages as they were found before; null: not read yet, or a format without pages. */
  readonly fileType: string | null;
  readonly pageCount: number | null;
  /** True if what is stored of the document is of an earlier content. */
  readonly isContentPending: boolean;
  /** False if nothing is stored of its chunks and vectors, as for a new document. */
  readonly hasGeneration: boolean;
}

/**
 * Mark a document as being processed by a held job and read it; null if it is deleted or being deleted, or the job is
 * no longer held. The row of the job is locked first: a cancellation sets the status of the document either after this
 * statement, or before it, and then this statement changes nothing.
 */
export async function beginIngest(
  sql: Sql,
  orgId: string,
  documentId: string,
  held: HeldJob,
): Promise<IngestSource | null> {
  const [row] = await sql`
    WITH held AS (
      SELECT 1 FROM jobs WHERE id = ${held.id} AND fence = ${held.fence} AND status = 'extracting' FOR SHARE)
    UPDATE documents SET status = CASE WHEN active_generation IS NULL THEN 'processing' ELSE status END, updated_at = now()
    FROM held
    WHERE org_id = ${orgId} AND id = ${documentId} AND documents.status <> 'deleting' RETURNING documents.*`;
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
    fileType: row['file_type'] as string | null,
    pageCount: row['page_count'] as number | null,
    isContentPending: row['content_pending'] as boolean,
    hasGeneration: row['active_generation'] !== null || row['stored_generation'] !== null,
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
  /** Revision of the model; null if no native vectors are stored. */
  readonly embedRevision: string | null;
  readonly space: string;
  /** Version of the map; null if the vectors are uncalibrated. */
  readonly mapVersion: number | null;
  /** Dimension of the native vectors; null if the artifact has none. */
  readonly nativeDimension: number | null;
  /** Generation that it was reprojected from; null if it is of an ingest job. */
  readonly replaces: number | null;
}

/**
 * Register a generation before anything of it is written, so that remains of a crash can be swept. False if the
 * document is deleted or being deleted.
 */
export async function registerGeneration(sql: Sql, generation: NewGeneration): Promise<boolean> {
  const { id, orgId, documentId, jobId, replaces } = generation;
  // PostgreSQL plans this once, and the statement for many generations each time, which takes longer than to run it.
  const rows = await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model,
                             embed_revision, space, map_version, native_dimension, replaces)
    SELECT ${id}::bigint, org_id, bucket_id, id, ${jobId}::text, ${generation.artifactKey}::text,
           ${generation.chunksCount}::integer, ${generation.embedModel}::text, ${generation.embedRevision}::text,
           ${generation.space}::text, ${generation.mapVersion}::integer, ${generation.nativeDimension}::integer,
           ${replaces}::bigint
    FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting'
    FOR SHARE
    RETURNING 1`;
  return rows.length === 1;
}

/**
 * Register generations of different documents before anything of them is written.
 *
 * @returns ids of those whose document is neither deleted nor being deleted
 */
export async function registerGenerations(
  sql: Sql,
  orgId: string,
  generations: readonly NewGeneration[],
): Promise<Set<number>> {
  // PostgreSQL expects a hundred rows in JSON, for which it would read all documents. It expects few in an array.
  const documentIds = generations.map(({ documentId }) => documentId);
  const rows = await sql<{ id: string }[]>`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model,
                             embed_revision, space, map_version, native_dimension, replaces)
    SELECT given.id, documents.org_id, documents.bucket_id, documents.id, "jobId", "artifactKey", "chunksCount",
           "embedModel", "embedRevision", given.space, "mapVersion", "nativeDimension", given.replaces
    FROM jsonb_to_recordset(${sql.json(generations as never)}) AS given (
           id bigint, "documentId" text, "jobId" text, "artifactKey" text, "chunksCount" integer, "embedModel" text,
           "embedRevision" text, space text, "mapVersion" integer, "nativeDimension" integer, replaces bigint)
    JOIN documents ON documents.org_id = ${orgId} AND documents.id = given."documentId"
    WHERE documents.id = ANY(${documentIds}::text[]) AND documents.status <> 'deleting'
    ORDER BY documents.id
    FOR SHARE OF documents
    RETURNING id`;
  return new Set(rows.map((row) => Number(row.id)));
}

/**
 * Make a generation the one that searches find. If search is disabled for the document, no generation becomes active.
 * False if the document is deleted or being deleted.
 */
export async function activateGeneration(
  sql: Sql,
  generation: NewGeneration,
  found: { fileType: string; pageCount: number | null },
): Promise<boolean> {
  const rows = await sql`
    UPDATE documents SET active_generation = CASE WHEN searchable THEN ${generation.id}::bigint END, stored_generation = NULL,
           status = 'ready', keyword_only = false, content_pending = false, error_message = NULL,
           file_type = ${found.fileType}, page_count = ${found.pageCount},
           chunks_count = CASE WHEN searchable THEN ${generation.chunksCount}::integer END,
           embed_model = ${generation.embedModel}, updated_at = now()
    WHERE org_id = ${generation.orgId} AND id = ${generation.documentId} AND status <> 'deleting' RETURNING 1`;
  return rows.length === 1;
}

/** Select the chunk artifacts of the live generations of a bucket, in random order. */
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

/** Facts of the stored vectors of a document. */
export interface StoredGeneration extends VectorFacts {
  readonly artifactKey: string;
  readonly chunksCount: number;
}

/** Find the generation whose vectors are stored for a document: the live one, or the one that an edit took out. */
export async function findStoredGeneration(
  sql: Sql,
  orgId: string,
  documentId: string,
): Promise<StoredGeneration | null> {
  const [row] = await sql`
    SELECT g.artifact_key, g.chunks_count, g.embed_model, g.embed_revision, g.space, g.map_version, g.native_dimension
    FROM documents JOIN generations g ON g.id = coalesce(active_generation, stored_generation)
    WHERE documents.org_id = ${orgId} AND documents.id = ${documentId} AND g.space <> ${KEYWORD_ONLY}`;
  if (!row) return null;
  return {
    artifactKey: row['artifact_key'] as string,
    chunksCount: row['chunks_count'] as number,
    model: row['embed_model'] as string,
    revision: row['embed_revision'] as string | null,
    space: row['space'] as string,
    mapVersion: row['map_version'] === null ? null : Number(row['map_version']),
    nativeDimension: row['native_dimension'] as number | null,
  };
}

/** Document whose text the caller may read, and where that text is. */
export interface ReadableDocument {
  readonly id: string;
  readonly bucketId: string;
  readonly fileName: string;
  readonly sourcePath: string | null;
  /** Object with the chunks that searches find; null: there are none yet. */
  readonly artifactKey: string | null;
}

/** @throws AppError `document_not_found` (404): missing, foreign, or not for the caller to see */
export async function findReadableDocument(
  sql: Sql,
  caller: Caller,
  document: { readonly id: string; readonly bucketId?: string },
): Promise<ReadableDocument> {
  const [row] = await sql`
    SELECT documents.id, documents.bucket_id, documents.file_name, documents.source_path, generations.artifact_key
    FROM documents JOIN buckets ON buckets.id = documents.bucket_id
    LEFT JOIN generations ON generations.id = documents.active_generation
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ${document.id} AND ${visibleTo(sql, caller)}
      ${document.bucketId === undefined ? sql`` : sql`AND documents.bucket_id = ${document.bucketId}`}
      AND buckets.deleting_at IS NULL`;
  if (!row) throw notFound('document', document.id);
  return {
    id: row['id'] as string,
    bucketId: row['bucket_id'] as string,
    fileName: row['file_name'] as string,
    sourcePath: row['source_path'] as string | null,
    artifactKey: row['artifact_key'] as string | null,
  };
}

/** Return true if no search finds a document, although it is searchable. */
export async function isUnfound(sql: Sql, orgId: string, documentId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND active_generation IS NULL AND searchable
      AND status <> 'deleting'`;
  return rows.length > 0;
}

/** Keep a job from being finished or taken over until the transaction ends. Return false if it is no longer held. */
export async function lockHeldJob(tx: Sql, { id, fence }: HeldJob): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM jobs WHERE id = ${id} AND fence = ${fence} AND ${isInProgress(tx)} FOR SHARE`;
  return rows.length > 0;
}

/** Make a generation without vectors live for a document that no search finds; the document is listed as failed. */
export async function updateToKeywordOnly(
  tx: Sql,
  { id, orgId, documentId, chunksCount }: NewGeneration,
  found: { readonly format: string; readonly pages: number | null; readonly reason: string },
): Promise<void> {
  await tx`
    UPDATE documents SET active_generation = ${id}::bigint, keyword_only = true, content_pending = false,
           chunks_count = ${chunksCount},
           status = 'failed', error_message = ${found.reason}, embed_model = NULL, file_type = ${found.format},
           page_count = ${found.pages}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND active_generation IS NULL AND searchable
      AND status <> 'deleting'`;
}
