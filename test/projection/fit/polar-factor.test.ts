import { describe, expect, it } from 'vitest';
import { polarFactor } from '../../../src/projection/fit/polar-factor.ts';
import { deviationOfRows, difference, gaussians, multiply, orthonormalRows, transpose } from './synthetic.ts';

/**
 * Compose U S V, with orthonormal columns of U [rows x rank], orthonormal rows of V [rank x columns], and S from 1 down
 * to `least`.
 */
function compose(rows: number, columns: number, rank: number, least: number) {
  const u = transpose(orthonormalRows(rank, rows, 1), rank, rows);
  const v = orthonormalRows(rank, columns, 2);
  const scaled = u.map((value, i) => value * least ** ((i % rank) / Math.max(rank - 1, 1)));
  return { m: multiply(scaled, v, rank, columns), factor: multiply(u, v, rank, columns), v };
}

describe('the polar factor', () => {
  it.each([
    [40, 40],
    [30, 70],
    [70, 30],
  ])('the polar factor of %i x %i is U Vᵀ for any singular values', (rows, columns) => {
    const { m, factor } = compose(rows, columns, Math.min(rows, columns), 1e-3);
    expect(difference(polarFactor(m, rows, columns), factor)).toBeLessThan(3e-3);
    const even = compose(rows, columns, Math.min(rows, columns), 0.1);
    expect(difference(polarFactor(even.m, rows, columns), even.factor)).toBeLessThan(1e-4);
  });

  it.each([
    [40, 40, 11],
    [30, 70, 29],
    [30, 70, 1],
    [70, 30, 10],
  ])(
    'the polar factor of %i x %i with rank %i is completed by directions orthogonal to the others',
    (rows, columns, rank) => {
      const { m, factor, v } = compose(rows, columns, rank, 0.1);
      const polar = polarFactor(m, rows, columns);
      const deviation =
        rows <= columns
          ? deviationOfRows(polar, rows, columns)
          : deviationOfRows(transpose(polar, rows, columns), columns, rows);
      expect(deviation).toBeLessThan(1e-5);
      // On the span of V the factor is determined by the data.
      const onSpan = multiply(polar, transpose(v, rank, columns), columns, rank);
      expect(difference(onSpan, multiply(factor, transpose(v, rank, columns), columns, rank))).toBeLessThan(1e-3);
    },
  );

  it('the polar factor does not depend on the scale, and is some orthonormal matrix for zeros', () => {
    const m = Float32Array.from(gaussians(20 * 50, 3));
    const factor = polarFactor(m, 20, 50);
    for (const scale of [1e-15, 1e15]) {
      expect(
        difference(
          polarFactor(
            m.map((value) => value * scale),
            20,
            50,
          ),
          factor,
        ),
      ).toBeLessThan(1e-4);
    }
    expect(deviationOfRows(polarFactor(new Float32Array(20 * 50), 20, 50), 20, 50)).toBeLessThan(1e-5);
  });
});
