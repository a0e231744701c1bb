import type { LegWeights } from '../index/index-store.ts';

/** Rank constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. */
const RRF_K = 60;
/** Factor of a clear lead of BM25 scores. Measured in docs/search-quality.md. */
const CLEAR_LEAD = 1.5;
/** Relative error of BM25 scores, which are sums of 32-bit numbers. */
const SCORE_ERROR = 1e-5;

/** Rule for fusing the legs of a search. */
export interface Fusion {
  readonly weights: LegWeights;
  /** If true, vectors cannot move a chunk ahead of one whose BM25 score is at least `CLEAR_LEAD` times its own. */
  readonly keepsClearLeads: boolean;
}

/** Chunk that the keyword leg found, with its BM25 score. */
export interface KeywordHit {
  readonly id: string;
  readonly score: number;
}

/** Hits of each leg, best first, without repeats; empty if a leg found nothing or was not searched. */
export interface Rankings {
  readonly keyword: readonly KeywordHit[];
  /** Ids. */
  readonly vector: readonly string[];
}

export interface FusedHit {
  readonly id: string;
  /** `rrf` divided by the `rrf` of a hit that is first in every leg of this mode: 0..1. */
  readonly score: number;
  /**
   * Weighted sum of 1 / (60 + rank). If a clear lead keeps this hit before another one, it is at least the sum of that
   * hit.
   */
  readonly rrf: number;
  /** Rank in the leg, from 1; null if the leg did not find it. */
  readonly keywordRank: number | null;
  readonly vectorRank: number | null;
}

/**
 * Return the weights for a kind of embedding model. A semantic model finds what keywords cannot, so both legs count the
 * same. A lexical model uses the same words as BM25 with less detail: it orders hits of close BM25 scores, and finds
 * chunks where BM25 finds none. Measured in docs/search-quality.md.
 */
export function weightsFor(kind: 'lexical' | 'semantic'): LegWeights {
  return kind === 'lexical' ? { keyword: 1, vector: 0.1 } : { keyword: 1, vector: 1 };
}

/**
 * Return how to fuse the legs for a kind of embedding model. With a lexical model, a clear lead in BM25 scores stays:
 * the model sees the same words as BM25, so it has no reason to contradict. An example is the only text with a rare
 * code. With a semantic model, the vectors may overrule it.
 *
 * @param weights those of the bucket; by default those of the kind
 */
export function fusionFor(kind: 'lexical' | 'semantic', weights: LegWeights = weightsFor(kind)): Fusion {
  return { weights, keepsClearLeads: kind === 'lexical' && weights.keyword > 0 };
}

/** Fuse rankings by weighted reciprocal rank, best first; ties by rank in the keyword leg, then in the vector leg. */
export function fuseRankings(
  { keyword, vector }: Rankings,
  { weights, keepsClearLeads }: Fusion,
  mode: 'hybrid' | 'keyword' | 'vector',
): FusedHit[] {
  const ranks = new Map<string, { keyword: number | null; vector: number | null }>();
  for (const [at, { id }] of keyword.entries()) ranks.set(id, { keyword: at + 1, vector: null });
  for (const [at, id] of vector.entries()) {
    const known = ranks.get(id);
    if (known) known.vector = at + 1;
    else ranks.set(id, { keyword: null, vector: at + 1 });
  }
  const legs = (mode === 'vector' ? 0 : weights.keyword) + (mode === 'keyword' ? 0 : weights.vector);
  const best = legs / (RRF_K + 1);
  const hits = Array.from(ranks, ([id, rank]): FusedHit => {
    const rrf = contributionOf(weights.keyword, rank.keyword) + contributionOf(weights.vector, rank.vector);
    return { id, score: rrf / best, rrf, keywordRank: rank.keyword, vectorRank: rank.vector };
  });
  // The sort is stable, and the map holds the keyword leg first, each leg in its order.
  hits.sort((a, b) => b.rrf - a.rrf);
  return keepsClearLeads ? keepClearLeads(hits, keyword) : hits;
}

/**
 * Move hits with a clear lead ahead of the first hit that they lead, and give them its score. A hit that the keyword
 * leg did not find counts like the last one that it found.
 */
function keepClearLeads(hits: readonly FusedHit[], keyword: readonly KeywordHit[]): FusedHit[] {
  const byId = new Map(hits.map((hit) => [hit.id, hit]));
  const ordered = new Map<string, FusedHit>();
  let leaders = 0;
  for (const hit of hits) {
    if (ordered.has(hit.id)) continue;
    const own = keyword[(hit.keywordRank ?? keyword.length) - 1]?.score ?? Number.POSITIVE_INFINITY;
    const leading = CLEAR_LEAD * own * (1 - SCORE_ERROR);
    for (; leaders < keyword.length && (keyword[leaders] as KeywordHit).score >= leading; leaders++) {
      const leader = byId.get((keyword[leaders] as KeywordHit).id) as FusedHit;
      if (!ordered.has(leader.id)) ordered.set(leader.id, { ...leader, rrf: hit.rrf, score: hit.score });
    }
    ordered.set(hit.id, hit);
  }
  return [...ordered.values()];
}

/** Compute the part of a fused score that comes from one leg. */
export function contributionOf(weight: number, rank: number | null): number {
  return rank === null ? 0 : weight / (RRF_K + rank);
}
