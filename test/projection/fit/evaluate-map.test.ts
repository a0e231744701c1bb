import { describe, expect, it } from 'vitest';
import { evaluateMap } from '../../../src/projection/fit/evaluate-map.ts';
import { nearestOthers, rankOf, topK } from '../../../src/projection/fit/neighbours.ts';
import { difference, gaussians, latentVectors, orthonormalRows } from './synthetic.ts';

const RANK = 32;
const TEXTS = 200;
const canonical = latentVectors(TEXTS, RANK, 5);

/** Create a map of the identity or another rotation. */
function mapBy(weights: ArrayLike<number>) {
  return {
    method: 'procrustes' as const,
    nativeDimension: RANK,
    rank: RANK,
    mean: new Float32Array(RANK),
    weights: Float32Array.from(weights),
  };
}

const identity = mapBy(Array.from({ length: RANK * RANK }, (_, i) => (i % (RANK + 1) === 0 ? 1 : 0)));

describe('the evaluation of a map', () => {
  it('the evaluation of a model mapped onto itself is perfect', () => {
    const evaluation = evaluateMap({ map: identity, vectors: canonical, canonical, rank: RANK });
    expect(evaluation).toMatchObject({ heldOut: TEXTS, score: 1, grade: 'good' });
    expect(evaluation.scores.map((at) => at.dimensions)).toEqual([64, 256, 1024, 4096]);
    for (const at of evaluation.scores) {
      expect(at.recallAt1).toEqual({ forward: 1, backward: 1 });
      expect(at.recallAt10).toEqual({ forward: 1, backward: 1 });
      expect(at.overlapAt10).toEqual({ forward: 1, backward: 1 });
      expect(at.retention).toBe(1);
      expect(at.meanCosine).toBeCloseTo(1, 5);
      expect(at.mixedIndexShare.forward).toBeCloseTo(0.5, 1);
    }
  });

  it('the evaluation of an unrelated rotation fails, although the model keeps its own neighbours', () => {
    const map = mapBy(orthonormalRows(RANK, RANK, 9));
    const evaluation = evaluateMap({ map, vectors: canonical, canonical, rank: RANK });
    expect(evaluation.grade).toBe('fail');
    expect(evaluation.score).toBeLessThan(0.1);
    const full = evaluation.scores.at(-1);
    expect(full?.retention).toBeGreaterThan(0.999);
    expect(full?.mixedIndexShare.forward).toBeGreaterThan(0.6);
  });

  it('the grade depends on the worse direction at 1,024 dimensions', () => {
    const noise = gaussians(canonical.length, 6);
    const grades = [0.05, 0.8].map((level) => {
      const vectors = canonical.map((value, i) => value + level * (noise[i] as number));
      const { scores, score, grade } = evaluateMap({ map: identity, vectors, canonical, rank: RANK });
      const { recallAt1 } = scores.find((at) => at.dimensions === 1024) as (typeof scores)[number];
      expect(score).toBe(Math.min(recallAt1.forward, recallAt1.backward));
      return grade;
    });
    expect(grades).toEqual(['good', 'fail']);
  });

  it('a shorter prefix keeps fewer neighbours', () => {
    const { scores } = evaluateMap({
      map: identity,
      vectors: canonical,
      canonical,
      rank: RANK,
      dimensions: [2, 8, 32],
    });
    const kept = scores.map((at) => at.retention);
    expect(kept).toEqual([...kept].sort((a, b) => a - b));
    expect(kept[0]).toBeLessThan(0.6);
  });

  it('equal vectors do not count as found', () => {
    const alike = new Float32Array(canonical.length).fill(1);
    expect(evaluateMap({ map: identity, vectors: alike, canonical: alike, rank: RANK }).score).toBe(0);
  });

  it('histograms add up to one, with same texts to the right of different ones', () => {
    const noise = gaussians(canonical.length, 6);
    const vectors = canonical.map((value, i) => value + 0.1 * (noise[i] as number));
    const { sameText, otherText } = evaluateMap({ map: identity, vectors, canonical, rank: RANK }).cosines;
    const total = (shares: readonly number[]) => shares.reduce((sum, share) => sum + share, 0);
    const mean = (shares: readonly number[]) => shares.reduce((sum, share, bin) => sum + share * bin, 0);
    expect(total(sameText)).toBeCloseTo(1, 6);
    expect(total(otherText)).toBeCloseTo(1, 6);
    expect(mean(sameText)).toBeGreaterThan(mean(otherText) + 5);
  });

  it('the evaluation is the same for the same seed, and works with two texts', () => {
    const map = mapBy(orthonormalRows(RANK, RANK, 9));
    const once = evaluateMap({ map, vectors: canonical, canonical, rank: RANK, seed: 3 });
    expect(evaluateMap({ map, vectors: canonical, canonical, rank: RANK, seed: 3 })).toEqual(once);
    const two = canonical.subarray(0, 2 * RANK);
    expect(evaluateMap({ map: identity, vectors: two, canonical: two, rank: RANK }).score).toBe(1);
  });

  it('the evaluation refuses vectors that do not match, and a single text', () => {
    const one = canonical.subarray(0, RANK);
    expect(() => evaluateMap({ map: identity, vectors: one, canonical, rank: RANK })).toThrow(RangeError);
    expect(() => evaluateMap({ map: identity, vectors: one, canonical: one, rank: RANK })).toThrow(RangeError);
  });
});

describe('neighbours', () => {
  it('neighbours are those of a full sort, across blocks of rows', () => {
    const n = 700;
    const vectors = latentVectors(n, 6, 8);
    const nearest = nearestOthers(vectors, vectors, 6, 10);
    for (const row of [0, 511, 512, 699]) {
      const similarities = Float64Array.from({ length: n }, (_, i) => {
        let dot = 0;
        for (let c = 0; c < 6; c++) dot += (vectors[row * 6 + c] as number) * (vectors[i * 6 + c] as number);
        return dot;
      });
      const sorted = [...similarities.keys()]
        .filter((i) => i !== row)
        .sort((a, b) => (similarities[b] as number) - (similarities[a] as number));
      const at = (indices: ArrayLike<number>) => Array.from(indices, (i) => similarities[i] as number);
      expect(difference(at(nearest.subarray(row * 10, row * 10 + 10)), at(sorted.slice(0, 10)))).toBeLessThan(1e-5);
    }
  });

  it('ties count against a text, and neighbours with ties keep their order', () => {
    const similarities = Float32Array.of(0.5, 0.9, 0.5, 0.1);
    expect(rankOf(similarities, 0)).toBe(2);
    expect(rankOf(similarities, 1)).toBe(0);
    expect([...topK(similarities, 3, 1)]).toEqual([0, 2, 3]);
    expect([...topK(similarities, 10, 3)]).toEqual([1, 0, 2]);
  });
});
