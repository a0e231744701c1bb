import type { Sql } from '../../src/platform/postgres.ts';
import { until } from './until.ts';

/** Wait until the index of a bucket (id or name) is settled: merged, with every row in its full-text index. */
export function untilSettled(sql: Sql, bucket: string): Promise<unknown> {
  return until(
    async () =>
      (
        await sql`
          SELECT 1 FROM index_tables JOIN buckets ON buckets.id = index_tables.bucket_id
          WHERE (buckets.id = ${bucket} OR buckets.name = ${bucket}) AND index_tables.settled`
      ).length > 0,
    { what: `settling of the index of ${bucket}` },
  );
}
