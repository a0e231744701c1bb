import type { Caller } from '../access/caller.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { analyse, weighTerms } from '../language/analyser.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { type BucketIndex, getIndexTable, isSameTable } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import type { SearchRequest } from './schema.ts';
import { type Found, type IndexSearch, searchIndex } from './search-index.ts';

/** How often a search is done on an index that moves on under it. */
const TRIES_MAX = 3;

export interface AttemptContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly embedder: Embedder;
}

/** A search as it was asked for. */
export interface Asked {
  readonly context: AttemptContext;
  readonly caller: Caller;
  readonly bucketRef: string;
  readonly request: SearchRequest;
  /** Chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
}

/** A search of one version of an index, under way. */
export interface Attempt {
  readonly search: IndexSearch;
  readonly at: BucketIndex;
  readonly embedding: Promise<QueryVector>;
  readonly outcome: Promise<Found>;
}

/** @param embedding of an earlier attempt at the same search, so that its query is embedded once */
export function beginAttempt(
  { context, caller, request, wanted, signal }: Asked,
  at: BucketIndex,
  collectionId: string | null,
  embedding = awaitLater(embedQuery(context.embedder, caller, request, signal)),
): Attempt {
  const search: IndexSearch = {
    ...{ sql: context.sql, tables: context.tables, caller, request, wanted },
    scope: { bucketId: at.bucketId, collectionId, filter: request.filter ?? null },
    terms: weighTerms(analyse(request.query)),
  };
  return { search, at, embedding, outcome: awaitLater(searchIndex(search, at.indexTable, embedding)) };
}

/**
 * Wait for the outcome of an attempt, and search again where the index has moved on under it: what is visible now may
 * have been written into a newer version of the table or into another table, and reading a version fails once a
 * deletion has taken it off the storage.
 */
export async function finishAttempt(asked: Asked, first: Attempt): Promise<Found> {
  const { bucketId } = first.at;
  let attempt = first;
  for (let tries = 1; ; tries++) {
    const outcome = await attempt.outcome.catch((error: unknown) => {
      if (error instanceof AppError || asked.signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.isOvertaken) return outcome;
    const indexTable = await getIndexTable(asked.context.sql, bucketId);
    if (isSameTable(indexTable, attempt.at.indexTable) || tries === TRIES_MAX) {
      if ('error' in outcome) throw outcome.error;
      return outcome;
    }
    attempt = beginAttempt(asked, { bucketId, indexTable }, attempt.search.scope.collectionId, attempt.embedding);
  }
}
