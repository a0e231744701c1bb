import type { Caller } from '../access/caller.ts';
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
  type Row = Omit<EditableDocument, 'access' | 'file'> & EditableDocument['access'] & EditableDocument['file'];
  const rows = await unprepared(sql<Row[]>`
    SELECT id, collection_id AS "collectionId", status, searchable, metadata, privacy_level, classification,
           review_status, public_accessible, scope, access_list, object_key AS "objectKey", file_name AS "fileName",
           size_bytes AS "sizeBytes", source_path AS "sourcePath", (${readableBy(sql, caller)}) IS TRUE AS "isReadable",
           coalesce((SELECT chunks_count FROM generations WHERE generations.id = documents.active_generation), 0)
             AS "indexedVectors"
    FROM documents
    WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId}
      AND documents.id = ANY(${sql.array([...ids])}::text[])
      ${where === null ? sql`` : sql`AND ${exactMatchSql(sql, where)}`}
    ORDER BY documents.id`);
  return rows.map((row) => {
    const { id, collectionId, status, searchable, metadata, indexedVectors, isReadable, ...others } = row;
    const { objectKey, fileName, sizeBytes, sourcePath, ...access } = others;
    const file = { objectKey, fileName, sizeBytes, sourcePath };
    return { id, collectionId, status, searchable, metadata, indexedVectors, isReadable, access, file };
  });
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
