import { isStaying } from '../../access/move-store.ts';
import { type VectorFacts, vectorColumns } from '../../index/index-store.ts';
import { isInProgress } from '../../jobs/state-store.ts';
import type { Sql } from '../../platform/postgres.ts';
import { KEYWORD_ONLY } from '../../projection/projections.ts';

/** Bucket whose documents a run reads. */
export interface BucketScope {
  readonly orgId: string;
  readonly bucketId: string;
}

/** Searchable document, with the properties of its live generation. */
export interface LiveDocument extends VectorFacts {
  readonly id: string;
  readonly generation: number;
  readonly collectionId: string | null;
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
  readonly artifactKey: string;
  readonly chunksCount: number;
}

/** Read live documents of a bucket in id order, after `afterId`. */
export async function selectLiveDocuments(
  sql: Sql,
  { orgId, bucketId }: BucketScope,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<LiveDocument[]> {
  const rows = await sql<(Omit<LiveDocument, 'eventTimeMs'> & { readonly eventTime: Date | null })[]>`
    SELECT d.id, d.collection_id AS "collectionId", d.privacy_level AS "privacyLevel", d.event_time AS "eventTime",
           g.id AS generation, g.artifact_key AS "artifactKey", g.chunks_count AS "chunksCount", ${vectorColumns(sql)}
    FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND d.bucket_id = ${bucketId} AND d.status <> 'deleting' AND d.id > ${afterId}
    ORDER BY d.id LIMIT ${limit}`;
  return rows.map(({ eventTime, ...document }) => ({ ...document, eventTimeMs: eventTime?.getTime() ?? null }));
}

/** Read the ids of a bucket's live generations. */
export async function selectLiveIds(sql: Sql, { orgId, bucketId }: BucketScope): Promise<number[]> {
  const rows = await sql`
    SELECT active_generation AS id FROM documents
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND active_generation IS NOT NULL AND status <> 'deleting'`;
  return rows.map((row) => Number(row['id']));
}

/** Return true if searches find this generation of a document. */
export async function isActive(sql: Sql, documentId: string, generation: number): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents WHERE id = ${documentId} AND active_generation = ${generation} AND status <> 'deleting'`;
  return rows.length > 0;
}

/** Read the generations registered by jobs in progress. Some of their rows may be written; no search finds them yet. */
export async function selectPendingIds(sql: Sql, { orgId, bucketId }: BucketScope): Promise<number[]> {
  const rows = await sql`
    SELECT g.id FROM generations g JOIN jobs ON jobs.id = g.job_id AND jobs.generation = g.id
    WHERE g.org_id = ${orgId} AND g.bucket_id = ${bucketId}
      AND ${isInProgress(sql)}
      AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = g.document_id AND d.active_generation = g.id)`;
  return rows.map((row) => Number(row['id']));
}

export async function nextGenerations(sql: Sql, count: number): Promise<number[]> {
  const rows = await sql`SELECT nextval('document_generations') AS id FROM generate_series(1, ${count})`;
  return rows.map((row) => Number(row['id']));
}

/** Generation registered by a run. */
export interface RunGeneration extends VectorFacts {
  readonly id: number;
  /** Live generation that this one was made from. */
  readonly replaces: number;
  readonly chunksCount: number;
  readonly artifactKey: string;
}

/** Read the generations registered by a run. */
export async function selectRunGenerations(sql: Sql, runId: string): Promise<RunGeneration[]> {
  return sql<RunGeneration[]>`
    SELECT g.id, replaces, chunks_count AS "chunksCount", artifact_key AS "artifactKey", ${vectorColumns(sql)}
    FROM generations g WHERE job_id = ${runId} AND replaces IS NOT NULL`;
}

/** Bucket with documents that have no vectors yet. */
export interface DeferredBucket {
  readonly orgId: string;
  readonly bucketId: string;
  readonly name: string;
}

/** Time before retrying vectors whose job failed or was cancelled. */
const DEFERRED_AGAIN_MS = 10 * 60_000;

/**
 * Select the buckets with ready documents that have no vectors yet.
 *
 * @param bucketId the only bucket to check; null for all
 */
export async function selectDeferredBuckets(sql: Sql, bucketId: string | null): Promise<DeferredBucket[]> {
  return sql<DeferredBucket[]>`
    SELECT id AS "bucketId", org_id AS "orgId", name FROM buckets
    WHERE deleting_at IS NULL AND ${isStaying(sql, 'org_id')} ${bucketId === null ? sql`` : sql`AND id = ${bucketId}`}
      AND EXISTS (SELECT 1 FROM documents WHERE bucket_id = buckets.id AND keyword_only AND status = 'ready')
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.bucket_id = buckets.id AND kind = 'reindex'
        AND status IN ('failed', 'cancelled')
        AND completed_at > now() - ${DEFERRED_AGAIN_MS} * interval '1 millisecond')`;
}

/**
 * Make generations of a run (all if null) live in place of those that they were made from. Call this in a transaction.
 * Skip documents that were ingested again or deleted meanwhile.
 * @returns ids of the changed documents
 */
export async function activateRunGenerations(
  tx: Sql,
  { runId, bucketId }: { runId: string; bucketId: string },
  generations: readonly number[] | null,
): Promise<string[]> {
  const rows = await tx`
    UPDATE documents SET active_generation = g.id,
      embed_model = CASE WHEN g.space <> ${KEYWORD_ONLY} THEN g.embed_model END,
      keyword_only = g.space = ${KEYWORD_ONLY},
      status = CASE WHEN keyword_only AND g.space <> ${KEYWORD_ONLY} THEN 'ready' ELSE documents.status END
    FROM generations g
    WHERE g.job_id = ${runId} AND g.bucket_id = ${bucketId} AND documents.id = g.document_id
      AND documents.active_generation = g.replaces AND documents.status <> 'deleting'
      ${generations === null ? tx`` : tx`AND g.id = ANY(${tx.array([...generations])}::bigint[])`}
    RETURNING documents.id`;
  return rows.map((row) => row['id'] as string);
}
