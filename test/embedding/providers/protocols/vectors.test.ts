import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeByIndex, placeInOrder } from '../../../../src/embedding/providers/protocols/vectors.ts';
import { base64Of } from '../../../support/fake-upstream/vectors.ts';
import { SEED } from '../../../support/random.ts';

/** Rows with values of all magnitudes, to test squares and sums; no row is all zeros. */
const row = (dimensions: number) =>
  fc
    .array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: dimensions, maxLength: dimensions })
    .filter((values) => values.some((value) => value !== 0));
const matrix = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 40 })).chain(([count, dimensions]) =>
  fc.record({
    dimensions: fc.constant(dimensions),
    rows: fc.array(row(dimensions), { minLength: count, maxLength: count }),
    order: fc.shuffledSubarray(
      Array.from({ length: count }, (_, index) => index),
      { minLength: count },
    ),
    base64: fc.array(fc.boolean(), { minLength: count, maxLength: count }),
  }),
);

/** Divide by the norm, in float64. */
function normalised(values: readonly number[]): number[] {
  const norm = Math.hypot(...values);
  return values.map((value) => value / norm);
}

function encode(values: readonly number[], base64: boolean): string | number[] {
  return base64 ? base64Of(Float32Array.from(values)) : [...values];
}

function near(vectors: Float32Array, rows: readonly (readonly number[])[]): boolean {
  const reference = rows.flatMap(normalised);
  return (
    vectors.length === reference.length &&
    vectors.every((value, at) => Math.abs(value - (reference[at] as number)) < 2e-6)
  );
}

describe('vectors of an answer', () => {
  it('vectors equal a naive decoding, in either form, mixed, and in any order', () => {
    fc.assert(
      fc.property(matrix, ({ dimensions, rows, order, base64 }) => {
        const expected = { count: rows.length, dimensions };
        const embeddings = rows.map((values, at) => encode(values, base64[at] as boolean));
        const shuffled = order.map((index) => ({ index, embedding: embeddings[index] }));
        expect(near(placeByIndex(shuffled, expected), rows)).toBe(true);
        expect(near(placeInOrder(embeddings, expected), rows)).toBe(true);
        const wrapped = embeddings.map((values) => ({ values }));
        expect(near(placeInOrder(wrapped, expected, 'values'), rows)).toBe(true);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('vectors of unit length are returned bit for bit', () => {
    fc.assert(
      fc.property(row(64), (values) => {
        const unit = Float32Array.from(normalised(values));
        const expected = { count: 1, dimensions: 64 };
        expect(placeInOrder([base64Of(unit)], expected)).toEqual(unit);
        expect(placeInOrder([[...unit]], expected)).toEqual(unit);
      }),
      { seed: SEED },
    );
  });

  it('vectors are refused if one character of the base64 is changed, missing or added', () => {
    const spoilt = fc.tuple(
      fc.integer({ min: 1, max: 12 }),
      fc.nat(),
      fc.constantFrom('!', '*', ' ', '\n', '=', 'é', '한'),
    );
    fc.assert(
      fc.property(spoilt, ([dimensions, where, character]) => {
        const base64 = base64Of(new Float32Array(dimensions).fill(0.5));
        const expected = { count: 1, dimensions };
        const at = where % base64.replace(/=+$/, '').length;
        const replaced = base64.slice(0, at) + character + base64.slice(at + 1);
        const wrong = [
          replaced,
          base64.slice(0, at) + base64.slice(at + 1),
          `${base64}A`,
          `${base64}=`,
          `${character}${base64}`,
        ];
        for (const text of wrong) {
          expect(() => placeInOrder([text], expected)).toThrow(expect.objectContaining({ kind: 'transient' }));
        }
      }),
      { seed: SEED },
    );
  });

  it('vectors may be in base64 without padding', () => {
    const unit = Float32Array.of(0.6, 0.8);
    expect(placeInOrder([base64Of(unit).replace(/=+$/, '')], { count: 1, dimensions: 2 })).toEqual(unit);
  });

  it.each([
    [[Number.NaN, 1]],
    [[Number.POSITIVE_INFINITY, 1]],
    [[1e300, 1]],
    [[null, 1]],
    [['1', 1]],
    [[[1], 1]],
    [[true, 1]],
    [[{}, 1]],
  ])('vectors are refused with %j among their numbers', (values) => {
    const place = () => placeInOrder([values], { count: 1, dimensions: 2 });
    expect(place).toThrow(expect.objectContaining({ kind: 'transient', code: 'not_finite' }));
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'vectors are refused with %d in their base64',
    (value) => {
      const place = () => placeInOrder([base64Of(Float32Array.of(value, 1))], { count: 1, dimensions: 2 });
      expect(place).toThrow(expect.objectContaining({ kind: 'transient', code: 'not_finite' }));
    },
  );

  it.each([undefined, null, '0', 0.5, -1, 2, 1e9, Number.NaN, 'length', 'toString', {}])(
    'vectors are refused with index %s',
    (index) => {
      const data = [
        { index: 0, embedding: [1] },
        { index, embedding: [1] },
      ];
      const place = () => placeByIndex(data, { count: 2, dimensions: 1 });
      expect(place).toThrow(expect.objectContaining({ kind: 'transient', code: 'bad_index' }));
    },
  );
});
