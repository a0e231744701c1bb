import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../access/caller.ts';
import type { DocumentScope } from './documents/document-store.ts';

const FILTERS_MAX = 10_000;
/** Time after which a share is forgotten, since documents may have changed. */
const KEPT_MS = 60_000;
/** Candidates that are looked at for each one that a filter is to leave, while its share is unknown, and at most. */
const FACTOR_MAX = 8;
/** Standard deviations of the number of candidates that a filter leaves, by which more are looked at. */
const SPARE_DEVIATIONS = 3;
/** Step of the numbers of candidates: searches of the same number that wait read the vectors together. */
const WIDTH_STEP = 10;
/** Share of the last search in a share that was known before it. */
const NEWEST_SHARE = 0.25;

/**
 * Shares of the candidates that the filters of a caller's searches left lately: 0 for a filter that leaves few documents.
 * A search with one of those lists its documents at once; with another filter it first searches all documents in memory,
 * and the share tells how many candidates that takes. Shares change the time that a search takes, never what it finds.
 * Filters of one caller tell nothing about those of another, not even by that time.
 */
export class FilterShares {
  readonly #seen = new LRUCache<string, number>({ max: FILTERS_MAX, ttl: KEPT_MS });

  /** Return the share of a filter; undefined if it is not known. */
  get(caller: Caller, scope: DocumentScope): number | undefined {
    return scope.condition === undefined ? this.#seen.get(keyOf(caller, scope)) : undefined;
  }

  /** Note the share that a filter left in a search. Undefined: forget what is known of it. */
  note(caller: Caller, scope: DocumentScope, share: number | undefined): void {
    if (scope.condition !== undefined) return;
    const key = keyOf(caller, scope);
    if (share === undefined) {
      this.#seen.delete(key);
      return;
    }
    const before = this.#seen.get(key) || share;
    this.#seen.set(key, share === 0 ? 0 : before + NEWEST_SHARE * (share - before));
  }
}

/**
 * List the numbers of candidates among which `limit` are looked for that a filter leaves, one after the other until
 * there are enough. The last number does not depend on the share, and so neither does what is found.
 */
export function widthsOf(share: number | undefined, limit: number): readonly number[] {
  const most = limit * FACTOR_MAX;
  if (share === undefined || share === 0) return [most];
  const likely = (limit + SPARE_DEVIATIONS * Math.sqrt(limit * (1 - share))) / share;
  const width = Math.ceil(likely / WIDTH_STEP) * WIDTH_STEP;
  return width < most ? [width, most] : [most];
}

function keyOf({ actor }: Caller, { bucketIds, collectionId, filter }: DocumentScope): string {
  return createHash('sha256')
    .update(JSON.stringify([actor, bucketIds, collectionId, filter]))
    .digest('base64');
}
