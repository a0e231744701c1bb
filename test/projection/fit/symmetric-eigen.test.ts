import { describe, expect, it } from 'vitest';
import { symmetricEigen } from '../../../src/projection/fit/symmetric-eigen.ts';
import { deviationOfRows, difference, gaussians, multiply, transpose } from './synthetic.ts';

/** Compute X Xᵀ of n x m normal numbers, of rank min(n, m). */
function gramMatrix(n: number, m: number): Float32Array {
  const x = gaussians(n * m, n);
  return multiply(x, transpose(x, n, m), m, n);
}

function mixedSigns(n: number): Float32Array {
  const x = gaussians(n * n, n);
  return Float32Array.from(x, (value, i) => value + (x[(i % n) * n + Math.floor(i / n)] as number));
}

function expectEigen(a: Float32Array, n: number): void {
  const { values, vectors } = symmetricEigen(a, n);
  const size = Math.max(Math.abs(values[0] as number), Math.abs(values[n - 1] as number), 1e-30);
  expect([...values]).toEqual([...values].sort((x, y) => y - x));
  expect(deviationOfRows(transpose(vectors, n, n), n, n)).toBeLessThan(1e-5);
  const scaled = vectors.map((value, i) => value * (values[i % n] as number));
  expect(difference(multiply(a, vectors, n, n), scaled) / size).toBeLessThan(5e-6);
}

describe('eigenvectors of a symmetric matrix', () => {
  it.each([1, 2, 3, 10, 47, 48, 49, 97, 130, 200])('eigenvectors of %i dimensions are orthonormal and exact', (n) => {
    expectEigen(gramMatrix(n, 2 * n), n);
    expectEigen(mixedSigns(n), n);
  });

  it.each([
    [60, 1],
    [130, 7],
    [200, 50],
  ])('eigenvectors of %i dimensions are complete if the rank is only %i', (n, rank) => {
    const a = gramMatrix(n, rank);
    expectEigen(a, n);
    const { values } = symmetricEigen(a, n);
    expect(Math.abs(values[rank] as number) / (values[0] as number)).toBeLessThan(1e-6);
  });

  it('eigenvectors are correct for zeros, equal eigenvalues, a diagonal and extreme magnitudes', () => {
    const n = 120;
    const identity = Float32Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 3 : 0));
    expectEigen(new Float32Array(n * n), n);
    expectEigen(identity, n);
    expectEigen(
      identity.map((value, i) => (value * (i % n)) / n),
      n,
    );
    for (const scale of [1e-18, 1e15]) {
      expectEigen(
        gramMatrix(n, n).map((value) => value * scale),
        n,
      );
    }
  });

  it('eigenvectors are the same for the same input', () => {
    const a = gramMatrix(100, 120);
    expect(symmetricEigen(a, 100)).toEqual(symmetricEigen(a, 100));
  });

  it('eigenvectors of a matrix that is not square are refused', () => {
    expect(() => symmetricEigen(new Float32Array(5), 2)).toThrow(RangeError);
  });
});
