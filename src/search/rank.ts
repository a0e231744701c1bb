import type { Locator } from '../documents/locator.ts';
import type { Candidate, Passage } from '../index/chunk-index.ts';
import type { DocumentDetails, LiveDocument } from './documents/document-store.ts';
import { type FusedHit, fuseRankings, type Rankings } from './fuse.ts';
import type { PreparedQuery } from './prepare-query.ts';
import type { RelevanceFields } from './relevance/schema.ts';
import { explainLegs, type FusedRanks } from './results/explain-results.ts';
import type { SearchRequest, SearchResult } from './schema.ts';

/** Candidates of both legs, best first. */
export interface Legs {
  readonly keyword: readonly Candidate[];
  readonly vector: readonly Candidate[];
}

/** Chunks found by the legs, and those of their documents that the caller may see now. */
export interface Candidates extends Legs {
  readonly live: ReadonlyMap<string, LiveDocument>;
  /** Ids of the buckets that contain documents hidden from the caller. */
  readonly hiding: ReadonlySet<string>;
}

/** Score factor for boilerplate. It puts the best boilerplate chunk at about rank `CANDIDATES_MIN`. */
const BOILERPLATE_SHARE = 0.5;

/** Visible chunk with its scores. */
export interface RankedChunk extends Candidate {
  readonly document: LiveDocument;
  readonly score: number;
  readonly rrf: number;
  /** Factor of both scores; below 1 for boilerplate. */
  readonly share: number;
  readonly bm25: number | null;
  readonly cosine: number | null;
  readonly ranks: FusedRanks;
}

/** Visible chunk with its scores, text and locator, and the details of its document. */
export type FoundChunk = RankedChunk & Passage & { readonly details: DocumentDetails };

/** Chunk with its estimated relevance. */
export type JudgedChunk = FoundChunk & RelevanceFields;

/**
 * Return true if a found document now has another active generation of which no chunk was found. The active generation
 * can have the lower number: of two concurrent jobs, the first to start may be the last to finish.
 */
export function hasStaleDocument({ keyword, vector, live }: Pick<Candidates, 'keyword' | 'vector' | 'live'>): boolean {
  const isOld = ({ documentId, generation }: Candidate) => {
    const document = live.get(documentId);
    return document !== undefined && document.generation !== generation;
  };
  const old = [...keyword.filter(isOld), ...vector.filter(isOld)];
  if (old.length === 0) return false;
  const present = new Set([...keyword, ...vector].filter(isVisible(live)).map(({ documentId }) => documentId));
  return old.some(({ documentId }) => !present.has(documentId));
}

function isVisible(live: Candidates['live']): (candidate: Candidate) => boolean {
  return ({ documentId, generation }) => live.get(documentId)?.generation === generation;
}

function byChunk(candidates: readonly Candidate[]): Map<string, Candidate> {
  const byId = new Map<string, Candidate>();
  for (const candidate of candidates) byId.set(candidate.chunkId, candidate);
  return byId;
}

function fuseCandidates(
  keyword: readonly Candidate[],
  vector: readonly Candidate[],
  { fusion, mode }: PreparedQuery,
  known: Pick<Rankings, 'withoutVectors' | 'background'>,
): FusedHit[] {
  const rankings = {
    ...known,
    keyword: keyword.map(({ chunkId, score }) => ({ id: chunkId, score })),
    vector: vector.map(({ chunkId, score }) => ({ id: chunkId, score })),
  };
  return fuseRankings(rankings, fusion, mode);
}

function shareOf({ isBoilerplate }: Candidate): number {
  return isBoilerplate ? BOILERPLATE_SHARE : 1;
}

/**
 * Fuse the visible chunks of both legs, best first. BM25 counts words in all documents of the index, so its value would
 * reveal words of hidden documents. If the bucket has hidden documents, `bm25` is therefore the reciprocal of the rank
 * among the visible chunks, and the legs are fused by ranks (docs/decisions/0023-scores-beside-hidden-documents.md).
 *
 * @param background mean cosine of the query to unrelated texts; null if unknown
 */
export function rank(
  { keyword, vector, live, hiding }: Candidates,
  query: PreparedQuery,
  background: number | null,
): RankedChunk[] {
  const { mode } = query;
  const { weights } = query.fusion;
  const visible = isVisible(live);
  const byKeyword = byChunk(keyword.filter(visible));
  const hasVector = ({ documentId }: Candidate) => live.get(documentId)?.isKeywordOnly !== true;
  const byVector = byChunk(vector.filter((each) => visible(each) && hasVector(each)));
  const bm25 = new Map<string, number>();
  for (const { chunkId, documentId, score } of byKeyword.values()) {
    const hides = hiding.has((live.get(documentId) as LiveDocument).bucketId);
    bm25.set(chunkId, hides ? 1 / (bm25.size + 1) : score);
  }
  const found = [...byKeyword.values()];
  const withoutVectors = new Set(found.filter((each) => !hasVector(each)).map(({ chunkId }) => chunkId));
  const fused = fuseCandidates(found, [...byVector.values()], query, { withoutVectors, background });
  const ranked = fused.map((hit) => {
    const { id, score, rrf } = hit;
    const candidate = (byKeyword.get(id) ?? byVector.get(id)) as Candidate;
    const share = shareOf(candidate);
    return {
      ...candidate,
      document: live.get(candidate.documentId) as LiveDocument,
      score: score * share,
      rrf: rrf * share,
      bm25: bm25.get(id) ?? null,
      cosine: byVector.get(id)?.score ?? null,
      share,
      ranks: { hit, weights, mode },
    };
  });
  return ranked.sort((a, b) => b.score - a.score);
}

export function toResult(chunk: JudgedChunk, { explain }: Pick<SearchRequest, 'explain'>): SearchResult {
  return {
    id: chunk.chunkId,
    document_id: chunk.documentId,
    chunk_index: chunk.chunkIndex,
    text: chunk.text,
    score: chunk.score,
    relevance: chunk.relevance,
    relevance_score: chunk.relevance_score,
    scores: { vector_score: chunk.cosine, bm25_score: chunk.bm25, rrf_score: chunk.rrf, rerank_score: null },
    ...(explain ? { explain: explainLegs(chunk.ranks, chunk.share) } : {}),
    metadata: chunk.details.metadata,
    citation: {
      file_name: chunk.details.fileName,
      source_path: chunk.details.sourcePath,
      locator: JSON.parse(chunk.locator) as Locator,
      url: null,
    },
  };
}
