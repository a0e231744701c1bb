import { LRUCache } from 'lru-cache';
import type { Sql } from '../platform/postgres.ts';
import type { BucketView } from './schema.ts';
import { findBucket } from './store.ts';

const BUCKETS_MAX = 1_000;

/**
 * Cache of buckets as last read, by the name or id of the lookup. They may have changed, been deleted or been renamed
 * since, so use them only in statements that check this.
 */
export class RecentBuckets {
  readonly #byRef = new LRUCache<string, BucketView>({ max: BUCKETS_MAX });

  /** Return a cached bucket, or read it. @throws AppError `bucket_not_found` (404) */
  async recall(sql: Sql, orgId: string, ref: string): Promise<BucketView> {
    return this.#byRef.get(keyOf(orgId, ref)) ?? (await this.read(sql, orgId, ref));
  }

  /** Read the current bucket. @throws AppError `bucket_not_found` (404) */
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
