import { LRUCache } from 'lru-cache';
import type { Sql } from '../platform/postgres.ts';
import type { BucketView } from './schema.ts';
import { findBucket } from './store.ts';

const BUCKETS_MAX = 1_000;

/**
 * Buckets as they were when they were last read, by what they were asked for by. They may have changed, been deleted or been
 * renamed since: this is for statements that check that.
 */
export class RecentBuckets {
  readonly #byRef = new LRUCache<string, BucketView>({ max: BUCKETS_MAX });

  /** Return a bucket as it was read a while ago, or read it. @throws AppError `bucket_not_found` (404) */
  async recall(sql: Sql, orgId: string, ref: string): Promise<BucketView> {
    return this.#byRef.get(keyOf(orgId, ref)) ?? (await this.read(sql, orgId, ref));
  }

  /** Read a bucket as it is now. @throws AppError `bucket_not_found` (404) */
  async read(sql: Sql, orgId: string, ref: string): Promise<BucketView> {
    this.#byRef.delete(keyOf(orgId, ref));
    const bucket = await findBucket(sql, orgId, ref);
    this.#byRef.set(keyOf(orgId, ref), bucket);
    return bucket;
  }
}

function keyOf(orgId: string, ref: string): string {
  return `${orgId}/${ref}`;
}
