import { isUnfinished } from '../../jobs/state-store.ts';
import type { Sql } from '../../platform/postgres.ts';

const IN_USE_MAX = 1_000;
const BUCKETS_MAX = 100;
/** Time to leave a bucket alone after its move job failed or was cancelled. */
const LEFT_ALONE_MS = 24 * 3_600_000;

/** Select the models that appear in an organization's routing or that embedded a bucket. */
export async function selectNamedModels(sql: Sql): Promise<string[]> {
  const rows = await sql`
    SELECT model FROM (
      SELECT primary_model AS model, 1 AS place FROM routing
      UNION SELECT fallback_model, 2 FROM routing
      UNION SELECT index_tables.model, 3 FROM index_tables JOIN buckets ON buckets.id = bucket_id
        WHERE deleting_at IS NULL
    ) AS named WHERE model IS NOT NULL ORDER BY place, model LIMIT ${IN_USE_MAX}`;
  return rows.map((row) => row['model'] as string);
}

export interface NativeBucket {
  readonly bucketId: string;
  readonly bucketName: string;
  readonly orgId: string;
  readonly space: string;
}

/** Select buckets whose searchable vectors are in the native space of a model and that no job is moving. */
export async function selectNativeBuckets(sql: Sql): Promise<NativeBucket[]> {
  return sql<NativeBucket[]>`
    SELECT b.id AS "bucketId", b.name AS "bucketName", b.org_id AS "orgId", t.space
    FROM index_tables t JOIN buckets b ON b.id = t.bucket_id
    WHERE t.space LIKE 'native:%' AND b.deleting_at IS NULL
      AND EXISTS (SELECT 1 FROM documents d JOIN generations g ON g.id = d.active_generation
                  WHERE d.bucket_id = b.id AND d.status <> 'deleting')
      AND NOT EXISTS (SELECT 1 FROM reprojections r WHERE r.bucket_id = b.id)
      AND NOT EXISTS (
        SELECT 1 FROM jobs WHERE jobs.bucket_id = b.id AND jobs.kind = 'reindex' AND (
          ${isUnfinished(sql)} OR (jobs.status IN ('failed', 'cancelled')
            AND jobs.updated_at > now() - ${LEFT_ALONE_MS} * interval '1 millisecond')))
    ORDER BY b.id LIMIT ${BUCKETS_MAX}`;
}

/** Select buckets with searchable documents, in random order. */
export async function selectSearchableBuckets(sql: Sql, limit: number): Promise<{ bucketId: string; orgId: string }[]> {
  return sql<{ bucketId: string; orgId: string }[]>`
    SELECT b.id AS "bucketId", b.org_id AS "orgId" FROM buckets b
    WHERE b.deleting_at IS NULL AND EXISTS (
      SELECT 1 FROM documents d WHERE d.bucket_id = b.id AND d.active_generation IS NOT NULL AND d.status = 'ready')
    ORDER BY random() LIMIT ${limit}`;
}
