import type { Caller } from '../access/caller.ts';
import { filterHiding, findCollection } from '../documents/store.ts';
import type { Sql } from '../platform/postgres.ts';
import { findBucketIndexes, findIndexForCaller } from './bucket-index-store.ts';
import type { DocumentCopies } from './documents/document-copies.ts';
import type { DocumentCopy } from './documents/document-copy.ts';
import type { SearchedIndex, SynonymCache } from './synonyms/synonym-cache.ts';

/** Indexes to search, as recorded in PostgreSQL when the search begins. */
export interface SearchTarget {
  readonly indexes: readonly SearchedIndex[];
  /** Collection to search; null for whole buckets. */
  readonly collectionId: string | null;
  /** Ids of the buckets that contain documents hidden from the caller. */
  readonly hiding: ReadonlySet<string>;
  /** Copy of the documents at the target's snapshot, for a single bucket; null to ask PostgreSQL. */
  readonly copy: DocumentCopy | null;
}

interface TargetContext {
  readonly sql: Sql;
  readonly documents: DocumentCopies | null;
  readonly synonyms: SynonymCache;
}

/**
 * Read the index of one bucket. The same query updates the copy of its documents.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404)
 */
export async function readBucketTarget(
  { sql, documents, synonyms }: TargetContext,
  caller: Caller,
  bucketRef: string,
  collection: string | undefined,
): Promise<SearchTarget> {
  const copy = documents?.find(caller.orgId, bucketRef) ?? null;
  const since = copy?.snapshot ?? null;
  const { index, isHiding, changes } = await findIndexForCaller(sql, caller, bucketRef, since);
  const { bucketId } = index;
  documents?.note(caller.orgId, bucketRef, bucketId);
  // Another bucket may have this name now.
  const isOfBucket = copy?.bucketId === bucketId && since !== null && changes !== null;
  const isCurrent = isOfBucket && copy.follow(since, changes);
  if (isOfBucket && !isCurrent) documents?.drop(copy);
  const [indexes, collectionId] = await Promise.all([
    synonyms.load(sql, [index]),
    collection === undefined ? null : findCollection(sql, caller.orgId, bucketId, collection).then(({ id }) => id),
  ]);
  return { indexes, collectionId, hiding: new Set(isHiding ? [bucketId] : []), copy: isCurrent ? copy : null };
}

/** Read the indexes of several buckets. @throws AppError `bucket_not_found` (404) */
export async function readBucketsTarget(
  { sql, synonyms }: TargetContext,
  caller: Caller,
  bucketRefs: readonly string[],
): Promise<SearchTarget> {
  const found = await findBucketIndexes(sql, caller, bucketRefs);
  const bucketIds = found.map(({ bucketId }) => bucketId);
  const [indexes, hiding] = await Promise.all([synonyms.load(sql, found), filterHiding(sql, caller, bucketIds)]);
  return { indexes, collectionId: null, hiding, copy: null };
}
