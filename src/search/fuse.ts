import type { LegWeights } from '../index/index-store.ts';

/** Rank constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. */
const RRF_K = 60;
/** Factor of a clear lead of BM25 scores. Measured in docs/search-quality.md. */
const CLEAR_LEAD = 1.5;
/** Relative error of BM25 scores, which are sums of 32-bit numbers. */
const SCORE_ERROR = 1e-5;

/**
 * Rule for fusing the legs of a search.
 *
 * - `ranks`: weighted reciprocal ranks.
 * - `clear_leads`: the same, but vectors cannot move a chunk ahead of one whose BM25 score is at least `CLEAR_LEAD`
 *   times its own.
 * - `scores`: weighted sum of BM25 scores, in terms of the best one, and of cosines, in terms of the best one above
 *   the background of the query.
 */
export interface Fusion {
  readonly weights: LegWeights;
  readonly rule: 'ranks' | 'clear_leads' | 'scores';
}

/** Chunk that a leg found, with its BM25 score or cosine. */
export interface LegHit {
  readonly id: string;
  readonly score: number;
}

/** Hits of each leg, best first, without repeats; empty if a leg found nothing or was not searched. */
export interface Rankings {
  readonly keyword: readonly LegHit[];
  /** Ids of hits whose vectors are not made yet. Where scores are fused, their words count for both legs. */
  readonly withoutVectors?: ReadonlySet<string>;
  readonly vector: readonly LegHit[];
  /** Mean cosine of the query to unrelated texts; null if unknown, so that the lowest cosine of the leg counts. */
  readonly background?: number | null;
}

export interface FusedHit {
  readonly id: string;
  /** Score divided by that of a hit that is first in every leg of this mode: 0..1. Hits are in its order. */
  readonly score: number;
  /**
   * Weighted sum of 1 / (60 + rank). If a clear lead keeps this hit before another one, it is at least the sum of that
   * hit.
   */
  readonly rrf: number;
  /** Rank in the leg, from 1; null if the leg did not find it. */
  readonly keywordRank: number | null;
  readonly vectorRank: number | null;
  /** Part of the leg in `rrf`, or in `score` if scores are fused. */
  readonly keywordPart: number;
  readonly vectorPart: number;
}

/**
 * Return the weights for a kind of embedding model. A semantic model finds what keywords cannot: its scores count more
 * than those of keywords, and its ranks the same. A lexical model uses the same words as BM25 with less detail: it
 * orders hits of close BM25 scores, and finds chunks where BM25 finds none. Measured in docs/search-quality.md.
 */
export function weightsFor(kind: 'lexical' | 'semantic', rule: 'ranks' | 'scores' = 'scores'): LegWeights {
  if (kind === 'lexical') return { keyword: 1, vector: 0.1 };
  return { keyword: 1, vector: rule === 'scores' ? 1.5 : 1 };
}

/** Weights with the built-in model for a query of which the index has terms that the model does not know. */
export const WEIGHTS_OF_UNKNOWN_TERMS: LegWeights = { keyword: 1, vector: 0.01 };

/**
 * Return how to fuse the legs for a kind of embedding model. With a lexical model, a clear lead in BM25 scores stays:
 * the model sees the same words as BM25, so it has no reason to contradict. An example is the only text with a rare
 * code. With a semantic model, the scores tell more than the ranks: a chunk far above all others stays there.
 *
 * @param tuned weights of the bucket; by default those of the kind
 * @param options.showsScores false if the bucket hides documents, so that BM25 scores must not be seen in the results
 */
export function fusionFor(
  kind: 'lexical' | 'semantic',
  tuned?: LegWeights,
  { showsScores = true }: { readonly showsScores?: boolean } = {},
): Fusion {
  if (kind === 'semantic') {
    const rule = showsScores ? 'scores' : 'ranks';
    return { weights: tuned ?? weightsFor(kind, rule), rule };
  }
  const weights = tuned ?? weightsFor(kind);
  return { weights, rule: weights.keyword > 0 ? 'clear_leads' : 'ranks' };
}

/**
 * Fuse rankings, best first; ties by rank in the keyword leg, then in the vector leg. A single leg keeps its order.
 */
export function fuseRankings(
  rankings: Rankings,
  { weights, rule }: Fusion,
  mode: 'hybrid' | 'keyword' | 'vector',
): FusedHit[] {
  const { keyword, vector } = rankings;
  const ranks = new Map<string, { keyword: number | null; vector: number | null }>();
  for (const [at, { id }] of keyword.entries()) ranks.set(id, { keyword: at + 1, vector: null });
  for (const [at, { id }] of vector.entries()) {
    const known = ranks.get(id);
    if (known) known.vector = at + 1;
    else ranks.set(id, { keyword: null, vector: at + 1 });
  }
  const legs = (mode === 'vector' ? 0 : weights.keyword) + (mode === 'keyword' ? 0 : weights.vector);
  const best = legs / (RRF_K + 1);
  const partsOf = rule === 'scores' && mode === 'hybrid' ? scoreParts(rankings, weights, legs) : null;
  const hits = Array.from(ranks, ([id, rank]): FusedHit => {
    const ofRanks = [
      contributionOf(weights.keyword, rank.keyword),
      contributionOf(weights.vector, rank.vector),
    ] as const;
    const [keywordPart, vectorPart] = partsOf?.(id, rank) ?? ofRanks;
    const rrf = ofRanks[0] + ofRanks[1];
    const score = partsOf === null ? rrf / best : keywordPart + vectorPart;
    return { id, score, rrf, keywordRank: rank.keyword, vectorRank: rank.vector, keywordPart, vectorPart };
  });
  // The sort is stable, and the map holds the keyword leg first, each leg in its order.
  hits.sort((a, b) => b.score - a.score);
  return rule === 'clear_leads' ? keepClearLeads(hits, keyword) : hits;
}

/** Make a function that returns the parts of both legs in the score of a hit. The highest possible sum is 1. */
function scoreParts(
  { keyword, vector, withoutVectors, background = null }: Rankings,
  weights: LegWeights,
  legs: number,
) {
  const bestKeyword = keyword[0]?.score ?? 0;
  const bestCosine = vector[0]?.score ?? 0;
  const base = background ?? vector.at(-1)?.score ?? 0;
  return (id: string, rank: { keyword: number | null; vector: number | null }): readonly [number, number] => {
    const bm25 = rank.keyword === null ? 0 : (keyword[rank.keyword - 1] as LegHit).score;
    const cosine = rank.vector === null ? null : (vector[rank.vector - 1] as LegHit).score;
    const keywordShare = shareOf(bm25, 0, bestKeyword);
    if (withoutVectors?.has(id)) return [keywordShare, 0];
    return [
      (weights.keyword / legs) * keywordShare,
      cosine === null ? 0 : (weights.vector / legs) * shareOf(cosine, base, bestCosine),
    ];
  };
}

/** Return where a score is between two others, from 0 to 1; 1 if these are equal. */
function shareOf(score: number, low: number, high: number): number {
  return high > low ? Math.max(0, (score - low) / (high - low)) : 1;
}

/**
 * Move hits with a clear lead ahead of the first hit that they lead, and give them its score. A hit that the keyword
 * leg did not find counts like the last one that it found.
 */
function keepClearLeads(hits: readonly FusedHit[], keyword: readonly LegHit[]): FusedHit[] {
  const byId = new Map(hits.map((hit) => [hit.id, hit]));
  const ordered = new Map<string, FusedHit>();
  let leaders = 0;
  for (const hit of hits) {
    if (ordered.has(hit.id)) continue;
    const own = keyword[(hit.keywordRank ?? keyword.length) - 1]?.score ?? Number.POSITIVE_INFINITY;
    const leading = CLEAR_LEAD * own * (1 - SCORE_ERROR);
    for (; leaders < keyword.length && (keyword[leaders] as LegHit).score >= leading; leaders++) {
      const leader = byId.get((keyword[leaders] as LegHit).id) as FusedHit;
      if (ordered.has(leader.id)) continue;
      const { rrf, score } = hit;
      ordered.set(leader.id, { ...leader, rrf, score, keywordPart: rrf - leader.vectorPart });
    }
    ordered.set(hit.id, hit);
  }
  return [...ordered.values()];
}

/** Compute the part of a fused score that comes from the rank in one leg. */
function contributionOf(weight: number, rank: number | null): number {
  return rank === null ? 0 : weight / (RRF_K + rank);
}
