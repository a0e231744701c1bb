import type { Table } from '@lancedb/lancedb';
import type { Caller } from '../access/caller.ts';
import type { EmbeddedTexts } from '../embedding/embedder.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import { awaitLater } from '../platform/await-later.ts';
import type { Sql } from '../platform/postgres.ts';
import { collapse } from './collapse.ts';
import { type DocumentScope, findLiveDocuments, type IndexTable, listLiveDocumentIds } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { type Candidate, type LegOptions, searchKeywords, searchVectors } from './legs.ts';
import { type PreparedQuery, prepareQuery, type QueryVector } from './prepare-query.ts';
import { isAnyOvertaken, type RankedChunk, rank } from './rank.ts';
import type { SearchRequest } from './schema.ts';

/** Candidates that each leg fetches first, and the most it is asked for when most of them may not be seen. */
const CANDIDATES_MIN = 60;
const CANDIDATES_MAX = 3_200;
/** A filter that leaves at most this many documents is handed to the index; a wider one is applied after it. */
const PREFILTER_DOCUMENTS_MAX = 1_000;
/** When what may be seen is crowded out by what may not, up to this many documents are named to the index. */
const VISIBLE_DOCUMENTS_MAX = 10_000;

/** What is looked for in the index of one bucket. */
export interface IndexSearch {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly caller: Caller;
  readonly scope: DocumentScope;
  readonly request: SearchRequest;
  /** Of the query, analysed. */
  readonly terms: readonly WeightedTerms[];
  /** Chunks to find. */
  readonly wanted: number;
}

export interface Found {
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
  /** At most as many as are wanted, best first. */
  readonly chunks: readonly RankedChunk[];
  /** Of a document that was found, PostgreSQL names other chunks by now, and none of those was found. */
  readonly isOvertaken: boolean;
}

/** One search of one table, or newer, whatever becomes of it meanwhile. `indexTable` null: the bucket has none. */
export async function searchIndex(
  search: IndexSearch,
  indexTable: IndexTable | null,
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const { sql, tables, caller, scope, request, terms, wanted } = search;
  const table = indexTable && (await tables.read(indexTable.name, indexTable.version));
  const isNarrowed = scope.filter !== null || scope.collectionId !== null;
  let documentIds = table && isNarrowed ? await listLiveDocumentIds(sql, caller, scope, PREFILTER_DOCUMENTS_MAX) : null;
  const preparing = awaitLater(
    embedding.then((vector) => prepareQuery(request, terms, vector, indexTable?.space ?? null)),
  );
  const finish = async (chunks: readonly RankedChunk[], isOvertaken: boolean, ...more: string[]): Promise<Found> => {
    const { embedded } = await embedding;
    return { embedded, warnings: [...(await preparing).warnings, ...more], chunks, isOvertaken };
  };
  if (!table || documentIds?.length === 0) return finish([], false);

  for (let limit = Math.max(CANDIDATES_MIN, wanted * 4); ; limit = Math.min(CANDIDATES_MAX, limit * 4)) {
    // One row more than the limit tells whether a leg has more, and whether the limit cuts a tie.
    const found = await tables.reach(searchLegs(table, search, preparing, { limit: limit + 1, documentIds }));
    const keyword = withinLimit(found.keyword, limit);
    const vector = withinLimit(found.vector, limit);
    const ids = new Set([...keyword, ...vector].map((candidate) => candidate.documentId));
    const live = await findLiveDocuments(sql, caller, scope, [...ids]);
    const candidates = { keyword, vector, live };
    const perDocumentMax = request.max_per_document ?? null;
    const chunks = collapse(rank(candidates, await preparing), { wanted, perDocumentMax });
    const isOvertaken = isAnyOvertaken(candidates);
    const isExhausted = found.keyword.length <= limit && found.vector.length <= limit;
    if (chunks.length >= wanted || isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) {
      return finish(chunks, isOvertaken);
    }
    if (limit < CANDIDATES_MAX) continue;
    // Nearly all that matches may not be seen: name what may be, so that it cannot be crowded out.
    documentIds = await listLiveDocumentIds(sql, caller, scope, VISIBLE_DOCUMENTS_MAX);
    if (documentIds === null) {
      const warning =
        'too many matches may not be shown, so some that may be are missing; narrow the search by a filter';
      return finish(chunks, isOvertaken, warning);
    }
    if (documentIds.length === 0) return finish([], false);
  }
}

/**
 * Rows in front of the limit, and of a tie that it cuts none: which rows of a tie LanceDB picks differs from one query
 * to the next, so the whole tie is left to a wider search. The widest one takes what it is given.
 */
function withinLimit(rows: readonly Candidate[], limit: number): readonly Candidate[] {
  const beyond = rows[limit];
  if (beyond === undefined || limit === CANDIDATES_MAX) return rows.slice(0, limit);
  return rows.filter((row) => row.score > beyond.score);
}

/** Both legs at once; keywords are looked up while the query is still being embedded. */
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
