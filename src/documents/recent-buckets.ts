import { LRUCache } from 'lru-cache';
import { isBucketAllowed } from '../access/key-limits.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BucketView } from './schema.ts';
import { type BucketUser, findBucket } from './store.ts';

const BUCKETS_MAX = 1_000;

/**
 * Cache of recently read buckets, by the name or id used for the lookup. An entry may be outdated, deleted or renamed,
 * so use it only in statements that check for this.
 */
export class RecentBuckets {
  readonly #byRef = new LRUCache<string, BucketView>({ max: BUCKETS_MAX });

  /** Return a cached bucket, or read it. @throws AppError `bucket_not_found` (404) */
  async recall(sql: Sql, caller: BucketUser, ref: string): Promise<BucketView> {
    const bucket = this.#byRef.get(keyOf(caller.orgId, ref));
    return bucket && isBucketAllowed(caller.limits, bucket.id) ? bucket : await this.read(sql, caller, ref);
  }

  /** Read the current bucket. @throws AppError `bucket_not_found` (404) */
  async read(sql: Sql, caller: BucketUser, ref: string): Promise<BucketView> {
    const key = keyOf(caller.orgId, ref);
    this.#byRef.delete(key);
    const bucket = await findBucket(sql, caller, ref);
    this.#byRef.set(key, bucket);
    return bucket;
  }
}

function keyOf(orgId: string, ref: string): string {
  return `${orgId}/${ref}`;
}
