import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../access/caller.ts';
import type { DocumentScope } from './index-store.ts';

const FILTERS_MAX = 10_000;
/** Time after which a filter may have become a wide one. */
const KEPT_MS = 60_000;

/**
 * Filters of a caller's searches that left few documents lately. A search with one of them lists its documents at once;
 * with another filter it first searches all documents in memory, which is faster if the filter is wide. Both find the
 * same. Filters of one caller tell nothing about those of another, not even by the time that a search takes.
 */
export class NarrowFilters {
  readonly #seen = new LRUCache<string, true>({ max: FILTERS_MAX, ttl: KEPT_MS });

  has(caller: Caller, scope: DocumentScope): boolean {
    return scope.condition === undefined && this.#seen.has(keyOf(caller, scope));
  }

  /** Note whether the filter of a search is narrow. */
  note(caller: Caller, scope: DocumentScope, isNarrow: boolean): void {
    if (scope.condition !== undefined) return;
    if (isNarrow) this.#seen.set(keyOf(caller, scope), true);
    else this.#seen.delete(keyOf(caller, scope));
  }
}

function keyOf({ actor }: Caller, { bucketIds, collectionId, filter }: DocumentScope): string {
  return createHash('sha256')
    .update(JSON.stringify([actor, bucketIds, collectionId, filter]))
    .digest('base64');
}
