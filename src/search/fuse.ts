/** Rank constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. */
const RRF_K = 60;

/** Weights of the legs of a search. Only their ratio matters. */
export interface LegWeights {
  readonly keyword: number;
  readonly vector: number;
}

/** Ids of each leg, best first, without repeats; empty if a leg found nothing or was not searched. */
export interface Rankings {
  readonly keyword: readonly string[];
  readonly vector: readonly string[];
}

export interface FusedHit {
  readonly id: string;
  /** `rrf` divided by the `rrf` of a hit that is first in every leg of this mode: 0..1. */
  readonly score: number;
  /** Weighted sum of 1 / (60 + rank). */
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

/** Fuse rankings by weighted reciprocal rank, best first; ties by rank in the keyword leg, then in the vector leg. */
export function fuseRankings(
  rankings: Rankings,
  weights: LegWeights,
  mode: 'hybrid' | 'keyword' | 'vector',
): FusedHit[] {
  const ranks = new Map<string, { keyword: number | null; vector: number | null }>();
  for (const [at, id] of rankings.keyword.entries()) ranks.set(id, { keyword: at + 1, vector: null });
  for (const [at, id] of rankings.vector.entries()) {
    const known = ranks.get(id);
    if (known) known.vector = at + 1;
    else ranks.set(id, { keyword: null, vector: at + 1 });
  }
  const legs = (mode === 'vector' ? 0 : weights.keyword) + (mode === 'keyword' ? 0 : weights.vector);
  const best = legs / (RRF_K + 1);
  const hits = Array.from(ranks, ([id, rank]) => {
    const rrf = contributionOf(weights.keyword, rank.keyword) + contributionOf(weights.vector, rank.vector);
    return { id, score: rrf / best, rrf, keywordRank: rank.keyword, vectorRank: rank.vector };
  });
  // The sort is stable, and the map holds the keyword leg first, each leg in its order.
  return hits.sort((a, b) => b.rrf - a.rrf);
}

/** Compute the part of a fused score that comes from one leg. */
export function contributionOf(weight: number, rank: number | null): number {
  return rank === null ? 0 : weight / (RRF_K + rank);
}
