import { nextTick } from 'node:process';
import { promisify } from 'node:util';
import { findCollection } from '../documents/store.ts';
import { awaitLater } from '../platform/await-later.ts';
import { type Attempt, beginAttempt, reusableEmbedding, type SearchInput } from './attempt.ts';
import { type BucketIndex, type CallersIndex, findIndexForCaller } from './bucket-index-store.ts';
import type { DocumentCopies } from './documents/document-copies.ts';
import type { DocumentCopy } from './documents/document-copy.ts';
import type { Snapshot } from './documents/snapshot.ts';
import { isSameTable } from './index-store.ts';
import type { SearchedIndex } from './synonyms/synonym-cache.ts';

/** Wait until the code that only waits for other code has run: an attempt that has just begun has told the threads to search. */
const afterMicrotasks = promisify(nextTick);

/** Two for each index that a server learns when it starts: the name and the id of its bucket. */
const NAMES_MAX = 32_768;

/**
 * Begin a search on the table version that this process last saw of the bucket's index, while PostgreSQL is asked for
 * the present one. They are nearly always the same, and the search saves the time of one query
 * (docs/decisions/0021-early-start-of-searches.md). Otherwise the attempt is discarded and a new one begins on the
 * present version.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404)
 */
export async function beginSearch(input: SearchInput, lastSeen: LastSeenIndexes): Promise<Attempt> {
  const { context, caller, bucketRef, request } = input;
  const { sql } = context;
  const known = lastSeen.get(caller.orgId, bucketRef);
  const seen = request.collection === undefined ? known : undefined;
  const ready = seen && context.synonyms.known(seen);
  const begun = known && context.documents?.find(caller.orgId, known.bucketId);
  const since = begun?.snapshot;
  const ask = () => findIndexForCaller(sql, caller, bucketRef, since ?? null);
  // The copy in memory is searched first: it takes longer than the question.
  const asked = ready ? afterMicrotasks().then(ask) : ask();
  const copy = begun && since && { begun, confirmed: awaitLater(confirmCopy(context.documents, begun, since, asked)) };
  const hiding = awaitLater(asked.then(({ index, isHiding }) => new Set(isHiding ? [index.bucketId] : [])));
  const early = ready && beginAttempt(input, [ready], { collectionId: null, hiding, copy });
  const { index } = await asked.catch((error: unknown) => {
    // Perhaps the bucket is gone: the next search must not embed its query before the bucket is found.
    lastSeen.forget(caller.orgId, bucketRef);
    throw error;
  });
  lastSeen.remember(caller.orgId, bucketRef, index);
  if (early && seen && isPresent(early, seen, index)) return early;
  const [searched] = (await context.synonyms.load(sql, [index])) as [SearchedIndex];
  const { collection } = request;
  const collectionId = collection ? (await findCollection(sql, caller.orgId, index.bucketId, collection)).id : null;
  return beginAttempt(input, [searched], { collectionId, hiding, copy, embedding: reusableEmbedding(early, searched) });
}

/** Have a copy of documents follow the changes that PostgreSQL tells; null: it cannot, and is dropped. */
async function confirmCopy(
  copies: DocumentCopies | null,
  copy: DocumentCopy,
  since: Snapshot,
  asked: Promise<CallersIndex>,
): Promise<DocumentCopy | null> {
  const { index, changes } = await asked;
  // Another bucket may have been given the name.
  if (index.bucketId !== copy.bucketId || changes === null) return null;
  if (copy.follow(since, changes)) return copy;
  copies?.drop(copy);
  return null;
}

/** Return true if an attempt on the last seen index searches the present one, or a copy in memory that is as new. */
function isPresent(early: Attempt, seen: BucketIndex, present: BucketIndex): boolean {
  const { bucketId, synonymsEdit, indexTable } = present;
  if (seen.bucketId !== bucketId || seen.synonymsEdit !== synonymsEdit) return false;
  const copyVersion = indexTable ? early.search.copyVersions.get(indexTable.name) : undefined;
  const isCopyPresent = indexTable && copyVersion !== undefined && copyVersion >= indexTable.version;
  const searched =
    seen.indexTable && isCopyPresent ? { ...seen.indexTable, version: indexTable.version } : seen.indexTable;
  return isSameTable(searched, indexTable);
}

/**
 * Table versions that this process last saw of the indexes of buckets. They may be outdated; PostgreSQL is
 * authoritative.
 */
export class LastSeenIndexes {
  /** Indexes by organization and bucket, least recently seen first. */
  readonly #byName = new Map<string, BucketIndex>();
  readonly #namesMax: number;

  /** @param namesMax names whose indexes are kept, some 600 bytes each */
  constructor(namesMax = NAMES_MAX) {
    this.#namesMax = namesMax;
  }

  /** @param bucketRef id or name of a bucket of the organization */
  get(orgId: string, bucketRef: string): BucketIndex | undefined {
    return this.#byName.get(keyOf(orgId, bucketRef));
  }

  remember(orgId: string, bucketRef: string, index: BucketIndex): void {
    const key = keyOf(orgId, bucketRef);
    this.#byName.delete(key);
    this.#byName.set(key, index);
    if (this.#byName.size <= this.#namesMax) return;
    const [oldest] = this.#byName.keys();
    if (oldest !== undefined) this.#byName.delete(oldest);
  }

  forget(orgId: string, bucketRef: string): void {
    this.#byName.delete(keyOf(orgId, bucketRef));
  }
}

/** Build the key of a bucket. It is unambiguous, since ids of organizations have no line breaks. */
function keyOf(orgId: string, bucketRef: string): string {
  return `${orgId}\n${bucketRef}`;
}
