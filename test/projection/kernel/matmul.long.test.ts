import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matmul, timesTranspose, transposeTimes } from '../../../src/projection/kernel/matmul.ts';
import { SEED } from '../../support/random.ts';
import { largestError, norm, product, randomValues, transposed } from './reference.ts';

type Product = (a: Float32Array, b: Float32Array, m: number, k: number, n: number) => Float32Array;

/** Products of A [m x k] and B [k x n]; each wrapper converts the operands for its function. */
const PRODUCTS: [string, Product][] = [
  ['matmul', (a, b, m, k, n) => matmul(a, m, k, b, n)],
  ['transposeTimes', (a, b, m, k, n) => transposeTimes(transposed(a, m, k), b, k, m, n)],
  ['timesTranspose', (a, b, m, k, n) => timesTranspose(a, transposed(b, k, n), m, k, n)],
];

/** Compute the error relative to the largest norm of a row of A times the largest norm of a column of B. */
function relativeError(multiply: Product, m: number, k: number, n: number, a: Float32Array, b: Float32Array): number {
  const scale = largestRowNorm(a, k) * largestRowNorm(transposed(b, k, n), k);
  return largestError(multiply(a, b, m, k, n), product(a, b, m, k, n)) / scale;
}

function largestRowNorm(values: Float32Array, columns: number): number {
  let largest = 0;
  for (let from = 0; from < values.length; from += columns) {
    largest = Math.max(largest, norm(values.subarray(from, from + columns)));
  }
  return largest;
}

describe.each(PRODUCTS)('%s', (_name, multiply) => {
  it('a product agrees with float64 for any shape', () => {
    const size = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120 }), size, size, fc.nat(), (m, k, n, seed) => {
        const [a, b] = [randomValues(m * k, seed), randomValues(k * n, seed + 1)];
        expect(relativeError(multiply, m, k, n, a, b)).toBeLessThan(1e-6);
      }),
      { seed: SEED },
    );
  });

  it('a product agrees with float64 to 1e-6 over 5,000 terms of one sign', () => {
    const [m, k, n] = [13, 5000, 21];
    const [a, b] = [randomValues(m * k, 1).map(Math.abs), randomValues(k * n, 2).map(Math.abs)];
    expect(relativeError(multiply, m, k, n, a, b)).toBeLessThan(1e-6);
  });

  it('a product agrees with float64 if the right matrix is packed in several parts', () => {
    const [m, k, n] = [3, 70_000, 130]; // 130 packed columns of 70,000 are more than 32 MiB
    const [a, b] = [randomValues(m * k, 3), randomValues(k * n, 4)];
    expect(relativeError(multiply, m, k, n, a, b)).toBeLessThan(1e-6);
  });

  it('a product is zero for empty sums, and empty for no rows or columns', () => {
    const none = new Float32Array(0);
    expect(multiply(none, none, 2, 0, 3)).toEqual(new Float32Array(6));
    expect(multiply(none, new Float32Array(6), 0, 2, 3)).toHaveLength(0);
    expect(multiply(new Float32Array(6), none, 3, 2, 0)).toHaveLength(0);
  });

  it('a product refuses lengths that do not match the shape', () => {
    expect(() => multiply(new Float32Array(6), new Float32Array(7), 2, 3, 2)).toThrow(RangeError);
    expect(() => multiply(new Float32Array(5), new Float32Array(6), 2, 3, 2)).toThrow(RangeError);
  });

  it('NaN propagates only to its row and its column of the product', () => {
    const [m, k, n] = [9, 5, 11];
    const a = randomValues(m * k, 5);
    a[7 * k + 2] = Number.NaN;
    const c = multiply(a, randomValues(k * n, 6), m, k, n);
    expect([...c.keys()].filter((i) => Number.isNaN(c[i]))).toEqual(Array.from({ length: n }, (_, j) => 7 * n + j));
  });
});

it('Gram matrices are exactly symmetric', () => {
  const [rows, columns] = [900, 37];
  const a = randomValues(rows * columns, 7);
  const byColumns = transposeTimes(a, a, rows, columns, columns);
  expect(transposed(byColumns, columns, columns)).toEqual(byColumns);
  const byRows = timesTranspose(a, a, rows, columns, rows);
  expect(transposed(byRows, rows, rows)).toEqual(byRows);
});
