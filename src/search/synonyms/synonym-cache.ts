import { LRUCache } from 'lru-cache';
import type { Sql } from '../../platform/postgres.ts';
import type { BucketIndex } from '../bucket-index-store.ts';
import { compileSynonyms, type Synonyms } from './expand-terms.ts';
import { listSynonyms } from './synonym-store.ts';

/** Maximum number of cached phrases, over all buckets. Each takes about 300 bytes. */
const PHRASES_MAX = 50_000;

/** Bucket's index, with the synonyms for its searches. */
export interface SearchedIndex extends BucketIndex {
  readonly synonyms: Synonyms | null;
}

/** Cache of analysed synonyms per bucket, keyed by the id of their last edit. */
export class SynonymCache {
  readonly #byEdit = new LRUCache<string, Synonyms>({ maxSize: PHRASES_MAX });

  /** Return an index with its synonyms if cached, otherwise undefined. */
  known(index: BucketIndex): SearchedIndex | undefined {
    if (index.synonymsEdit === null) return { ...index, synonyms: null };
    const synonyms = this.#byEdit.get(index.synonymsEdit);
    return synonyms && { ...index, synonyms };
  }

  /** Add synonyms to indexes. Read all uncached ones in one query. */
  async load(sql: Sql, indexes: readonly BucketIndex[]): Promise<SearchedIndex[]> {
    const found = indexes.map((index) => this.known(index));
    const missing = indexes.filter((_, at) => found[at] === undefined).map(({ bucketId }) => bucketId);
    const read = missing.length === 0 ? [] : await listSynonyms(sql, missing);
    const compiled = new Map<string, Synonyms>();
    for (const { bucketId, editId, groups } of read) {
      const synonyms = compileSynonyms(groups);
      compiled.set(bucketId, synonyms);
      this.#byEdit.set(editId, synonyms, { size: groups.reduce((sum, { length }) => sum + length, 1) });
    }
    return indexes.map((index, at) => found[at] ?? { ...index, synonyms: compiled.get(index.bucketId) ?? null });
  }
}
