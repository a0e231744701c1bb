import type { Sql } from '../../src/platform/postgres.ts';
import { until } from './until.ts';

/**
 * Wait until the index of a bucket (id or name) is settled for good: merged, with every row in its full-text index, by
 * the settling that follows a pause in writing. A settling between two commits is followed by that one, which may
 * change the order of equal scores.
 */
export function untilSettled(sql: Sql, bucket: string): Promise<unknown> {
  return until(
    async () =>
      (
        await sql`
          SELECT 1 FROM index_tables JOIN buckets ON buckets.id = index_tables.bucket_id
          WHERE (buckets.id = ${bucket} OR buckets.name = ${bucket}) AND index_tables.settled
            AND index_tables.cleaned_at >= index_tables.updated_at`
      ).length > 0,
    { what: `settling of the index of ${bucket}` },
  );
}
