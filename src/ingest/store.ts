import type { Caller } from '../access/caller.ts';
import { visibleTo } from '../documents/visibility.ts';
import { type VectorFacts, vectorColumns } from '../index/index-store.ts';
import { storedMessage } from '../jobs/failure-message.ts';
import { type HeldJob, isHeldJob } from '../jobs/store.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { KEYWORD_ONLY } from '../projection/projections.ts';
import type { NewGeneration } from './generation-store.ts';

/** Select the chunk artifacts of a bucket's live generations with text, in random order. */
export async function selectLiveArtifacts(
  sql: Sql,
  orgId: string,
  bucketId: string,
  limit: number,
): Promise<{ artifactKey: string }[]> {
  return sql<{ artifactKey: string }[]>`
    SELECT artifact_key AS "artifactKey" FROM generations
    JOIN documents ON documents.active_generation = generations.id AND documents.id = generations.document_id
    WHERE documents.org_id = ${orgId} AND documents.bucket_id = ${bucketId} AND documents.status = 'ready'
      AND has_text
    ORDER BY random() LIMIT ${limit}`;
}

export interface StoredGeneration extends VectorFacts {
  readonly artifactKey: string;
  readonly chunksCount: number;
}

/** Return the generation with a document's stored vectors: the live one, or the one taken out of search by an edit. */
export async function findStoredGeneration(
  sql: Sql,
  orgId: string,
  documentId: string,
): Promise<StoredGeneration | null> {
  const [row] = await sql<StoredGeneration[]>`
    SELECT g.artifact_key AS "artifactKey", g.chunks_count AS "chunksCount", ${vectorColumns(sql)}
    FROM documents JOIN generations g ON g.id = coalesce(active_generation, stored_generation)
    WHERE documents.org_id = ${orgId} AND documents.id = ${documentId} AND g.space <> ${KEYWORD_ONLY}`;
  return row ?? null;
}

/** Document whose text the caller may read, with the location of that text. */
export interface ReadableDocument {
  readonly id: string;
  readonly bucketId: string;
  readonly fileName: string;
  readonly sourcePath: string | null;
  readonly pageCount: number | null;
  /** Number of chunks; 0 if there are none yet. */
  readonly chunksCount: number;
  /** Object key of the searchable chunks; null if there are none yet. */
  readonly artifactKey: string | null;
}

/**
 * Find a document whose text the caller may read.
 * @throws AppError `document_not_found` (404) if it is missing, of another organization, or hidden
 */
export async function findReadableDocument(
  sql: Sql,
  caller: Caller,
  document: { readonly id: string; readonly bucketId?: string },
): Promise<ReadableDocument> {
  const [row] = await sql<ReadableDocument[]>`
    SELECT documents.id, documents.bucket_id AS "bucketId", documents.file_name AS "fileName",
           documents.source_path AS "sourcePath", documents.page_count AS "pageCount",
           generations.artifact_key AS "artifactKey", coalesce(generations.chunks_count, 0) AS "chunksCount"
    FROM documents JOIN buckets ON buckets.id = documents.bucket_id
    LEFT JOIN generations ON generations.id = documents.active_generation
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ${document.id} AND ${visibleTo(sql, caller)}
      ${document.bucketId === undefined ? sql`` : sql`AND documents.bucket_id = ${document.bucketId}`}
      AND buckets.deleting_at IS NULL`;
  if (!row) throw notFound('document', document.id);
  return row;
}

/** Return true if no search finds a document although it is searchable. */
export async function isUnfound(sql: Sql, orgId: string, documentId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND active_generation IS NULL AND searchable
      AND status <> 'deleting'`;
  return rows.length > 0;
}

/** Prevent a job from being finished or taken over until the transaction ends. Return false if it is no longer held. */
export async function lockHeldJob(tx: Sql, held: HeldJob): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM jobs WHERE ${isHeldJob(tx, held)} FOR SHARE`;
  return rows.length > 0;
}

/** Make a generation without vectors live for a document that no search finds. List the document as failed. */
export async function updateToKeywordOnly(
  tx: Sql,
  { id, orgId, documentId, chunksCount }: NewGeneration,
  found: { readonly format: string; readonly pages: number | null; readonly reason: string },
): Promise<void> {
  await tx`
    UPDATE documents SET active_generation = ${id}::bigint, keyword_only = true, content_pending = false,
           chunks_count = ${chunksCount},
           status = 'failed', error_message = ${storedMessage(found.reason)}, embed_model = NULL, file_type = ${found.format},
           page_count = ${found.pages}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND active_generation IS NULL AND searchable
      AND status <> 'deleting'`;
}
