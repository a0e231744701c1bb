import type { Sql } from '../../platform/postgres.ts';

/** Maximum number of buckets to renew per run of the chore. */
const BUCKETS_MAX = 100;

export interface OutdatedBucket {
  readonly id: string;
  readonly orgId: string;
}

/**
 * Select buckets whose index has terms of an earlier version, fewest documents first. Skip buckets whose index is being
 * built for another reason.
 */
export async function selectOutdatedBuckets(sql: Sql, version: number): Promise<OutdatedBucket[]> {
  return sql<OutdatedBucket[]>`
    SELECT b.id, b.org_id AS "orgId" FROM index_tables t JOIN buckets b ON b.id = t.bucket_id
    WHERE coalesce(t.terms_version, 1) < ${version} AND b.deleting_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM reprojections r WHERE r.bucket_id = b.id AND r.kind <> 'rebuild')
    ORDER BY (SELECT count(*) FROM documents d WHERE d.bucket_id = b.id), b.id LIMIT ${BUCKETS_MAX}`;
}

/** Return true if the index of a bucket has terms of an earlier version. */
export async function hasOutdatedTerms(sql: Sql, bucketId: string, version: number): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId} AND coalesce(terms_version, 1) < ${version}`;
  return rows.length > 0;
}
