import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DIMENSIONS_MAX, resizeVectors } from '../../src/projection/resize.ts';
import { SEED } from '../support/random.ts';

const norm = (vector: Float32Array) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));

function unit(values: number[]): Float32Array {
  const vector = Float32Array.from(values);
  const length = norm(vector);
  return length === 0 ? Float32Array.from(values, (_, i) => (i === 0 ? 1 : 0)) : vector.map((x) => x / length);
}

const vectors = fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 1, maxLength: 64 }).map(unit);

it('a resized vector is the normalised prefix for smaller dimensions, with zeros beyond its own', () => {
  fc.assert(
    fc.property(vectors, fc.integer({ min: 1, max: 128 }), (vector, to) => {
      const resized = resizeVectors(vector, vector.length, to);
      expect(resized).toHaveLength(to);
      expect(norm(resized)).toBeCloseTo(1, 4);
      const prefix = vector.slice(0, to);
      const scale = norm(prefix);
      if (scale < 1e-12) return;
      for (let i = 0; i < to; i++)
        expect(resized[i]).toBeCloseTo((vector[i] ?? 0) / (to < vector.length ? scale : 1), 4);
    }),
    { seed: SEED },
  );
});

it('a resized vector is never zero, and is unchanged for the same dimension', () => {
  expect(resizeVectors(Float32Array.of(0, 0, 1), 3, 2)).toEqual(Float32Array.of(1, 0));
  const same = Float32Array.of(0.6, 0.8);
  expect(resizeVectors(same, 2, 2)).toBe(same);
  expect(resizeVectors(Float32Array.of(1, 0, 0, 1), 2, DIMENSIONS_MAX)).toHaveLength(2 * DIMENSIONS_MAX);
});
