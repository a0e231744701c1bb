import type { Caller } from '../access/caller.ts';
import { isUnfinished } from '../jobs/state-store.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type ReadableFields, visibleTo } from './visibility.ts';

/** Document marked as deleted, but not yet removed. */
export interface MarkedDocument {
  readonly id: string;
  readonly orgId: string;
  readonly bucketId: string;
  /** Number of chunks in its last generation. */
  readonly chunksCount: number;
  /** Job of its hard delete; null for any other deletion. */
  readonly hardDeleteJobId: string | null;
}

/** Mark a bucket as deleted, and free its name at once for a new bucket. */
export async function markBucketDeleting(sql: Sql, orgId: string, bucketId: string): Promise<void> {
  await sql`
    UPDATE buckets SET deleting_at = now(), name = id, updated_at = now() WHERE org_id = ${orgId} AND id = ${bucketId}`;
}

/** Mark every document of a bucket as deleted, so that no reader finds it. */
export async function markBucketDocuments(sql: Sql, orgId: string, bucketId: string): Promise<void> {
  await sql`
    UPDATE documents
    SET status = 'deleting', active_generation = NULL, hard_delete_job_id = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId}`;
}

/**
 * Mark documents as deleted. `hardDeleteJobId` is the job that removes them. Their vectors stay until it starts, since
 * it may be cancelled.
 */
export async function markDocuments(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
  hardDeleteJobId: string | null = null,
): Promise<void> {
  await sql`
    UPDATE documents
    SET status = 'deleting', active_generation = NULL, hard_delete_job_id = ${hardDeleteJobId}, updated_at = now(),
        stored_generation = CASE WHEN ${hardDeleteJobId}::text IS NOT NULL
          THEN coalesce(active_generation, stored_generation) END
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) AND status <> 'deleting'`;
}

/**
 * Find marked documents of all organizations, except those of an unfinished hard delete, ordered by bucket and id. This
 * order makes processes that remove the same documents lock them in the same order.
 *
 * @param exceptBuckets ids of buckets to skip
 */
export async function findMarked(
  sql: Sql,
  limit: number,
  exceptBuckets: readonly string[] = [],
): Promise<MarkedDocument[]> {
  return sql<MarkedDocument[]>`
    SELECT ${markedColumns(sql)} FROM documents
    WHERE status = 'deleting' AND NOT EXISTS (
      SELECT 1 FROM jobs WHERE jobs.id = documents.hard_delete_job_id
        AND ${isUnfinished(sql)})
      AND bucket_id <> ALL(${sql.array([...exceptBuckets])}::text[])
    ORDER BY bucket_id, id LIMIT ${limit}`;
}

/** Find the documents that share the bytes of a file, and whether the caller may see each of them. */
export async function findDocumentsOfFile(
  sql: Sql,
  caller: Caller,
  objectKey: string,
): Promise<{ id: string; isVisible: boolean }[]> {
  return sql<{ id: string; isVisible: boolean }[]>`
    SELECT id, (${visibleTo(sql, caller)}) IS TRUE AS "isVisible" FROM documents
    WHERE object_key = ${objectKey} AND object_key LIKE 'files/%' AND org_id = ${caller.orgId}
      AND status <> 'deleting'`;
}

/** Find the keys of files whose bytes no other documents need. */
export async function findUnsharedFiles(sql: Sql, documentIds: readonly string[]): Promise<string[]> {
  const ids = sql.array([...documentIds]);
  const rows = await sql`
    SELECT DISTINCT object_key FROM documents
    WHERE id = ANY(${ids}::text[]) AND object_key LIKE 'files/%'
      AND NOT EXISTS (SELECT 1 FROM files WHERE files.object_key = documents.object_key)
      AND NOT EXISTS (
        SELECT 1 FROM documents AS other
        WHERE other.object_key = documents.object_key AND other.object_key LIKE 'files/%'
          AND other.id <> ALL(${ids}::text[]) AND (other.status <> 'deleting' OR other.hard_delete_job_id IS NOT NULL))`;
  return rows.map((row) => row['object_key'] as string);
}

/** Find the documents that a hard delete still has to remove, by id. */
export async function findMarkedBy(sql: Sql, orgId: string, hardDeleteJobId: string): Promise<MarkedDocument[]> {
  return sql<MarkedDocument[]>`
    SELECT ${markedColumns(sql)} FROM documents
    WHERE org_id = ${orgId} AND hard_delete_job_id = ${hardDeleteJobId} AND status = 'deleting' ORDER BY id`;
}

/** Compute hexadecimal hashes of the names and bytes of these documents, which identify their files. */
export async function findFileHashes(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
): Promise<{ id: string; fileNameSha256: string; sha256: string }[]> {
  return sql<{ id: string; fileNameSha256: string; sha256: string }[]>`
    SELECT id, encode(sha256, 'hex') AS sha256,
           encode(sha256(convert_to(file_name, 'UTF8')), 'hex') AS "fileNameSha256"
    FROM documents WHERE org_id = ${orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) ORDER BY id`;
}

/** Read the fields that decide who may read documents, by id. Omit deleted documents. */
export async function readAccessFields(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
): Promise<Record<string, ReadableFields>> {
  const rows = await sql`
    SELECT id, privacy_level, scope, classification, public_accessible, access_list
    FROM documents WHERE org_id = ${orgId} AND id = ANY(${sql.array([...documentIds])}::text[])`;
  return Object.fromEntries(rows.map(({ id, ...fields }) => [id as string, fields as unknown as ReadableFields]));
}

/** Document that its hard delete no longer removes, with the fields for its next job. */
export interface UnmarkedDocument {
  readonly id: string;
  readonly collectionId: string | null;
  readonly isSearchable: boolean;
  readonly objectKey: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly sourcePath: string | null;
  readonly metadata: Record<string, string>;
}

/**
 * Remove the marks of a hard delete that hasn't started. Documents that were searchable become queued, since a job must
 * make them searchable again. The others keep their status.
 */
export async function unmarkDocuments(
  tx: Sql,
  orgId: string,
  bucketId: string,
  hardDeleteJobId: string,
): Promise<UnmarkedDocument[]> {
  // Lock first, in the same order as edits.
  return tx<UnmarkedDocument[]>`
    WITH own AS MATERIALIZED (
      SELECT id FROM documents
      WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND hard_delete_job_id = ${hardDeleteJobId}
        AND status = 'deleting'
      ORDER BY id FOR UPDATE)
    UPDATE documents
    SET status = CASE WHEN searchable THEN 'queued' WHEN file_type IS NULL THEN 'failed' ELSE 'ready' END,
        hard_delete_job_id = NULL, updated_at = now()
    FROM own WHERE documents.id = own.id
    RETURNING documents.id, collection_id AS "collectionId", searchable AS "isSearchable", object_key AS "objectKey",
              file_name AS "fileName", size_bytes AS "sizeBytes", source_path AS "sourcePath", metadata`;
}

/** Move the remaining documents of a hard delete to another one. */
export async function transferMarked(sql: Sql, orgId: string, fromJobId: string, toJobId: string): Promise<void> {
  await sql`
    UPDATE documents SET hard_delete_job_id = ${toJobId}
    WHERE org_id = ${orgId} AND hard_delete_job_id = ${fromJobId}`;
}

/** Unregister the generations of documents, so that no writer can add their chunks to the index. */
export async function forgetGenerationsOf(sql: Sql, documentIds: readonly string[]): Promise<void> {
  await sql`DELETE FROM generations WHERE document_id = ANY(${sql.array([...documentIds])}::text[])`;
}

export async function removeDocuments(sql: Sql, orgId: string, documentIds: readonly string[]): Promise<void> {
  await sql`
    DELETE FROM documents
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) AND status = 'deleting'`;
}

/** Find deleted buckets without documents. */
export async function findEmptiedBuckets(sql: Sql): Promise<{ id: string; orgId: string }[]> {
  return sql<{ id: string; orgId: string }[]>`
    SELECT id, org_id AS "orgId" FROM buckets b WHERE deleting_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.bucket_id = b.id)`;
}

export async function removeBucket(sql: Sql, orgId: string, bucketId: string): Promise<void> {
  await sql`DELETE FROM buckets WHERE org_id = ${orgId} AND id = ${bucketId}`;
}

function markedColumns(sql: Sql): SqlFragment {
  return sql`
    id, org_id AS "orgId", bucket_id AS "bucketId", coalesce(chunks_count, 0) AS "chunksCount",
    hard_delete_job_id AS "hardDeleteJobId"`;
}
