import type { Caller } from '../access/caller.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { analyse, weighTerms } from '../language/analyser.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import {
  type BucketIndex,
  type DocumentCondition,
  getIndexTable,
  type IndexTable,
  isSameTable,
} from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import type { SearchRequest } from './schema.ts';
import { type Found, type IndexSearch, searchIndex } from './search-index.ts';

/** Times that a search is tried while its index changes. */
const TRIES_MAX = 3;

export interface AttemptContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly embedder: Embedder;
}

/** Input of a search. */
export interface SearchInput {
  readonly context: AttemptContext;
  readonly caller: Caller;
  readonly bucketRef: string;
  readonly request: SearchRequest;
  /** Chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
  /** Further condition on documents. */
  readonly condition?: DocumentCondition | undefined;
}

/** Search of one version of an index that is in progress. */
export interface Attempt {
  readonly search: IndexSearch;
  readonly index: BucketIndex;
  readonly embedding: Promise<QueryVector>;
  readonly outcome: Promise<Found>;
}

/** @param embedding embedding of an earlier attempt at the same search, so that the query is embedded once */
export function beginAttempt(
  { context, caller, request, wanted, signal, condition }: SearchInput,
  index: BucketIndex,
  collectionId: string | null,
  embedding = awaitLater(embedQuery(context.embedder, caller, request, index.indexTable?.origin ?? null, signal)),
): Attempt {
  const search: IndexSearch = {
    ...{ sql: context.sql, tables: context.tables, caller, request, wanted },
    scope: { bucketId: index.bucketId, collectionId, filter: request.filter ?? null, condition },
    terms: weighTerms(analyse(request.query)),
  };
  return { search, index, embedding, outcome: awaitLater(searchIndex(search, index.indexTable, embedding)) };
}

/** Return the query's vector of an earlier attempt if it can be compared with the vectors of this table. */
export function reusableEmbedding(
  earlier: Attempt | undefined,
  indexTable: IndexTable | null,
): Promise<QueryVector> | undefined {
  const isSameSpace = earlier?.index.indexTable?.origin?.space === indexTable?.origin?.space;
  return isSameSpace ? earlier?.embedding : undefined;
}

/**
 * Wait for the outcome of an attempt, and search again if the index has changed meanwhile: visible chunks may have been
 * written to a newer version of the table or to another table, and reading a version fails once a deletion has removed
 * it from the storage.
 */
export async function finishAttempt(input: SearchInput, first: Attempt): Promise<Found> {
  const { bucketId } = first.index;
  let attempt = first;
  for (let tries = 1; ; tries++) {
    const outcome = await attempt.outcome.catch((error: unknown) => {
      if (error instanceof AppError || input.signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.isStale) return outcome;
    const indexTable = await getIndexTable(input.context.sql, bucketId);
    if (isSameTable(indexTable, attempt.index.indexTable) || tries === TRIES_MAX) {
      if ('error' in outcome) throw outcome.error;
      return outcome;
    }
    const { collectionId } = attempt.search.scope;
    attempt = beginAttempt(input, { bucketId, indexTable }, collectionId, reusableEmbedding(attempt, indexTable));
  }
}
