import type { Caller } from '../access/caller.ts';
import { filterHiding } from '../documents/store.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { analyse, type WeightedTerms, weighTerms } from '../language/analyser.ts';
import { findCodeForms } from '../language/code-forms.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { DocumentCopies } from './documents/document-copies.ts';
import type { DocumentCondition } from './documents/document-store.ts';
import { askForDocuments, documentsInMemory, type SearchedCopy } from './documents/live-documents.ts';
import type { FilterShares } from './filter-shares.ts';
import { getIndexTable, isSameTable, originOf } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import type { RowSamples } from './relevance/row-samples.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';
import type { SearchRequest } from './schema.ts';
import { type Found, type IndexSearch, searchIndex } from './search-index.ts';
import { type Alternatives, expandTerms, findAlternatives } from './synonyms/expand-terms.ts';
import type { SearchedIndex, SynonymCache } from './synonyms/synonym-cache.ts';

/** Times that a search is tried while its index changes. */
const TRIES_MAX = 3;

export interface AttemptContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  /** Null: searches use only the tables. */
  readonly resident: ResidentIndexes | null;
  /** Samples of rows that results are judged by. */
  readonly samples: RowSamples;
  readonly filterShares: FilterShares;
  /** Copies of the facts of documents; null: PostgreSQL is asked. */
  readonly documents: DocumentCopies | null;
  readonly embedder: Embedder;
  readonly synonyms: SynonymCache;
}

/** Input of an attempt. */
export interface AttemptInput {
  readonly context: AttemptContext;
  readonly caller: Caller;
  readonly request: SearchRequest;
  /** Chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
  /** Further condition on documents. */
  readonly condition?: DocumentCondition | undefined;
}

/** Input of a search of one bucket. */
export interface SearchInput extends AttemptInput {
  readonly bucketRef: string;
}

/** Search of one version of each index that is in progress. */
export interface Attempt {
  readonly search: IndexSearch;
  readonly indexes: readonly SearchedIndex[];
  readonly embedding: Promise<QueryVector>;
  readonly outcome: Promise<Found>;
}

/** Facts that are known before an attempt begins. */
interface KnownBefore {
  readonly collectionId: string | null;
  /** Ids of the buckets that hold documents which the caller may not see; without it PostgreSQL is asked. */
  readonly hiding?: Promise<ReadonlySet<string>>;
  /** Copy of the documents of the only bucket; without it PostgreSQL is asked. */
  readonly copy?: SearchedCopy | undefined;
  /** Embedding of an earlier attempt at the same search, so that the query is embedded once. */
  readonly embedding?: Promise<QueryVector> | undefined;
}

/** @param indexes of the buckets to search, whose vectors are of one latent space */
export function beginAttempt(
  { context, caller, request, wanted, signal, condition }: AttemptInput,
  indexes: readonly SearchedIndex[],
  { collectionId, ...known }: KnownBefore,
): Attempt {
  const { sql, tables, resident, samples, filterShares } = context;
  const bucketIds = indexes.map(({ bucketId }) => bucketId);
  const hiding = known.hiding ?? awaitLater(filterHiding(sql, caller, bucketIds));
  const embedding =
    known.embedding ?? awaitLater(embedQuery(context.embedder, caller, request, originOfAll(indexes), signal));
  const sequence = analyse(request.query);
  const terms = weighTerms(sequence);
  const scope = { bucketIds, collectionId, filter: request.filter ?? null, condition };
  const asked = askForDocuments(sql, caller, scope, filterShares);
  const isInMemory = known.copy?.begun.canSelect(scope) && condition === undefined;
  const documents = known.copy && isInMemory ? documentsInMemory(known.copy, caller, scope, asked) : asked;
  const search: IndexSearch = {
    ...{ tables, resident, samples, scope, request, wanted, hiding, documents, copyVersions: new Map() },
    ...{ sequence, terms, ...expandByTable(request.query, sequence, terms, indexes) },
  };
  const indexTables = indexes.flatMap(({ indexTable }) => indexTable ?? []);
  return { search, indexes, embedding, outcome: awaitLater(searchIndex(search, indexTables, embedding)) };
}

/** Expand the terms of a query by other forms of its codes, and by the synonyms of each bucket. */
function expandByTable(
  query: string,
  sequence: readonly string[],
  terms: readonly WeightedTerms[],
  indexes: readonly SearchedIndex[],
) {
  const codes = findCodeForms(query);
  const alternatives: Alternatives[] = [...codes];
  const ownTerms = new Map<string, readonly WeightedTerms[]>();
  for (const { indexTable, synonyms } of indexes) {
    if (indexTable === null || (synonyms === null && codes.length === 0)) continue;
    const own = synonyms === null ? [] : findAlternatives(sequence, synonyms);
    const expanded = expandTerms(terms, [...codes, ...own]);
    if (expanded) ownTerms.set(indexTable.name, expanded);
    alternatives.push(...own);
  }
  return { ownTerms, alternatives };
}

/** Return the query's vector of an earlier attempt if it can be compared with the vectors of this index. */
export function reusableEmbedding(
  earlier: Attempt | undefined,
  { indexTable }: SearchedIndex,
): Promise<QueryVector> | undefined {
  const isSameSpace = earlier && originOfAll(earlier.indexes)?.space === indexTable?.origin?.space;
  return isSameSpace ? earlier.embedding : undefined;
}

/**
 * Wait for the outcome of an attempt, and search again if an index has changed meanwhile: visible chunks may have been
 * written to a newer version of the table or to another table, and reading a version fails once a deletion has removed
 * it from the storage.
 *
 * @param retry reads the indexes again, and begins the next attempt
 */
export async function finishAttempts<A extends readonly Attempt[]>(
  first: A,
  signal: AbortSignal | undefined,
  retry: { readIndexes(): Promise<SearchedIndex[]>; begin(indexes: readonly SearchedIndex[]): A },
): Promise<{ attempts: A; found: Found[] }> {
  let attempts = first;
  for (let tries = 1; ; tries++) {
    const outcome = await Promise.all(attempts.map((attempt) => attempt.outcome)).catch((error: unknown) => {
      if (error instanceof AppError || signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.some(({ isStale }) => isStale)) return { attempts, found: outcome };
    const before = attempts.flatMap(({ indexes }) => indexes);
    const now = await retry.readIndexes();
    const isSame = now.every(({ bucketId, indexTable }) =>
      isSameTable(indexTable, before.find((each) => each.bucketId === bucketId)?.indexTable ?? null),
    );
    if (isSame || tries === TRIES_MAX) {
      if ('error' in outcome) throw outcome.error;
      return { attempts, found: outcome };
    }
    attempts = retry.begin(now);
  }
}

/** Finish the search of one bucket. */
export async function finishAttempt(input: SearchInput, first: Attempt): Promise<Found> {
  const [index] = first.indexes as [SearchedIndex];
  const { collectionId } = first.search.scope;
  let latest = first;
  const { found } = await finishAttempts([first], input.signal, {
    readIndexes: async () => [{ ...index, indexTable: await getIndexTable(input.context.sql, index.bucketId) }],
    begin: (indexes) => {
      const embedding = reusableEmbedding(latest, indexes[0] as SearchedIndex);
      latest = beginAttempt(input, indexes, { collectionId, embedding });
      return [latest];
    },
  });
  return found[0] as Found;
}

function originOfAll(indexes: readonly SearchedIndex[]) {
  return originOf(indexes.map(({ indexTable }) => indexTable));
}
