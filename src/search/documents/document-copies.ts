import { LRUCache } from 'lru-cache';
import type { Logger } from '../../platform/logger.ts';
import { QUERY_MS, type Sql } from '../../platform/postgres.ts';
import { readAllFacts } from './copy-store.ts';
import { DocumentCopy } from './document-copy.ts';

/** Searches of a bucket, each within the time after the one before, after which its documents are read. */
const SEARCHES_MIN = 3;
const SEARCHES_MS = 60_000;
const COUNTED_MAX = 10_000;
/** Documents of a bucket that has a copy at most: all of them are compared with a filter at once, in some milliseconds. */
const DOCUMENTS_MAX = 50_000;
/** Time after which a copy is dropped that is not searched. */
const UNUSED_MS = 15 * 60_000;
/** Time in which a bucket is not read again that could not be read, or has too many documents. */
const REFUSED_MS = 60_000;

/**
 * Copies of the facts of documents, of buckets that are searched often, within a bound of memory. Without one PostgreSQL is
 * asked by every search which documents its caller may find.
 */
export class DocumentCopies {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #copies: LRUCache<string, DocumentCopy>;
  readonly #searches = new LRUCache<string, number>({ max: COUNTED_MAX, ttl: SEARCHES_MS });
  readonly #refused = new LRUCache<string, true>({ max: COUNTED_MAX, ttl: REFUSED_MS });
  readonly #closing = new AbortController();
  /** Reading in progress: one bucket at a time. */
  #reading: Promise<void> | null = null;

  constructor(options: { readonly sql: Sql; readonly logger: Logger; readonly bytesMax: number }) {
    this.#sql = options.sql;
    this.#logger = options.logger;
    this.#copies = new LRUCache({ maxSize: options.bytesMax, ttl: UNUSED_MS, updateAgeOnGet: true });
  }

  /** Number of documents that are held. */
  get documents(): number {
    this.#copies.purgeStale();
    let sum = 0;
    for (const copy of this.#copies.values()) sum += copy.size;
    return sum;
  }

  /** Return the copy of a bucket for a search; undefined: there is none yet. */
  find(orgId: string, bucketId: string): DocumentCopy | undefined {
    const copy = this.#copies.get(bucketId);
    if (copy) return copy;
    this.#copies.purgeStale();
    const searches = (this.#searches.get(bucketId) ?? 0) + 1;
    this.#searches.set(bucketId, searches);
    if (searches >= SEARCHES_MIN && this.#reading === null && !this.#refused.has(bucketId)) this.#read(orgId, bucketId);
    return undefined;
  }

  /** Drop a copy that must not be used any more. The next searches read it again. */
  drop(copy: DocumentCopy): void {
    if (this.#copies.peek(copy.bucketId) === copy) this.#copies.delete(copy.bucketId);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
    this.#copies.clear();
  }

  #read(orgId: string, bucketId: string): void {
    const sql = this.#sql.limited({ ms: QUERY_MS.report, signal: this.#closing.signal });
    const read = async () => {
      const all = await readAllFacts(sql, orgId, bucketId, DOCUMENTS_MAX);
      if (all === null) this.#refused.set(bucketId, true);
      else {
        const copy = new DocumentCopy(bucketId, all.snapshot, all.documents);
        this.#copies.set(bucketId, copy, { size: 1 + copy.memoryBytes });
      }
    };
    this.#reading = read()
      .catch((error: unknown) => {
        this.#refused.set(bucketId, true);
        if (!this.#closing.signal.aborted)
          this.#logger.warn({ err: error, bucket_id: bucketId }, 'the documents of a bucket were not read into memory');
      })
      .finally(() => {
        this.#reading = null;
      });
  }
}
