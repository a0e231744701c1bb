import type { Table } from '@lancedb/lancedb';
import type { Caller } from '../access/caller.ts';
import { holdsHidden } from '../documents/store.ts';
import type { EmbeddedTexts } from '../embedding/embedder.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import { awaitLater } from '../platform/await-later.ts';
import type { Sql } from '../platform/postgres.ts';
import { collapse } from './collapse.ts';
import {
  type DocumentScope,
  findLiveDocuments,
  type IndexTable,
  isFiltered,
  listLiveDocumentIds,
} from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { type Candidate, type LegOptions, searchKeywords, searchVectors } from './legs.ts';
import { type PreparedQuery, prepareQuery, type QueryVector } from './prepare-query.ts';
import { hasStaleDocument, type RankedChunk, rank } from './rank.ts';
import type { SearchRequest } from './schema.ts';

/** Candidates that each leg fetches first. */
const CANDIDATES_MIN = 60;
/** Most candidates that a leg fetches when the caller may not see most of them. */
const CANDIDATES_MAX = 3_200;
/** A filter that leaves at most this many documents is passed to the index; a wider one is applied after it. */
const PREFILTER_DOCUMENTS_MAX = 1_000;
/** When hidden chunks displace the visible ones, up to this many visible documents are passed to the index. */
const VISIBLE_DOCUMENTS_MAX = 10_000;

/** Search of the index of one bucket. */
export interface IndexSearch {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly caller: Caller;
  readonly scope: DocumentScope;
  readonly request: SearchRequest;
  /** Analysed terms of the query. */
  readonly terms: readonly WeightedTerms[];
  /** Chunks to find. */
  readonly wanted: number;
}

export interface Found {
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
  /** At most `wanted` chunks, best first. */
  readonly chunks: readonly RankedChunk[];
  /** True if a found document has a newer generation by now, and none of its chunks was found. */
  readonly isStale: boolean;
}

/** Search a table at the given version or newer, once. `indexTable` is null if the bucket has none. */
export async function searchIndex(
  search: IndexSearch,
  indexTable: IndexTable | null,
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const { sql, tables, caller, scope, request, terms, wanted } = search;
  const table = indexTable && (await tables.openForReading(indexTable.name, indexTable.version));
  const isNarrowed = isFiltered(scope) || scope.collectionId !== null;
  let documentIds = table && isNarrowed ? await listLiveDocumentIds(sql, caller, scope, PREFILTER_DOCUMENTS_MAX) : null;
  const preparing = awaitLater(
    embedding.then((vector) => prepareQuery(request, terms, vector, indexTable?.origin ?? null)),
  );
  // It is asked while the index is searched, so that it takes no time of its own.
  const hides = awaitLater(holdsHidden(sql, caller, scope.bucketId));
  const finish = async (chunks: readonly RankedChunk[], isStale: boolean, ...more: string[]): Promise<Found> => {
    const { embedded } = await embedding;
    return { embedded, warnings: [...(await preparing).warnings, ...more], chunks, isStale };
  };
  if (!table || documentIds?.length === 0) return finish([], false);

  for (let limit = Math.max(CANDIDATES_MIN, wanted * 4); ; limit = Math.min(CANDIDATES_MAX, limit * 4)) {
    // One row more than the limit shows whether a leg has more, and whether the limit cuts a tie.
    const found = await tables.mapErrors(searchLegs(table, search, preparing, { limit: limit + 1, documentIds }));
    const keyword = withinLimit(found.keyword, limit);
    const vector = withinLimit(found.vector, limit);
    const ids = new Set([...keyword, ...vector].map((candidate) => candidate.documentId));
    const live = await findLiveDocuments(sql, caller, scope, [...ids]);
    const candidates = { keyword, vector, live, hides: await hides };
    const perDocumentMax = request.max_per_document ?? null;
    const chunks = collapse(rank(candidates, await preparing), { wanted, perDocumentMax });
    const isStale = hasStaleDocument(candidates);
    const isExhausted = found.keyword.length <= limit && found.vector.length <= limit;
    if (chunks.length >= wanted || isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) {
      return finish(chunks, isStale);
    }
    if (limit < CANDIDATES_MAX) continue;
    // The caller may see almost none of the matches: search the visible documents only.
    documentIds = await listLiveDocumentIds(sql, caller, scope, VISIBLE_DOCUMENTS_MAX);
    if (documentIds === null) {
      const warning =
        'not every match could be looked at, so some results may be missing; narrow the search by a filter';
      return finish(chunks, isStale, warning);
    }
    if (documentIds.length === 0) return finish([], false);
  }
}

/**
 * Take the rows within the limit, but none of a tie that the limit cuts: LanceDB picks different rows of a tie from one
 * query to the next, so the whole tie is left to a wider search. The widest search takes the rows as they are.
 */
function withinLimit(rows: readonly Candidate[], limit: number): readonly Candidate[] {
  const beyond = rows[limit];
  if (beyond === undefined || limit === CANDIDATES_MAX) return rows.slice(0, limit);
  return rows.filter((row) => row.score > beyond.score);
}

/** Search both legs at once; the keyword leg runs while the query is still being embedded. */
async function searchLegs(
  table: Table,
  { request, terms }: IndexSearch,
  preparing: Promise<PreparedQuery>,
  options: LegOptions,
): Promise<{ keyword: Candidate[]; vector: Candidate[] }> {
  const searchByTerms = () => searchKeywords(table, terms, options);
  const [keyword, vector] = await Promise.all([
    request.mode === 'vector'
      ? preparing.then(({ mode }) => (mode === 'keyword' ? searchByTerms() : []))
      : searchByTerms(),
    preparing.then((query) => (query.vector ? searchVectors(table, query.vector, options) : [])),
  ]);
  return { keyword, vector };
}
