import { applyReflectors, reduceToTridiagonal } from './tridiagonal.ts';
import { type Eigen, eigenOfTridiagonal } from './tridiagonal-eigen.ts';

/**
 * Compute the eigenvalues and eigenvectors of a symmetric matrix, largest first. Vectors are orthonormal to about 1e-5,
 * and residuals are below 1e-6 of the largest eigenvalue. The largest component of a vector is positive, so equal input
 * gives equal output.
 *
 * @param a Float32Array or Float64Array [n x n], row-major; only the upper triangle is read
 * @returns values Float64Array [n], descending; vectors Float32Array [n x n], row-major, one eigenvector per column
 */
export function symmetricEigen(a: Float32Array | Float64Array, n: number): Eigen {
  if (a.length !== n * n) throw new RangeError(`a matrix of ${n} x ${n} has ${n * n} elements, not ${a.length}`);
  const tridiagonal = reduceToTridiagonal(Float64Array.from(a), n);
  const { values, vectors } = eigenOfTridiagonal(tridiagonal.diagonal, tridiagonal.offDiagonal);
  applyReflectors(tridiagonal, vectors, n);
  return { values: values.reverse(), vectors: reverseAndSign(vectors, n) };
}

function reverseAndSign(ascending: Float32Array, n: number): Float32Array {
  const peaks = new Float32Array(n);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const value = ascending[row * n + column] as number;
      if (Math.abs(value) > Math.abs(peaks[column] as number)) peaks[column] = value;
    }
  }
  const vectors = new Float32Array(n * n);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const from = n - 1 - column;
      const value = ascending[row * n + from] as number;
      vectors[row * n + column] = (peaks[from] as number) < 0 ? -value : value;
    }
  }
  return vectors;
}
