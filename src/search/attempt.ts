import type { Caller } from '../access/caller.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { type ChunkIndex, ReaderGone } from '../index/chunk-index.ts';
import { isSameTable, originOf } from '../index/index-store.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { analyseQuery } from './analyse-query.ts';
import type { DocumentCopies } from './documents/document-copies.ts';
import type { DocumentCondition, DocumentScope } from './documents/document-store.ts';
import { askForDocuments, documentsInMemory } from './documents/live-documents.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import type { SearchTarget } from './read-target.ts';
import type { SearchRequest } from './schema.ts';
import { type Found, searchIndex } from './search-index.ts';
import type { SearchedIndex, SynonymCache } from './synonyms/synonym-cache.ts';

/** Maximum number of attempts at a search whose index keeps changing. */
const TRIES_MAX = 3;

export interface AttemptContext {
  readonly sql: Sql;
  readonly chunks: ChunkIndex;
  /** In-memory copies of document facts; null to ask PostgreSQL. */
  readonly documents: DocumentCopies | null;
  readonly embedder: Embedder;
  readonly synonyms: SynonymCache;
}

/** Search of one or several buckets. */
export interface SearchInput {
  readonly context: AttemptContext;
  readonly caller: Caller;
  readonly request: SearchRequest;
  /** Number of chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
  /** Condition on documents that only PostgreSQL can test, since no filter can express it. */
  readonly condition?: DocumentCondition | undefined;
}

/**
 * Search the indexes of a target, one pass per latent space. If an index changed meanwhile, search again, at most three
 * times in all: visible chunks may have moved to a newer version of the table or to another table.
 *
 * @param readTarget reads the current versions of the indexes
 * @returns target of the returned results, and the findings of each pass
 */
export async function searchTarget(
  input: SearchInput,
  readTarget: () => Promise<SearchTarget>,
): Promise<{ target: SearchTarget; found: Found[] }> {
  const embed = queryEmbedder(input);
  let target = await readTarget();
  for (let tries = 1; ; tries++) {
    const outcome = await searchOnce(input, target, embed).catch((error: unknown) => {
      if (error instanceof AppError || input.signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.some(({ isStale }) => isStale)) return { target, found: outcome };
    const before = target;
    target = await readTarget();
    const isReaderGone = 'error' in outcome && outcome.error instanceof ReaderGone;
    if (tries === TRIES_MAX || (isSameTarget(before, target) && !isReaderGone)) {
      if ('error' in outcome) throw outcome.error;
      return { target: before, found: outcome };
    }
  }
}

/** Return a function that embeds the query once per latent space. */
function queryEmbedder({ context, caller, request, signal }: SearchInput) {
  const bySpace = new Map<string, Promise<QueryVector>>();
  return (indexes: readonly SearchedIndex[]): Promise<QueryVector> => {
    const origin = originOf(indexes.map(({ indexTable }) => indexTable));
    const space = origin?.space ?? '';
    const embedding = bySpace.get(space) ?? awaitLater(embedQuery(context.embedder, caller, request, origin, signal));
    bySpace.set(space, embedding);
    return embedding;
  };
}

function searchOnce(
  input: SearchInput,
  target: SearchTarget,
  embed: (indexes: readonly SearchedIndex[]) => Promise<QueryVector>,
): Promise<Found[]> {
  const { context, request, wanted } = input;
  const passes = groupBySpace(target.indexes).map((indexes) => {
    const scope: DocumentScope = {
      bucketIds: indexes.map(({ bucketId }) => bucketId),
      collectionId: target.collectionId,
      filter: request.filter ?? null,
      condition: input.condition,
    };
    const documents = documentsFor(input, target, scope);
    const query = analyseQuery(request.query, indexes);
    const search = { chunks: context.chunks, documents, scope, request, query, wanted, hiding: target.hiding };
    return searchIndex(
      search,
      indexes.flatMap(({ indexTable }) => indexTable ?? []),
      embed(indexes),
    );
  });
  return Promise.all(passes);
}

function documentsFor({ context, caller }: SearchInput, { copy }: SearchTarget, scope: DocumentScope) {
  const isInMemory = copy !== null && scope.condition === undefined && copy.canSelect(scope);
  return isInMemory ? documentsInMemory(copy, caller, scope) : askForDocuments(context.sql, caller, scope);
}

/**
 * Group buckets by the latent space of their vectors. Buckets without vectors join the first group that has vectors.
 */
function groupBySpace(indexes: readonly SearchedIndex[]): SearchedIndex[][] {
  const spaceOf = ({ indexTable }: SearchedIndex) => indexTable?.origin?.space;
  const first = indexes.map(spaceOf).find((space) => space !== undefined);
  return [...Map.groupBy(indexes, (index) => spaceOf(index) ?? first).values()];
}

function isSameTarget(before: SearchTarget, now: SearchTarget): boolean {
  return now.indexes.every(({ bucketId, indexTable }) => {
    const other = before.indexes.find((each) => each.bucketId === bucketId);
    return isSameTable(indexTable, other?.indexTable ?? null);
  });
}
