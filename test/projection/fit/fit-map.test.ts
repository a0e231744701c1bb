import { describe, expect, it } from 'vitest';
import { createSpace } from '../../../src/projection/fit/create-space.ts';
import { evaluateMap } from '../../../src/projection/fit/evaluate-map.ts';
import { fitMap } from '../../../src/projection/fit/fit-map.ts';
import { projectRows } from '../../../src/projection/fit/project-rows.ts';
import { centreRows, cutColumns, normaliseRows } from '../../../src/projection/fit/rows.ts';
import { deviationOfRows, difference, latentVectors, multiply, otherModel, transpose } from './synthetic.ts';

const RANK = 48;
const FITTED = 400;
const TEXTS = 500;

/** Create a reference of RANK dimensions and a model of `columns`, with fitted and held-out texts. */
function fitOn(
  columns: number,
  options: { noise?: number; cone?: number; method?: 'procrustes' | 'ridge'; n?: number },
) {
  const latent = latentVectors(TEXTS, RANK, 11);
  const model = otherModel(latent, RANK, columns, options);
  const space = createSpace({ vectors: latent, nativeDimension: RANK });
  const n = options.n ?? FITTED;
  const map = fitMap({
    vectors: model.subarray(0, n * columns),
    nativeDimension: columns,
    canonical: space.corpus.subarray(0, n * RANK),
    rank: RANK,
    ...(options.method ? { method: options.method } : {}),
  });
  const heldOut = { vectors: model.subarray(FITTED * columns), canonical: space.corpus.subarray(FITTED * RANK) };
  return { map, space, model, ...heldOut };
}

const cosines = (vectors: Float32Array, columns: number) =>
  multiply(vectors, transpose(vectors, vectors.length / columns, columns), columns, vectors.length / columns);

describe('a map by centred Procrustes', () => {
  it('a Procrustes map recovers a known rotation', () => {
    const { map, vectors, canonical } = fitOn(RANK, {});
    expect(map).toMatchObject({ method: 'procrustes', nativeDimension: RANK, rank: RANK });
    // Not exact, since the normalisation of vectors of different length changes the means.
    expect(evaluateMap({ map, vectors, canonical, rank: RANK }).scores.at(-1)?.meanCosine).toBeGreaterThan(0.999);
  });

  it('a Procrustes map finds the same text first with noise and in a narrow cone', () => {
    for (const cone of [0, 5]) {
      const { map, vectors, canonical } = fitOn(RANK, { noise: 0.5, cone });
      const at = evaluateMap({ map, vectors, canonical, rank: RANK }).scores.at(-1);
      expect(at?.recallAt1.forward).toBeGreaterThan(0.95);
      expect(at?.recallAt1.backward).toBeGreaterThan(0.95);
    }
  });

  it.each([
    ['fewer dimensions than the reference', 20, {}],
    ['as many', RANK, { noise: 0.3 }],
    ['more', 80, { noise: 0.3 }],
    ['more dimensions than pairs', 80, { noise: 0.3, n: 30 }],
    ['fewer pairs than any dimension', RANK, { noise: 0.3, n: 15 }],
    ['ridge', 80, { noise: 0.3, method: 'ridge' as const }],
  ])('a Procrustes map keeps every angle between centred vectors: %s', (_, columns, options) => {
    const { map, vectors } = fitOn(columns, options);
    expect(map.rank).toBe(Math.max(columns, RANK));
    expect(deviationOfRows(map.weights, columns, map.rank)).toBeLessThan(1e-5);
    const native = normaliseRows(centreRows(vectors, columns, map.mean), columns);
    const projected = projectRows(map, vectors, map.rank);
    expect(difference(cosines(projected, map.rank), cosines(native, columns))).toBeLessThan(1e-5);
  });

  it('remaining directions become private axes in order of variance, after those of the reference', () => {
    const columns = 80;
    const { map, model } = fitOn(columns, { noise: 1 });
    const fitted = centreRows(model.subarray(0, FITTED * columns), columns, map.mean);
    const mapped = multiply(fitted, map.weights, columns, map.rank);
    const variances = new Array<number>(columns).fill(0);
    mapped.forEach((value, i) => {
      variances[i % columns] = (variances[i % columns] as number) + value * value;
    });
    const own = variances.slice(RANK);
    expect(own).toHaveLength(columns - RANK);
    expect(own).toEqual([...own].sort((a, b) => b - a));
    expect(own.at(-1)).toBeGreaterThan(0);
  });

  it('a map loses neighbours without private axes, and none with them', () => {
    const { map, vectors, canonical } = fitOn(120, { noise: 2 });
    const scores = evaluateMap({ map, vectors, canonical, rank: RANK, dimensions: [RANK, 120] }).scores;
    expect(scores[0]?.retention).toBeLessThan(0.95);
    expect(scores[1]?.retention).toBeGreaterThan(0.999);
  });

  it('a map can be fitted if a native dimension is always zero', () => {
    const columns = RANK + 4;
    const { model, space } = fitOn(columns, { noise: 0.3 });
    const dead = model.map((value, i) => (i % columns < 8 ? 0 : value));
    const map = fitMap({ vectors: dead, nativeDimension: columns, canonical: space.corpus, rank: RANK });
    expect(deviationOfRows(map.weights, columns, map.rank)).toBeLessThan(1e-5);
  });

  it('a map is the same for the same pairs, and for the same vectors at another length', () => {
    const { map, model, space } = fitOn(20, { noise: 0.3 });
    const pairs = { nativeDimension: 20, canonical: space.corpus.subarray(0, FITTED * RANK), rank: RANK };
    expect(fitMap({ ...pairs, vectors: model.slice(0, FITTED * 20) })).toEqual(map);
    const longer = fitMap({ ...pairs, vectors: model.slice(0, FITTED * 20).map((value) => value * 8) });
    expect(difference(longer.weights, map.weights)).toBeLessThan(1e-4);
  });

  it('a map is not fitted on vectors that do not match', () => {
    const canonical = new Float32Array(10 * RANK);
    expect(() => fitMap({ vectors: new Float32Array(9 * 4), nativeDimension: 4, canonical, rank: RANK })).toThrow(
      RangeError,
    );
    expect(() => fitMap({ vectors: new Float32Array(41), nativeDimension: 4, canonical, rank: RANK })).toThrow(
      RangeError,
    );
  });
});

describe('projected rows', () => {
  it('projected rows of fewer dimensions are the normalised prefix, with zeros beyond the rank', () => {
    const { map, vectors } = fitOn(20, { noise: 0.3 });
    const full = projectRows(map, vectors, 100);
    const short = projectRows(map, vectors, 7);
    expect(difference(short, normaliseRows(cutColumns(full, 100, 7), 7))).toBeLessThan(1e-6);
    expect(full.every((value, i) => i % 100 < map.rank || value === 0)).toBe(true);
  });
});
