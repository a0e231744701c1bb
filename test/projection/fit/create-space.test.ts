import { describe, expect, it } from 'vitest';
import { createSpace, mapOfReference } from '../../../src/projection/fit/create-space.ts';
import { projectRows } from '../../../src/projection/fit/project-rows.ts';
import { normaliseRows } from '../../../src/projection/fit/rows.ts';
import { deviationOfRows, difference, latentVectors, otherModel, transpose } from './synthetic.ts';

const RANK = 40;
const latent = latentVectors(300, RANK, 1);

function variances(corpus: Float32Array, rank: number): number[] {
  const sums = new Array<number>(rank).fill(0);
  corpus.forEach((value, i) => {
    sums[i % rank] = (sums[i % rank] as number) + value * value;
  });
  return sums;
}

const isDescending = (values: readonly number[]) =>
  values.every((value, i) => i === 0 || value <= (values[i - 1] as number) + 1e-5 * (values[0] as number));

describe('a canonical space', () => {
  it('a canonical space has axes in order of variance and an orthonormal rotation, for any native axes', () => {
    const space = createSpace({ vectors: otherModel(latent, RANK, 64, { cone: 2 }), nativeDimension: 64 });
    expect(space).toMatchObject({ dimensions: 4096, nativeDimension: 64, rank: 64 });
    expect(isDescending(variances(space.corpus, 64))).toBe(true);
    expect(deviationOfRows(space.rotation, 64, 64)).toBeLessThan(1e-5);
  });

  it('a canonical space stores the canonical vectors that the map of the reference model gives', () => {
    const vectors = otherModel(latent, RANK, RANK);
    const space = createSpace({ vectors, nativeDimension: RANK });
    const projected = projectRows(mapOfReference(space), vectors, RANK);
    expect(difference(projected, normaliseRows(space.corpus, RANK))).toBeLessThan(1e-5);
  });

  it('a canonical space is complete with fewer texts than dimensions', () => {
    const space = createSpace({ vectors: latentVectors(25, 90, 2), nativeDimension: 90 });
    expect(deviationOfRows(transpose(space.rotation, 90, 90), 90, 90)).toBeLessThan(1e-5);
    const beyond = variances(space.corpus, 90).slice(25);
    expect(Math.max(...beyond)).toBeLessThan(1e-8);
  });

  it('the axes are ordered by the pooled second moment if further models are aligned', () => {
    const reference = { vectors: latent, nativeDimension: RANK };
    // The other model has most of its variance along the axes where the reference has least.
    const turned = latent.map((value, i) => value * (1 + (i % RANK)));
    const alone = createSpace(reference);
    const pooled = createSpace(reference, [{ vectors: turned, nativeDimension: RANK }]);
    expect(isDescending(variances(alone.corpus, RANK))).toBe(true);
    expect(isDescending(variances(pooled.corpus, RANK))).toBe(false);
    expect(deviationOfRows(pooled.rotation, RANK, RANK)).toBeLessThan(1e-5);
  });
});
