import { isInProgress } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';

/** Generation that searches find, with the fields of its document that the index holds. */
export interface LiveGeneration {
  readonly id: number;
  readonly documentId: string;
  readonly collectionId: string | null;
  readonly privacyLevel: number;
  readonly eventTimeMs: number | null;
  readonly artifactKey: string;
  readonly chunksCount: number;
}

/** Select live generations in the order of document ids, after `afterId`. */
export async function selectLiveGenerations(
  sql: Sql,
  { orgId, bucketId }: { orgId: string; bucketId: string },
  { afterId, limit }: { afterId: string; limit: number },
): Promise<LiveGeneration[]> {
  const rows = await sql`
    SELECT d.id AS document_id, d.collection_id, d.privacy_level, d.event_time, g.id, g.artifact_key, g.chunks_count
    FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND d.bucket_id = ${bucketId} AND d.status <> 'deleting' AND d.id > ${afterId}
    ORDER BY d.id LIMIT ${limit}`;
  return rows.map((row) => ({
    id: Number(row['id']),
    documentId: row['document_id'] as string,
    collectionId: row['collection_id'] as string | null,
    privacyLevel: row['privacy_level'] as number,
    eventTimeMs: row['event_time'] instanceof Date ? row['event_time'].getTime() : null,
    artifactKey: row['artifact_key'] as string,
    chunksCount: row['chunks_count'] as number,
  }));
}

export async function selectLiveIds(sql: Sql, orgId: string, bucketId: string): Promise<number[]> {
  const rows = await sql`
    SELECT active_generation AS id FROM documents
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND active_generation IS NOT NULL AND status <> 'deleting'`;
  return rows.map((row) => Number(row['id']));
}

/**
 * Select generations that a job in progress has registered: some of their rows may be written, and no search finds
 * them.
 */
export async function selectPendingIds(sql: Sql, orgId: string, bucketId: string): Promise<number[]> {
  const rows = await sql`
    SELECT g.id FROM generations g JOIN jobs ON jobs.id = g.job_id AND jobs.generation = g.id
    WHERE g.org_id = ${orgId} AND g.bucket_id = ${bucketId}
      AND ${isInProgress(sql)}
      AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = g.document_id AND d.active_generation = g.id)`;
  return rows.map((row) => Number(row['id']));
}
