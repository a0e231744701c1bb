import type { BucketIndex } from './index-store.ts';

const NAMES_MAX = 1_000;

/** Where this process last saw the indexes of buckets. What it says may be outdated: PostgreSQL has the last word. */
export class SeenIndexes {
  /** Least recently seen first. */
  readonly #byName = new Map<string, BucketIndex>();

  /** `bucketRef`: id or name of a bucket of the organization. */
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
