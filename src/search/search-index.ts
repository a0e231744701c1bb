import type { EmbeddedTexts } from '../embedding/embedder.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import { spelledWords } from '../language/spelled-words.ts';
import { awaitLater } from '../platform/await-later.ts';
import { traced } from '../platform/tracing.ts';
import { LEXICAL_SPACE } from '../projection/projections.ts';
import type { ChunkSource } from './chunk-source.ts';
import { type CorrectedWord, describeCorrections } from './describe-corrections.ts';
import { type DocumentScope, isFiltered, type LiveDocument } from './documents/document-store.ts';
import type { LiveDocuments } from './documents/live-documents.ts';
import { widthsOf } from './filter-shares.ts';
import { type IndexTable, originOf } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import type { Candidate, LegOptions, Passage } from './legs.ts';
import { openSource } from './open-source.ts';
import { type PreparedQuery, prepareQuery, type QueryVector } from './prepare-query.ts';
import { type FoundChunk, hasStaleDocument, type JudgedChunk, presumeOrder, rank } from './rank.ts';
import { PASSAGES_BEYOND, readBest } from './read-best.ts';
import { judgeChunks } from './relevance/judge.ts';
import type { RowSamples } from './relevance/row-samples.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';
import { ResidentGone } from './resident/resident-source.ts';
import { sampleBackground } from './sample-background.ts';
import type { SearchRequest } from './schema.ts';
import type { Alternatives } from './synonyms/expand-terms.ts';

/** Candidates that each leg fetches first, and those of a search with one leg, whose ranks are those of the result. */
const CANDIDATES_MIN = 60;
const SINGLE_CANDIDATES_MIN = 20;
/** Most candidates that a leg fetches when the caller may not see most of them. */
const CANDIDATES_MAX = 3_200;
/** A filter that leaves at most this many documents is passed to the index; a wider one is applied after it. */
const PREFILTER_DOCUMENTS_MAX = 2_000;
/** Up to so many documents of a filter are checked while their chunks are searched. */
const CHECKED_AT_ONCE_MAX = 50;
/** Candidates of the keyword leg among which are nearly always those that a fused order of the built-in model begins with, for each. */
const FUSED_FACTOR = 1.75;
/** Bound of the candidates that are presumed to be shown for each one that is, since a filter may exclude the others. */
const PRESUMED_FACTOR_MAX = 4;
/** When hidden chunks displace the visible ones, up to this many visible documents are passed to the index. */
const VISIBLE_DOCUMENTS_MAX = 10_000;

/** Search of the indexes of one or several buckets whose vectors are of one latent space. */
export interface IndexSearch {
  readonly tables: LanceTables;
  readonly resident: ResidentIndexes | null;
  readonly samples: RowSamples;
  readonly documents: LiveDocuments;
  readonly scope: DocumentScope;
  readonly request: SearchRequest;
  /** Analysed terms of the query. */
  readonly terms: readonly WeightedTerms[];
  /** The same terms in their order. */
  readonly sequence: readonly string[];
  /** Phrases of the query that have synonyms in one of the buckets. */
  readonly alternatives: readonly Alternatives[];
  /** Terms that are searched in place of those in a table, by its name: with the synonyms of its bucket. */
  readonly ownTerms: ReadonlyMap<string, readonly WeightedTerms[]>;
  /** Chunks to find. */
  readonly wanted: number;
  /** Versions of the copies in memory that are searched, by the name of the table, once they are open. */
  readonly copyVersions: Map<string, number>;
  /** Ids of the buckets that hold documents which the caller may not see. */
  readonly hiding: Promise<ReadonlySet<string>>;
}

export interface Found {
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
  /** At most `wanted` chunks, best first. */
  readonly chunks: readonly JudgedChunk[];
  /** True if a found document has a newer generation by now, and none of its chunks was found. */
  readonly isStale: boolean;
  readonly corrected: readonly CorrectedWord[];
  /** All terms that the keyword leg looks for. */
  readonly terms: ReadonlySet<string>;
}

/**
 * Search tables at the given versions or newer ones, once.
 *
 * @param indexTables those that the buckets have
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
  try {
    return await searchSource(search, indexTables, embedding);
  } catch (error) {
    if (!(error instanceof ResidentGone)) throw error;
    // At the versions of the copies, which may have been newer.
    const sameTables = indexTables.map((each) => ({
      ...each,
      version: Math.max(each.version, search.copyVersions.get(each.name) ?? 0),
    }));
    return searchSource({ ...search, resident: null }, sameTables, embedding);
  }
}

/** Describe tables that are searched in one pass. Only a bucket that is searched alone has weights of its own. */
function asOne(tables: readonly IndexTable[]): Pick<IndexTable, 'origin' | 'weights'> {
  return { origin: originOf(tables), weights: tables.length === 1 ? (tables[0]?.weights ?? null) : null };
}

async function searchSource(
  search: IndexSearch,
  indexTables: readonly IndexTable[],
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const { documents, scope, request, terms, wanted, hiding } = search;
  const words = request.correct ? spelledWords(request.query) : [];
  const mayCorrect = async () => (await hiding).size === 0;
  const source = await openSource({ ...search, spelling: { words, mayCorrect } }, indexTables);
  const preparing = awaitLater(embedding.then((vector) => prepareQuery(request, terms, vector, asOne(indexTables))));
  const { sample, finish } = judgeOf(search, source, indexTables, { embedding, preparing });
  if (!source) return finish(NOTHING);
  // A sample is compared after the legs have begun, so as not to delay them; one in memory after their end.
  if (!source.compareSample) setImmediate(sample);
  const find = async (legs: Legs, live: ReadonlyMap<string, LiveDocument>, early?: EarlyPassages): Promise<Best> => {
    const candidates = { ...legs, live, hiding: await hiding };
    const bounds = { wanted, perDocumentMax: request.max_per_document ?? null };
    const ranked = rank(candidates, await preparing);
    const chunks = await readBest(source, ranked, bounds, {
      early,
      readDetails: (ids) => documents.find(ids, () => ids),
    });
    return { chunks, isStale: hasStaleDocument(candidates), lowestCosine: legs.vector.at(-1)?.score ?? null };
  };
  const limitMin = Math.max(CANDIDATES_MIN, wanted * 4);
  // In memory the number of documents plays no role for a search.
  const listed = { documentsMax: PREFILTER_DOCUMENTS_MAX, manyIfUsedOften: source.isInMemory };
  let documentIds: readonly string[] | null = null;
  if (isFiltered(scope) || scope.collectionId !== null) {
    const share = documents.likelyShare(listed);
    if (share !== 0) {
      const visible = await searchThenFilter(source, search, preparing, { limit: limitMin, share });
      sample();
      const found = visible && (await find(visible.legs, visible.live, visible.early));
      if (found && (found.chunks.length >= wanted || visible.isComplete)) return finish(found);
    }
    documentIds = await documents.list(listed);
    documents.noteShare(documentIds === null ? undefined : 0);
  }

  const passages = passagesOfLegs(search, indexTables);
  const first = request.mode === 'hybrid' ? limitMin : Math.max(SINGLE_CANDIDATES_MIN, wanted * 2);
  for (let limit = first; ; ) {
    if (documentIds?.length === 0 && (await documents.confirm(documentIds))) return finish(NOTHING);
    const checkedIds = documentIds !== null && documentIds.length <= CHECKED_AT_ONCE_MAX ? documentIds : null;
    const checkingAll = checkedIds && awaitLater(documents.find(checkedIds, () => checkedIds));
    // One row more than the limit shows whether a leg has more, and whether the limit cuts a tie.
    const rows = await searchLegs(source, search, preparing, { limit: limit + 1, documentIds }, passages);
    sample();
    const legs = { keyword: withinLimit(rows.keyword, limit), vector: withinLimit(rows.vector, limit) };
    const prepared = await preparing;
    const presume = () => presumeOrder(legs, prepared).slice(0, wanted + PASSAGES_BEYOND);
    const haveCome = passages.keyword + passages.vector > 0;
    const likely = haveCome ? null : presume();
    const ids = documentIdsOf([...legs.keyword, ...legs.vector]);
    const checking = checkingAll ?? documents.find(ids, () => documentIdsOf(likely ?? presume()));
    // The texts that will most likely be shown are read while PostgreSQL is asked, unless they have come with the legs.
    const reading = likely ? awaitLater(source.readPassages(likely)) : undefined;
    const found = await find(legs, await checking, reading);
    if (documentIds !== null && !(await documents.confirm(documentIds))) {
      documentIds = await documents.list(listed);
      continue;
    }
    const isExhausted = rows.keyword.length <= limit && rows.vector.length <= limit;
    // Other chunks, down to about the sixtieth, come before a boilerplate one.
    const isEnough = found.chunks.length >= wanted && (limit >= limitMin || !hasBoilerplate(legs));
    if (isEnough || isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) {
      return finish(found);
    }
    if (limit < CANDIDATES_MAX) {
      limit = Math.min(CANDIDATES_MAX, limit * 4);
      continue;
    }
    // The caller may see almost none of the matches: search the visible documents only.
    documentIds = await documents.list({ documentsMax: VISIBLE_DOCUMENTS_MAX, manyIfUsedOften: false });
    if (documentIds === null) {
      const warning =
        'not every match could be looked at, so some results may be missing; narrow the search by a filter';
      return finish(found, warning);
    }
  }
}

/**
 * Make the functions that judge what a search has found.
 *
 * @returns sample: reads what the results are judged by, once; it may be called before the end of the search. finish: judges the best
 *   chunks, with further warnings
 */
function judgeOf(
  search: IndexSearch,
  source: ChunkSource | null,
  indexTables: readonly IndexTable[],
  query: { readonly embedding: Promise<QueryVector>; readonly preparing: Promise<PreparedQuery> },
) {
  let sampling: ReturnType<typeof sampleBackground> | null = null;
  const sample = () => {
    sampling ??= awaitLater(sampleBackground(search, source, indexTables, query));
    return sampling;
  };
  const finish = async ({ chunks: best, isStale, lowestCosine }: Best, ...more: string[]): Promise<Found> => {
    const { embedded } = await query.embedding;
    const corrections = source?.corrections() ?? [];
    const judged = {
      ...{ terms: search.sequence, ...(await sample()), lowestCosine },
      alternatives: [
        ...search.alternatives,
        ...corrections.map(({ replaced, by }) => ({ phrase: replaced, others: [by] })),
      ],
    };
    return {
      ...{ embedded, isStale, warnings: [...(await query.preparing).warnings, ...more] },
      chunks: await judgeChunks(best, judged),
      terms: new Set([...allTerms(search), ...corrections.flatMap(({ by }) => by)]),
      corrected: describeCorrections(corrections, best),
    };
  };
  return { sample, finish };
}

/** Passages that are being read before it is known who may see them. */
type EarlyPassages = Promise<readonly (Candidate & Passage)[]>;

/** Best chunks of a search. */
interface Best {
  readonly chunks: readonly FoundChunk[];
  readonly isStale: boolean;
  /** Cosine of the last candidate of the vector leg; null: it has none. */
  readonly lowestCosine: number | null;
}

const NOTHING: Best = { chunks: [], isStale: false, lowestCosine: null };

/** Candidates of both legs, best first. */
interface Legs {
  readonly keyword: readonly Candidate[];
  readonly vector: readonly Candidate[];
}

/** Candidates that a filter leaves, and their documents. */
interface VisibleLegs {
  readonly legs: Legs;
  readonly live: ReadonlyMap<string, LiveDocument>;
  readonly early: EarlyPassages;
  /** True: there are no other visible candidates. */
  readonly isComplete: boolean;
}

/**
 * Search a source in memory without the filter, and leave out what the filter excludes. A wide filter needs no list of its
 * documents then, and the result is what a search of that list finds. Null: the source is a table, or a leg may have
 * more visible candidates than were found.
 *
 * The candidates that will most likely be shown, and those that the filter excludes among them, are read while PostgreSQL is
 * asked.
 */
async function searchThenFilter(
  source: ChunkSource,
  search: IndexSearch,
  preparing: Promise<PreparedQuery>,
  { limit, share }: { readonly limit: number; readonly share: number | undefined },
): Promise<VisibleLegs | null> {
  if (!source.isInMemory) return null;
  const { documents, wanted } = search;
  for (const width of widthsOf(share, limit)) {
    const rows = await searchLegs(source, search, preparing, { limit: width + 1, documentIds: null });
    const shown = Math.ceil((wanted + PASSAGES_BEYOND) * Math.min(PRESUMED_FACTOR_MAX, width / limit));
    const likely = presumeOrder(rows, await preparing).slice(0, shown);
    const checking = documents.find(documentIdsOf([...rows.keyword, ...rows.vector]), () => documentIdsOf(likely));
    const early = awaitLater(source.readPassages(likely));
    const live = await checking;
    const isVisible = ({ documentId }: Candidate) => live.has(documentId);
    const [keyword, vector] = [rows.keyword.filter(isVisible), rows.vector.filter(isVisible)];
    const isAllFound = (all: readonly Candidate[], visible: readonly Candidate[]) =>
      all.length <= width || visible.length > limit;
    if (!isAllFound(rows.keyword, keyword) || !isAllFound(rows.vector, vector)) continue;
    const [all, left] = [rows.keyword.length + rows.vector.length, keyword.length + vector.length];
    if (left > 0) documents.noteShare(left / all);
    return {
      ...{ live, early },
      legs: { keyword: withinLimit(keyword, limit), vector: withinLimit(vector, limit) },
      isComplete: keyword.length <= limit && vector.length <= limit,
    };
  }
  return null;
}

function allTerms({ terms, ownTerms }: IndexSearch): Set<string> {
  return new Set([terms, ...ownTerms.values()].flat().flatMap((group) => group.terms));
}

function hasBoilerplate({ keyword, vector }: Legs): boolean {
  return [...keyword, ...vector].some(({ isBoilerplate }) => isBoilerplate);
}

function documentIdsOf(candidates: readonly Candidate[]): string[] {
  return [...new Set(candidates.map(({ documentId }) => documentId))];
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

/**
 * Estimate how many passages of each leg will be shown or compared, so that a leg returns them with its candidates. A fused
 * order of the built-in model is nearly that of the keyword leg; what is missing is read after the legs.
 */
function passagesOfLegs({ request: { mode }, wanted }: IndexSearch, indexTables: readonly IndexTable[]) {
  const likely = wanted + PASSAGES_BEYOND;
  if (mode !== 'hybrid') return { keyword: likely, vector: mode === 'vector' ? likely : 0 };
  const isLexical = originOf(indexTables)?.space === LEXICAL_SPACE;
  return { keyword: isLexical ? Math.ceil(likely * FUSED_FACTOR) : 0, vector: 0 };
}

/** Search both legs at once; the keyword leg runs while the query is still being embedded. */
async function searchLegs(
  source: ChunkSource,
  { request, terms }: IndexSearch,
  preparing: Promise<PreparedQuery>,
  options: LegOptions,
  passages: Readonly<Record<'keyword' | 'vector', number>> = { keyword: 0, vector: 0 },
): Promise<Legs> {
  const searchByTerms = () => source.searchKeywords(terms, { ...options, passages: passages.keyword });
  const [keyword, vector] = await Promise.all([
    request.mode === 'vector'
      ? preparing.then(({ mode }) => (mode === 'keyword' ? searchByTerms() : []))
      : searchByTerms(),
    preparing.then((query) =>
      query.vector ? source.searchVectors(query.vector, { ...options, passages: passages.vector }) : [],
    ),
  ]);
  return { keyword, vector };
}
