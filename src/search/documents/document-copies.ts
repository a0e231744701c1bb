import { LRUCache } from 'lru-cache';
import type { Logger } from '../../platform/logger.ts';
import { QUERY_MS, type Sql } from '../../platform/postgres.ts';
import { readAllFacts } from './copy-store.ts';
import { DocumentCopy } from './document-copy.ts';

/**
 * Number of searches after which a bucket's documents are copied. Each must follow the previous one within this time.
 */
const SEARCHES_MIN = 3;
const SEARCHES_MS = 60_000;
const COUNTED_MAX = 10_000;
/** Maximum documents of a copied bucket. A filter compares all of them in one go, within a few milliseconds. */
const DOCUMENTS_MAX = 50_000;
/** Time without searches after which a copy is dropped. */
const UNUSED_MS = 15 * 60_000;
/**
 * Time to wait before copying a bucket again: after an error, if it has too many documents, or if they change too fast.
 */
const REFUSED_MS = { error: 60_000, tooLarge: 600_000, tooManyChanges: 2_000 };

/**
 * Copies of document facts for frequently searched buckets, in bounded memory. Without a copy, every search asks
 * PostgreSQL which documents its caller may find.
 */
export class DocumentCopies {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #copies: LRUCache<string, DocumentCopy>;
  readonly #searches = new LRUCache<string, number>({ max: COUNTED_MAX, ttl: SEARCHES_MS });
  readonly #refused = new LRUCache<string, true>({ max: COUNTED_MAX });
  /** Bucket ids by organization and the id or name last used in a search. */
  readonly #bucketIds = new LRUCache<string, string>({ max: COUNTED_MAX });
  readonly #closing = new AbortController();
  /** Read in progress. Only one bucket is read at a time. */
  #reading: Promise<void> | null = null;

  constructor(options: { readonly sql: Sql; readonly logger: Logger; readonly bytesMax: number }) {
    this.#sql = options.sql;
    this.#logger = options.logger;
    this.#copies = new LRUCache({ maxSize: options.bytesMax, ttl: UNUSED_MS, updateAgeOnGet: true });
  }

  /** Total number of documents in all copies. */
  get documents(): number {
    this.#copies.purgeStale();
    let sum = 0;
    for (const copy of this.#copies.values()) sum += copy.size;
    return sum;
  }

  /**
   * Return the copy of a bucket, or undefined if there is none yet. The name may now belong to another bucket, so
   * compare the copy's bucket with the one that PostgreSQL returns.
   *
   * @param bucketRef id or name of a bucket of the organization
   */
  find(orgId: string, bucketRef: string): DocumentCopy | undefined {
    const bucketId = this.#bucketIds.get(keyOf(orgId, bucketRef));
    return bucketId === undefined ? undefined : this.#copies.get(bucketId);
  }

  /** Record that a search found a bucket by this id or name. Start copying its documents if it is searched often. */
  note(orgId: string, bucketRef: string, bucketId: string): void {
    this.#bucketIds.set(keyOf(orgId, bucketRef), bucketId);
    if (this.#copies.has(bucketId)) return;
    this.#copies.purgeStale();
    const searches = (this.#searches.get(bucketId) ?? 0) + 1;
    this.#searches.set(bucketId, searches);
    if (searches >= SEARCHES_MIN && this.#reading === null && !this.#refused.has(bucketId)) this.#read(orgId, bucketId);
  }

  /** Drop an unusable copy. Later searches create it again. */
  drop(copy: DocumentCopy): void {
    if (this.#copies.peek(copy.bucketId) !== copy) return;
    this.#copies.delete(copy.bucketId);
    this.#refuse(copy.bucketId, 'tooManyChanges');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
    this.#copies.clear();
  }

  #refuse(bucketId: string, reason: keyof typeof REFUSED_MS): void {
    this.#refused.set(bucketId, true, { ttl: REFUSED_MS[reason] });
  }

  #read(orgId: string, bucketId: string): void {
    const sql = this.#sql.limited({ ms: QUERY_MS.report, signal: this.#closing.signal });
    const read = async () => {
      const all = await readAllFacts(sql, orgId, bucketId, DOCUMENTS_MAX);
      const copy = all && new DocumentCopy(bucketId, all.snapshot, all.documents);
      if (copy) this.#copies.set(bucketId, copy, { size: 1 + copy.memoryBytes });
      if (!this.#copies.has(bucketId)) this.#refuse(bucketId, 'tooLarge');
    };
    this.#reading = read()
      .catch((error: unknown) => {
        this.#refuse(bucketId, 'error');
        if (!this.#closing.signal.aborted)
          this.#logger.warn({ err: error, bucket_id: bucketId }, 'the documents of a bucket were not read into memory');
      })
      .finally(() => {
        this.#reading = null;
      });
  }
}

/** Build the key of a bucket. It is unambiguous, since organization ids contain no line breaks. */
function keyOf(orgId: string, bucketRef: string): string {
  return `${orgId}\n${bucketRef}`;
}
