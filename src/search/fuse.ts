import type { LegWeights } from '../index/index-store.ts';

/** Rank constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. */
const RRF_K = 60;
/** Minimum number of candidates that each leg of a hybrid search contributes. */
export const CANDIDATES_MIN = 60;
/** Weight of cosines relative to BM25 scores of a semantic model. Measured in docs/search-quality.md. */
const SEMANTIC_VECTOR_WEIGHT = 1.5;
/** BM25 score ratio that counts as a clear lead. Measured in docs/search-quality.md. */
const CLEAR_LEAD = 1.5;
/** Rank of the keyword hit whose score shows how far the best hit stands out. Measured in docs/search-quality.md. */
const STANDOUT_RANK = 10;
/** Relative error of BM25 scores, which are sums of 32-bit floats. */
const SCORE_ERROR = 1e-5;

/**
 * Rule for fusing the legs of a search.
 *
 * - `ranks`: weighted reciprocal ranks.
 * - `clear_leads`: the same, but vectors can't move a chunk ahead of one whose BM25 score is at least `CLEAR_LEAD`
 *   times as high.
 * - `scores`: weighted sum of BM25 scores relative to the best, and of cosines above the query's background, relative
 *   to the best. The keyword leg counts more if its best hit stands out.
 */
export interface Fusion {
  readonly weights: LegWeights;
  readonly rule: 'ranks' | 'clear_leads' | 'scores';
}

/** Chunk found by a leg, with its BM25 score or cosine. */
export interface LegHit {
  readonly id: string;
  readonly score: number;
}

/** Hits of each leg, best first, without repeats; empty if a leg found nothing or did not run. */
export interface Rankings {
  readonly keyword: readonly LegHit[];
  /** Ids of hits whose vectors are not computed yet. In score fusion, their BM25 score counts for both legs. */
  readonly withoutVectors?: ReadonlySet<string>;
  readonly vector: readonly LegHit[];
  /** Mean cosine of the query to unrelated texts; null if unknown: the lowest cosine of the leg is used. */
  readonly background?: number | null;
}

export interface FusedHit {
  readonly id: string;
  /** Score relative to a hit that is first in every searched leg: 0..1. Hits are sorted by it. */
  readonly score: number;
  /**
   * Weighted sum of 1 / (60 + rank). If a clear lead keeps this hit ahead of another one, it is at least that hit's
   * sum.
   */
  readonly rrf: number;
  /** Rank in the leg, from 1; null if the leg didn't find the hit. */
  readonly keywordRank: number | null;
  readonly vectorRank: number | null;
  /** Contribution of the leg to `rrf`, or to `score` in score fusion. */
  readonly keywordPart: number;
  readonly vectorPart: number;
}

/**
 * Return the leg weights for a kind of embedding model. A semantic model finds what keywords can't: its scores weigh
 * more than BM25 scores, and its ranks the same. A lexical model uses the same words as BM25 in less detail: it orders
 * hits of similar BM25 scores, and finds chunks where BM25 finds none. Measured in docs/search-quality.md.
 */
export function weightsFor(kind: 'lexical' | 'semantic', rule: 'ranks' | 'scores' = 'scores'): LegWeights {
  if (kind === 'lexical') return { keyword: 1, vector: 0.1 };
  return { keyword: 1, vector: rule === 'scores' ? SEMANTIC_VECTOR_WEIGHT : 1 };
}

/** Weights for the built-in model if the query has terms that the index contains but the model doesn't know. */
export const WEIGHTS_OF_UNKNOWN_TERMS: LegWeights = { keyword: 1, vector: 0.01 };

/**
 * Choose the fusion rule for a kind of embedding model. With a lexical model, preserve a clear lead in BM25 scores,
 * such as that of the only text with a rare code: the model sees the same words, so it has no reason to contradict.
 * With a semantic model, fuse scores, which say more than ranks: a chunk far ahead of all others stays there.
 *
 * @param tuned weights of the bucket; by default those of the kind
 * @param options.showsScores false if the bucket hides documents, so that results must not reveal BM25 scores
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

/** Fuse rankings, best first. Break ties by keyword rank, then by vector rank. A single leg keeps its order. */
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
  const partsOf = rule === 'scores' && mode === 'hybrid' ? scoreParts(rankings, weights) : null;
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
  // The sort is stable, and the map lists the keyword leg first, each leg in its order.
  hits.sort((a, b) => b.score - a.score);
  return rule === 'clear_leads' ? keepClearLeads(hits, keyword) : hits;
}

/** Return a function that computes the contributions of both legs to a hit's score. Their sum is at most 1. */
function scoreParts({ keyword, vector, withoutVectors, background = null }: Rankings, weights: LegWeights) {
  const keywordWeight = weights.keyword * standoutOf(keyword);
  const legs = keywordWeight + weights.vector;
  const bestKeyword = keyword[0]?.score ?? 0;
  const bestCosine = vector[0]?.score ?? 0;
  const base = background ?? vector.at(-1)?.score ?? 0;
  return (id: string, rank: { keyword: number | null; vector: number | null }): readonly [number, number] => {
    const bm25 = rank.keyword === null ? 0 : (keyword[rank.keyword - 1] as LegHit).score;
    const cosine = rank.vector === null ? null : (vector[rank.vector - 1] as LegHit).score;
    const keywordShare = shareOf(bm25, 0, bestKeyword);
    if (withoutVectors?.has(id)) return [keywordShare, 0];
    return [
      (keywordWeight / legs) * keywordShare,
      cosine === null ? 0 : (weights.vector / legs) * shareOf(cosine, base, bestCosine),
    ];
  };
}

/**
 * Return the factor of the keyword leg's weight in score fusion: from 1.4 if its best hit stands out to 0.45 if the
 * first ten hits have equal scores, which say little. Return 1 if the leg has fewer hits.
 */
function standoutOf(keyword: readonly LegHit[]): number {
  const tenth = keyword[STANDOUT_RANK - 1]?.score;
  if (tenth === undefined) return 1;
  return 1 / (0.7 + (1.5 * tenth) / (keyword[0] as LegHit).score);
}

/** Return the relative position of a score between `low` and `high`, at least 0; 1 if they are equal. */
function shareOf(score: number, low: number, high: number): number {
  return high > low ? Math.max(0, (score - low) / (high - low)) : 1;
}

/**
 * Move hits with a clear lead ahead of the first hit that they lead, and give them its score. A hit that the keyword
 * leg didn't find counts like the leg's last hit.
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

/** Compute the contribution of a leg's rank to a fused score. */
function contributionOf(weight: number, rank: number | null): number {
  return rank === null ? 0 : weight / (RRF_K + rank);
}
