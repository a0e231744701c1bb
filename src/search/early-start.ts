import { findCollection } from '../documents/store.ts';
import { type Asked, type Attempt, beginAttempt } from './attempt.ts';
import { type BucketIndex, findBucketIndex, isSameTable } from './index-store.ts';

const NAMES_MAX = 1_000;

/**
 * Begin a search at the place where this process last saw the bucket's index, while PostgreSQL says where it is; that
 * is nearly always the same place, and saves the search one query's time (docs/decisions/0021-early-start-of-searches.md). An attempt at another
 * place is thrown away, and begins anew at the right one.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404)
 */
export async function beginSearch(asked: Asked, lastSeen: LastSeenIndexes): Promise<Attempt> {
  const { context, caller, bucketRef, request } = asked;
  const { sql } = context;
  const seen = request.collection === undefined ? lastSeen.get(caller.orgId, bucketRef) : undefined;
  const early = seen && beginAttempt(asked, seen, null);
  const at = await findBucketIndex(sql, caller.orgId, bucketRef).catch((error: unknown) => {
    // Gone, maybe: no query is embedded for a bucket that is not there.
    lastSeen.forget(caller.orgId, bucketRef);
    throw error;
  });
  lastSeen.remember(caller.orgId, bucketRef, at);
  if (early && early.at.bucketId === at.bucketId && isSameTable(early.at.indexTable, at.indexTable)) return early;
  const { collection } = request;
  const collectionId = collection ? (await findCollection(sql, caller.orgId, at.bucketId, collection)).id : null;
  return beginAttempt(asked, at, collectionId, early?.embedding);
}

/** Places where this process last saw the indexes of buckets. They may be outdated: PostgreSQL has the last word. */
export class LastSeenIndexes {
  /** Least recently seen first. */
  readonly #byName = new Map<string, BucketIndex>();

  /** @param bucketRef id or name of a bucket of the organization */
  get(orgId: string, bucketRef: string): BucketIndex | undefined {
    return this.#byName.get(keyOf(orgId, bucketRef));
  }

  remember(orgId: string, bucketRef: string, index: BucketIndex): void {
    const key = keyOf(orgId, bucketRef);
    this.#byName.delete(key);
    this.#byName.set(key, index);
    if (this.#byName.size <= NAMES_MAX) return;
    const [oldest] = this.#byName.keys();
    if (oldest !== undefined) this.#byName.delete(oldest);
  }

  forget(orgId: string, bucketRef: string): void {
    this.#byName.delete(keyOf(orgId, bucketRef));
  }
}

/** Ids of organizations have no line breaks. */
function keyOf(orgId: string, bucketRef: string): string {
  return `${orgId}\n${bucketRef}`;
}
