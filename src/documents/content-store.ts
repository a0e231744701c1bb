import type { Caller } from '../access/caller.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { DocumentStatus, IngestOptions } from './schema.ts';
import { lastJobOf } from './store.ts';
import { visibleTo } from './visibility.ts';

export interface NewContent {
  readonly objectKey: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly contentType: string | null;
}

export interface DocumentFacts {
  readonly fileName: string;
  readonly sourcePath: string | null;
  /** Metadata to add. Other metadata stays. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly eventTime: Date | null;
}

/**
 * Replace the content of a document. Searches find the old content until the new content's job is done.
 *
 * @returns object key of the old content; null if the document is deleted or being deleted
 */
export async function replaceContent(
  tx: Sql,
  orgId: string,
  documentId: string,
  content: NewContent,
  facts: DocumentFacts,
): Promise<string | null> {
  const [row] = await tx`
    WITH before AS (
      SELECT object_key FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting' FOR UPDATE)
    UPDATE documents SET object_key = ${content.objectKey}, size_bytes = ${content.sizeBytes}, sha256 = ${content.sha256},
           content_type = ${content.contentType}, file_name = ${facts.fileName}, source_path = ${facts.sourcePath},
           event_time = ${facts.eventTime}, metadata = metadata || ${tx.json(facts.metadata)},
           status = CASE WHEN active_generation IS NULL THEN 'queued' ELSE status END, content_pending = true,
           error_message = CASE WHEN keyword_only THEN error_message END, updated_at = now()
    FROM before WHERE org_id = ${orgId} AND id = ${documentId} RETURNING before.object_key`;
  return row ? (row['object_key'] as string) : null;
}

/** Document at a path, with the fields that its next version needs. */
export interface PathVersion {
  readonly id: string;
  readonly status: DocumentStatus;
  readonly sha256: Buffer;
  readonly sizeBytes: number;
  readonly collectionId: string | null;
  readonly jobId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly access: AccessPolicy;
}

/** Serialise uploads to a path of a bucket until the transaction ends. */
export async function lockPath(tx: Sql, bucketId: string, sourcePath: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${bucketId}/path/${sourcePath}`}, 0))`;
}

/**
 * Build the condition that a row of `documents` was uploaded to a path and is visible to the caller.
 *
 * @param sourcePath path, or an SQL expression for it
 */
export function isVersionOfPath(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  sourcePath: string | SqlFragment,
): SqlFragment {
  return sql`
    documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId}
    AND md5(documents.source_path) = md5(${sourcePath}) AND documents.source_path = ${sourcePath}
    AND documents.source_id IS NULL AND ${visibleTo(sql, caller)}`;
}

/** Find the documents uploaded to a path that the caller may see, newest first. Skip those of connected sources. */
export async function findVersionsOfPath(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  sourcePath: string,
): Promise<PathVersion[]> {
  const rows = await sql<(Omit<PathVersion, 'access'> & AccessPolicy)[]>`
    SELECT id, status, sha256, size_bytes AS "sizeBytes", collection_id AS "collectionId", metadata, privacy_level,
           classification, review_status, public_accessible, scope, access_list, ${lastJobOf(sql)} AS "jobId"
    FROM documents
    WHERE ${isVersionOfPath(sql, caller, bucketId, sourcePath)}
    ORDER BY id DESC LIMIT 1000`;
  return rows.map(({ id, status, sha256, sizeBytes, collectionId, jobId, metadata, ...access }) => {
    return { id, status, sha256, sizeBytes, collectionId, jobId, metadata, access };
  });
}

/** Find the newest document uploaded to each path that the caller may see. */
export async function findNewestOfPaths(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  paths: readonly string[],
): Promise<Map<string, Pick<PathVersion, 'id' | 'status' | 'sha256' | 'jobId'>>> {
  type Newest = Pick<PathVersion, 'id' | 'status' | 'sha256' | 'jobId'> & { readonly path: string };
  const rows = await sql<Newest[]>`
    SELECT DISTINCT ON (source_path) id, source_path AS path, status, sha256, ${lastJobOf(sql)} AS "jobId"
    FROM documents
    WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND documents.source_id IS NULL
      AND md5(source_path) = ANY(SELECT md5(path) FROM unnest(${sql.array([...paths])}::text[]) AS path)
      AND source_path = ANY(${sql.array([...paths])}::text[]) AND ${visibleTo(sql, caller)}
    ORDER BY source_path, id DESC`;
  return new Map(rows.map(({ path, ...document }) => [path, document]));
}

/** Newest document uploaded to a path. */
export interface PathDocument {
  readonly id: string;
  readonly sourcePath: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly status: DocumentStatus;
}

/** List the newest upload for each path with a prefix, sorted by path: the page after `afterPath`. */
export async function listPathDocuments(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  page: { readonly prefix: string; readonly afterPath: string; readonly limit: number },
): Promise<PathDocument[]> {
  return sql<PathDocument[]>`
    SELECT DISTINCT ON (source_path COLLATE "C") id, source_path AS "sourcePath", encode(sha256, 'hex') AS sha256,
           size_bytes AS "sizeBytes", status
    FROM documents
    WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND source_path IS NOT NULL AND source_id IS NULL
      AND starts_with(source_path, ${page.prefix}) AND source_path COLLATE "C" > ${page.afterPath}
      AND ${visibleTo(sql, caller)}
    ORDER BY source_path COLLATE "C", id DESC LIMIT ${page.limit}`;
}

/** Update the upload fields of a document whose content was replaced. */
export async function updateReplaced(
  tx: Sql,
  orgId: string,
  documentId: string,
  changed: { readonly collectionId: string | null; readonly options: IngestOptions; readonly access: AccessPolicy },
): Promise<void> {
  const { access } = changed;
  const { access_list: list } = access;
  await tx`
    UPDATE documents
    SET collection_id = ${changed.collectionId}, ingest_options = ${tx.json(changed.options)},
        privacy_level = ${access.privacy_level}, classification = ${access.classification},
        review_status = ${access.review_status}, public_accessible = ${access.public_accessible},
        scope = ${access.scope}, access_list = ${list && tx.array([...list])}::text[]
    WHERE org_id = ${orgId} AND id = ${documentId}`;
}
