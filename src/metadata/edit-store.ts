import type { Caller } from '../access/caller.ts';
import type { DocumentStatus } from '../documents/schema.ts';
import { readableBy } from '../documents/visibility.ts';
import { unprepared } from '../platform/postgres/unprepared.ts';
import type { Sql } from '../platform/postgres.ts';
import type { EditableDocument, PlannedEdit } from './plan-edit.ts';
import { exactMatchSql } from './statement/plan.ts';
import type { Condition } from './statement/syntax.ts';

export interface EditScope {
  readonly caller: Caller;
  readonly bucketId: string;
}

/** Lock documents until the transaction ends, in id order to avoid deadlocks. */
export async function lockDocuments(sql: Sql, { caller, bucketId }: EditScope, ids: readonly string[]): Promise<void> {
  await sql`
    SELECT 1 FROM documents
    WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND id = ANY(${sql.array([...ids])}::text[])
    ORDER BY id FOR UPDATE`;
}

/**
 * Read the documents that still match `where` (all if null), including documents that the caller may not see. Use a
 * separate SQL statement after the lock, which sees the changes that the lock waited for.
 */
export async function readEditable(
  sql: Sql,
  { caller, bucketId }: EditScope,
  ids: readonly string[],
  where: Condition | null,
): Promise<EditableDocument[]> {
  const rows = await unprepared(sql`
    SELECT id, collection_id, status, searchable, metadata, privacy_level, classification, review_status,
           public_accessible, scope, access_list, object_key, file_name, size_bytes, source_path,
           (${readableBy(sql, caller)}) IS TRUE AS is_readable,
           (SELECT chunks_count FROM generations WHERE generations.id = documents.active_generation) AS indexed_vectors
    FROM documents
    WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId}
      AND documents.id = ANY(${sql.array([...ids])}::text[])
      ${where === null ? sql`` : sql`AND ${exactMatchSql(sql, where)}`}
    ORDER BY documents.id`);
  return rows.map((row) => ({
    id: row['id'] as string,
    collectionId: row['collection_id'] as string | null,
    status: row['status'] as DocumentStatus,
    searchable: row['searchable'] as boolean,
    metadata: row['metadata'] as Record<string, string>,
    access: {
      privacy_level: row['privacy_level'] as number,
      classification: row['classification'] as string,
      review_status: row['review_status'] as string,
      public_accessible: row['public_accessible'] as boolean,
      scope: row['scope'] as string | null,
      access_list: row['access_list'] as string[] | null,
    },
    indexedVectors: (row['indexed_vectors'] as number | null) ?? 0,
    isReadable: row['is_readable'] as boolean,
    file: {
      objectKey: row['object_key'] as string,
      fileName: row['file_name'] as string,
      sizeBytes: Number(row['size_bytes']),
      sourcePath: row['source_path'] as string | null,
    },
  }));
}

/** Write planned edits of locked documents. Searches no longer find dropped vectors. */
export async function writeEdits(sql: Sql, orgId: string, plans: readonly PlannedEdit[]): Promise<void> {
  const rows = plans.map((plan) => ({
    id: plan.document.id,
    metadata: plan.metadata,
    ...plan.access,
    searchable: plan.searchable,
    drops_vectors: plan.dropsVectors,
    is_reindexed: plan.isReindexed,
  }));
  await sql`
    UPDATE documents
    SET metadata = edited.metadata, privacy_level = edited.privacy_level, classification = edited.classification,
        review_status = edited.review_status, public_accessible = edited.public_accessible, scope = edited.scope,
        access_list = edited.access_list,
        searchable = edited.searchable,
        active_generation = CASE WHEN NOT edited.drops_vectors THEN active_generation END,
        stored_generation = CASE
          WHEN edited.is_reindexed THEN coalesce(active_generation, stored_generation)
          WHEN NOT edited.drops_vectors THEN stored_generation END,
        chunks_count = CASE WHEN NOT edited.drops_vectors THEN chunks_count END,
        status = CASE WHEN edited.is_reindexed THEN 'queued' ELSE status END, updated_at = now()
    FROM jsonb_to_recordset(${sql.json(rows)}) AS edited (
      id text, metadata jsonb, privacy_level integer, classification text, review_status text,
      public_accessible boolean, scope text, access_list text[], searchable boolean, drops_vectors boolean, is_reindexed boolean)
    WHERE documents.org_id = ${orgId} AND documents.id = edited.id`;
}

/**
 * Find queued ingest jobs by document, since another job would repeat the same work. Skip a job that a worker is just
 * claiming instead of waiting: a finishing job locks itself before its document.
 */
export async function findWaitingJobs(
  sql: Sql,
  orgId: string,
  documentIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await sql`
    SELECT id, document_id FROM jobs
    WHERE org_id = ${orgId} AND kind = 'ingest' AND status = 'queued'
      AND document_id = ANY(${sql.array([...documentIds])}::text[])
    FOR UPDATE SKIP LOCKED`;
  return new Map(rows.map((row) => [row['document_id'] as string, row['id'] as string]));
}
