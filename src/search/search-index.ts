import type { EmbeddedTexts } from '../embedding/embedder.ts';
import type { Candidate, ChunkIndex, ChunkReader, LegOptions } from '../index/chunk-index.ts';
import { type IndexTable, originOf } from '../index/index-store.ts';
import { spelledWords } from '../language/spelled-words.ts';
import { awaitLater } from '../platform/await-later.ts';
import { traced } from '../platform/tracing.ts';
import type { AnalysedQuery } from './analyse-query.ts';
import { type DocumentScope, isFiltered } from './documents/document-store.ts';
import type { LiveDocuments } from './documents/live-documents.ts';
import { CANDIDATES_MIN } from './fuse.ts';
import { type PreparedQuery, prepareQuery, type QueryVector } from './prepare-query.ts';
import { type FoundChunk, hasStaleDocument, type JudgedChunk, type Legs, rank } from './rank.ts';
import { countWords, judgeChunks } from './relevance/judge.ts';
import { type CorrectedWord, describeCorrections } from './results/describe-corrections.ts';
import { readBest } from './results/read-best.ts';
import { readCosines, sampleBackground } from './sample-background.ts';
import type { SearchRequest } from './schema.ts';

/** Initial number of candidates per leg in a hybrid search: the minimum, and candidates for each chunk to find. */
const HYBRID_CANDIDATES = { min: CANDIDATES_MIN, perChunk: 4 };
/** The same in a search with one leg. It needs fewer, since no fusion reorders them. */
const SINGLE_CANDIDATES = { min: 20, perChunk: 2 };
/** Maximum number of candidates per leg, reached if the caller may see few of them. */
const CANDIDATES_MAX = 3_200;
/** Growth factor of the number of candidates while too few are visible. */
const WIDENING = 4;
/**
 * Visible share of the candidates, one in this many, below which the visible documents are listed at once if they are
 * in memory. Otherwise, a caller in one of a thousand groups waits 8 times as long as one who sees everything.
 */
const SPARSE = 16;
const NOT_ALL = 'there were too many matches to check, so some results may be missing; narrow the search with a filter';
/**
 * Maximum number of documents to list for the index: those that the filter selects, or, if `CANDIDATES_MAX` candidates
 * were not enough, all that the caller may see.
 */
const LISTED_DOCUMENTS_MAX = 10_000;

/** Search of the indexes of buckets whose vectors share a latent space. */
export interface IndexSearch {
  readonly chunks: ChunkIndex;
  readonly documents: LiveDocuments;
  readonly scope: DocumentScope;
  readonly request: SearchRequest;
  readonly query: AnalysedQuery;
  /** Number of chunks to find. */
  readonly wanted: number;
  /** Ids of the buckets that contain documents hidden from the caller. */
  readonly hiding: ReadonlySet<string>;
}

export interface Found {
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
  /** At most `wanted` chunks, best first. */
  readonly chunks: readonly JudgedChunk[];
  /** True if a found document now has another active generation of which no chunk was found. */
  readonly isStale: boolean;
  readonly corrected: readonly CorrectedWord[];
  /** All terms of the keyword leg. */
  readonly terms: ReadonlySet<string>;
}

/**
 * Search each table once, at the given version or a newer one.
 *
 * @param indexTables tables of the buckets
 * @throws ReaderGone if the search must be repeated
 */
export function searchIndex(
  search: IndexSearch,
  indexTables: readonly IndexTable[],
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const attributes = () => ({ 'service.indexes': indexTables.length, 'service.top_k': search.wanted });
  return traced('search index', attributes, () => searchTables(search, indexTables, embedding));
}

async function searchTables(
  search: IndexSearch,
  indexTables: readonly IndexTable[],
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const { request, query, hiding } = search;
  // A correction reveals a word of the index, possibly one of a hidden document.
  const spelled = request.correct && hiding.size === 0 ? spelledWords(request.query) : [];
  const reader = await search.chunks.open(indexTables, { ownTerms: query.ownTerms, spelled });
  const preparing = awaitLater(
    embedding.then((vector) =>
      prepareQuery(request, query, vector, describeTables(indexTables), { showsScores: hiding.size === 0 }),
    ),
  );
  const sampling = awaitLater(sampleBackground(search, reader, { embedding, preparing }));
  const background = awaitLater(sampling.then(({ meanCosine }) => meanCosine));
  const best = reader === null ? NOTHING : await findBest(reader, search, { preparing, background });
  const corrections = reader?.corrections() ?? [];
  const replaced = corrections.map(({ replaced: phrase, by }) => ({ phrase, others: [by] }));
  const sampled = await sampling;
  const cosines = await readCosines(reader, best.chunks, { background: sampled.background, preparing });
  const judged = {
    ...sampled,
    cosines,
    terms: query.sequence,
    language: query.language,
    alternatives: [...query.alternatives, ...replaced],
    words: countWords(request.query),
  };
  return {
    embedded: (await embedding).embedded,
    warnings: [...(await preparing).warnings, ...best.warnings],
    chunks: await judgeChunks(best.chunks, judged),
    isStale: best.isStale,
    corrected: describeCorrections(corrections, best.chunks),
    terms: new Set([...allTerms(query), ...corrections.flatMap(({ by }) => by)]),
  };
}

/** Describe the tables of one pass. Tuned weights apply only if the pass searches a single bucket. */
function describeTables(tables: readonly IndexTable[]): Pick<IndexTable, 'origin' | 'weights'> {
  return { origin: originOf(tables), weights: tables.length === 1 ? (tables[0]?.weights ?? null) : null };
}

function allTerms({ terms, ownTerms }: AnalysedQuery): string[] {
  return [terms, ...ownTerms.values()].flat().flatMap((group) => group.terms);
}

/** Best chunks of a search. */
interface Best {
  readonly chunks: readonly FoundChunk[];
  readonly isStale: boolean;
  readonly warnings: readonly string[];
}

const NOTHING: Best = { chunks: [], isStale: false, warnings: [] };

/**
 * Search both legs, drop the chunks that the caller may not see, and fuse the rest. Fetch more candidates as needed.
 */
async function findBest(
  reader: ChunkReader,
  search: IndexSearch,
  { preparing, background }: { preparing: Promise<PreparedQuery>; background: Promise<number | null> },
): Promise<Best> {
  const { documents, scope, request, wanted, hiding } = search;
  const bounds = { wanted, perDocumentMax: request.max_per_document ?? null };
  const hybridLimit = candidatesFor(wanted, HYBRID_CANDIDATES);
  const isRestricted = isFiltered(scope) || scope.collectionId !== null;
  let documentIds = isRestricted ? await documents.list(LISTED_DOCUMENTS_MAX) : null;
  let isListed = isRestricted;
  /** True if filter and collection select too many documents to list, so that candidates are filtered instead. */
  const isWide = isRestricted && documentIds === null;
  let limit = request.mode === 'hybrid' ? hybridLimit : candidatesFor(wanted, SINGLE_CANDIDATES);
  if (isWide) limit = hybridLimit * WIDENING;
  for (;;) {
    if (documentIds?.length === 0) return NOTHING;
    // Ask for one extra row, which shows whether the leg has more rows and whether the limit cuts a tie.
    const rows = await searchLegs(reader, search, preparing, { limit: limit + 1, documentIds });
    const isExhausted = rows.keyword.length <= limit && rows.vector.length <= limit;
    const live = await documents.find(documentIdsOf(rows));
    const cut = mapLegs(rows, (leg) => withinLimit(leg, limit));
    const legs = isWide ? mapLegs(cut, (leg) => leg.filter(({ documentId }) => live.has(documentId))) : cut;
    const candidates = { ...mapLegs(legs, (leg) => (isWide ? leg.slice(0, hybridLimit) : leg)), live, hiding };
    const ranked = rank(candidates, await preparing, await background);
    const chunks = await readBest(reader, ranked, bounds, documents);
    const best: Best = {
      chunks,
      isStale: hasStaleDocument(candidates),
      warnings: [],
    };
    if (isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) return best;
    // With a wide filter, each leg needs as many candidates as if only the selected documents had been searched.
    const isFull = !isWide || (isFilled(rows.keyword, legs.keyword) && isFilled(rows.vector, legs.vector));
    // A boilerplate chunk ranks about as low as the last of `CANDIDATES_MIN` other chunks, so fetch at least that many.
    if (chunks.length >= wanted && isFull && (limit >= hybridLimit || !hasBoilerplate(legs))) return best;
    // The caller may see almost none of the matches, so search only the visible documents.
    const isSparse = documents.isInMemory && live.size * SPARSE < documentIdsOf(rows).length;
    if (!isListed && (isSparse || limit === CANDIDATES_MAX)) {
      isListed = true;
      documentIds = await documents.list(LISTED_DOCUMENTS_MAX);
      if (documentIds !== null) continue;
    }
    if (limit === CANDIDATES_MAX) return { ...best, warnings: [NOT_ALL] };
    limit = Math.min(CANDIDATES_MAX, limit * WIDENING);
  }

  function isFilled(all: readonly Candidate[], visible: readonly Candidate[]): boolean {
    return all.length <= limit || visible.length >= hybridLimit;
  }
}

function candidatesFor(wanted: number, { min, perChunk }: typeof HYBRID_CANDIDATES): number {
  return Math.max(min, wanted * perChunk);
}

function mapLegs(
  { keyword, vector }: Legs,
  change: (leg: readonly Candidate[]) => readonly Candidate[],
): { keyword: readonly Candidate[]; vector: readonly Candidate[] } {
  return { keyword: change(keyword), vector: change(vector) };
}

function hasBoilerplate({ keyword, vector }: Legs): boolean {
  return [...keyword, ...vector].some(({ isBoilerplate }) => isBoilerplate);
}

function documentIdsOf({ keyword, vector }: Legs): string[] {
  return [...new Set([...keyword, ...vector].map(({ documentId }) => documentId))];
}

/**
 * Truncate rows to the limit. If the limit cuts a tie, drop the whole tie: LanceDB returns different rows of a tie in
 * each query, so leave them to a wider search. The widest search keeps the rows as they are.
 */
function withinLimit(rows: readonly Candidate[], limit: number): readonly Candidate[] {
  const beyond = rows[limit];
  if (beyond === undefined || limit === CANDIDATES_MAX) return rows.slice(0, limit);
  return rows.filter((row) => row.score > beyond.score);
}

/**
 * Search both legs concurrently. In hybrid and keyword mode, the keyword leg doesn't wait for the query vector. In
 * vector mode it runs only if there is no usable vector.
 */
async function searchLegs(
  reader: ChunkReader,
  { request, query }: IndexSearch,
  preparing: Promise<PreparedQuery>,
  options: LegOptions,
): Promise<Legs> {
  const searchKeywords = () => reader.searchKeywords(query.terms, options);
  const [keyword, vector] = await Promise.all([
    request.mode === 'vector'
      ? preparing.then(({ mode }) => (mode === 'keyword' ? searchKeywords() : []))
      : searchKeywords(),
    preparing.then(({ vector }) => (vector ? reader.searchVectors(vector, options) : [])),
  ]);
  return { keyword, vector };
}
