import { isUnfinished } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';

export interface FailedDocument {
  readonly orgId: string;
  readonly bucketId: string;
  readonly documentId: string;
  readonly collectionId: string | null;
}

const DOCUMENTS_MAX = 200;
/** Interval between retries of one document per bucket. */
const PROBE_MS = 10 * 60_000;

/**
 * Select documents without vectors and without an unfinished job. For a bucket in which a later job embedded a
 * document, select all of them. For other buckets, select the one that failed first, if that was long enough ago.
 */
export async function selectFailedByOutage(sql: Sql): Promise<FailedDocument[]> {
  return sql<FailedDocument[]>`
    WITH failed AS (
      SELECT d.id, d.org_id, d.bucket_id, d.collection_id, last.completed_at,
             row_number() OVER (PARTITION BY d.bucket_id ORDER BY last.completed_at, d.id) AS place,
             max(last.completed_at) OVER (PARTITION BY d.bucket_id) AS newest
      FROM documents d CROSS JOIN LATERAL (
        SELECT completed_at, error_category FROM jobs
        WHERE jobs.document_id = d.id AND jobs.kind = 'ingest' AND jobs.status = 'failed'
        ORDER BY completed_at DESC LIMIT 1) AS last
      WHERE d.keyword_only AND d.status = 'failed' AND d.searchable AND last.error_category = 'upstream_unavailable'
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.document_id = d.id AND ${isUnfinished(sql)}))
    SELECT id AS "documentId", org_id AS "orgId", bucket_id AS "bucketId", collection_id AS "collectionId" FROM failed
    WHERE (place = 1 AND newest < now() - ${PROBE_MS} * interval '1 millisecond')
      OR EXISTS (SELECT 1 FROM jobs WHERE jobs.bucket_id = failed.bucket_id AND jobs.kind = 'ingest'
                 AND jobs.status = 'ready' AND jobs.completed_at > failed.completed_at)
    ORDER BY completed_at LIMIT ${DOCUMENTS_MAX}`;
}

/** Return true if a job of the document is queued or in progress. Lock the document before the call. */
export async function hasUnfinishedJob(tx: Sql, documentId: string): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM jobs WHERE document_id = ${documentId} AND ${isUnfinished(tx)} LIMIT 1`;
  return rows.length > 0;
}
