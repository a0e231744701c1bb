import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadMap, project } from '../../../src/projection/kernel/loaded-map.ts';
import { packBfloat16 } from '../../../src/projection/kernel/pack-bfloat16.ts';
import { packPanels } from '../../../src/projection/kernel/pack-panels.ts';
import { compileFirstValid, KERNEL_BUILDS } from '../../../src/projection/kernel/wasm-kernel.ts';
import { SEED } from '../../support/random.ts';
import { bfloat16, largestError, norm, projection, randomValues, unitRows } from './reference.ts';

describe.each(KERNEL_BUILDS)('projecting with %s', (build) => {
  const module = compileFirstValid([build]);

  function load(weights: Float32Array, k: number, mean: Float32Array | null = null) {
    const dimensions = weights.length / k;
    const packed = packPanels(weights, k, dimensions);
    return loadMap({ nativeDimension: k, dimensions, packed, mean }, { module, threadsMax: 0 });
  }

  const shapes = fc.record({
    rows: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 90, max: 200 })),
    k: fc.integer({ min: 1, max: 70 }),
    columns: fc.integer({ min: 1, max: 70 }),
    seed: fc.nat(),
    centred: fc.boolean(),
  });

  it('a projection with weights of bfloat16 agrees with float64 for any shape', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), ({ rows, k, columns, seed, centred }, pick) => {
        const d = 1 + (pick % columns);
        const weights = bfloat16(randomValues(k * columns, seed));
        const mean = centred ? randomValues(k, seed + 1) : null;
        const native = unitRows(randomValues(rows * k, seed + 2), k);
        const expected = projection(native, weights, mean, k, d);
        // If the terms of the kept axes cancel out, the direction is rounding noise: the error is relative to the
        // terms.
        const noisy = relativeNorms(native, weights, mean, k, d).some((length) => length < 0.05);
        fc.pre(!noisy);
        expect(largestError(project(load(weights, k, mean), native, d), expected)).toBeLessThan(1e-5);
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it.each([
    [101, 1536, 1024, 1024],
    [7, 1537, 200, 131],
    [25, 4096, 96, 96],
  ])(
    'a projection with weights of bfloat16 agrees with float64 to 1e-6 at %i x %i by %i, %i kept',
    (rows, k, columns, d) => {
      const weights = bfloat16(randomValues(k * columns, 1));
      const mean = randomValues(k, 2).map((x) => x / 50);
      const native = unitRows(randomValues(rows * k, 3), k);
      const projected = project(load(weights, k, mean), native, d);
      expect(largestError(projected, projection(native, weights, mean, k, d))).toBeLessThan(1e-6);
    },
  );

  it.each([
    [1536, 1536, 1536],
    [1536, 1536, 256],
    [384, 1024, 1024],
  ])(
    'a projection of %i axes by %i, %i kept, has a cosine of at least 0.99999 with that by weights of float32',
    (k, columns, d) => {
      const weights = randomValues(k * columns, 1);
      const mean = randomValues(k, 2).map((x) => x / 50);
      const native = unitRows(randomValues(7 * k, 3), k);
      const projected = project(load(weights, k, mean), native, d);
      const exact = projection(native, weights, mean, k, d);
      for (let row = 0; row < 7; row++) {
        let cosine = 0;
        for (let i = row * d; i < (row + 1) * d; i++) cosine += (projected[i] as number) * (exact[i] as number);
        expect(cosine).toBeGreaterThanOrEqual(0.99999);
      }
    },
  );

  it('a projection to a smaller dimension is the normalised prefix', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), fc.nat(), ({ rows, k, columns, seed }, pickSmall, pickLarge) => {
        const large = 1 + (pickLarge % columns);
        const small = 1 + (pickSmall % large);
        const map = load(randomValues(k * columns, seed), k, randomValues(k, seed + 1));
        const native = randomValues(rows * k, seed + 2);
        const whole = project(map, native, large);
        const cut = project(map, native, small);
        for (let row = 0; row < rows; row++) {
          const prefix = whole.subarray(row * large, row * large + small);
          const length = norm(prefix);
          fc.pre(length > 1e-6);
          const expected = prefix.map((x) => x / length);
          expect(largestError(cut.subarray(row * small, (row + 1) * small), expected)).toBeLessThan(1e-6);
        }
      }),
      { seed: SEED },
    );
  });

  it('axes beyond those of the map are zero', () => {
    const map = load(randomValues(5 * 11, 1), 5);
    const native = randomValues(3 * 5, 2);
    const own = project(map, native, 11);
    const wide = project(map, native, 4096);
    for (let row = 0; row < 3; row++) {
      expect(wide.subarray(row * 4096, row * 4096 + 11)).toEqual(own.subarray(row * 11, (row + 1) * 11));
      expect(wide.subarray(row * 4096 + 11, (row + 1) * 4096).every((x) => x === 0)).toBe(true);
    }
  });

  it('a row has exactly the same values, whatever the other rows are', () => {
    const [k, d] = [700, 61];
    const map = load(randomValues(k * 64, 1), k, randomValues(k, 2));
    const native = randomValues(103 * k, 3);
    const together = project(map, native, d);
    for (const row of [0, 5, 6, 95, 96, 101, 102]) {
      const alone = project(map, native.subarray(row * k, (row + 1) * k), d);
      expect(alone).toEqual(together.slice(row * d, (row + 1) * d));
    }
  });

  it('a row of zeros becomes the unit vector of the first axis', () => {
    const mean = Float32Array.of(0.5, -0.25, 1);
    const map = load(randomValues(3 * 10, 1), 3, mean);
    const native = Float32Array.from([...mean, 1, 0, 0, ...mean]);
    for (const d of [1, 9, 10, 12]) {
      const projected = project(map, native, d);
      const axis = Float32Array.from({ length: d }, (_, i) => Number(i === 0));
      expect(projected.slice(0, d)).toEqual(axis);
      expect(projected.slice(2 * d)).toEqual(axis);
      expect(norm(projected.subarray(d, 2 * d))).toBeCloseTo(1, 6);
    }
  });

  it.each([1e-42, 1e-30, 1e30])('rows of magnitude %d are normalised to unit length', (size) => {
    const map = load(
      Float32Array.from({ length: 36 }, (_, i) => (i % 7 === 0 ? 1 : 0)),
      6,
    ); // identity
    const native = Float32Array.of(3, 0, 0, 0, 0, 4).map((x) => x * size);
    const projected = project(map, native, 6);
    expect(norm(projected)).toBeCloseTo(1, 5);
    expect(projected[5]).toBeGreaterThan(0.79);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'a row with %d is refused, and the error names the row',
    (value) => {
      const map = load(randomValues(20 * 12, 1), 20, randomValues(20, 2));
      for (const row of [0, 5, 99, 129]) {
        const native = randomValues(130 * 20, 3);
        native[row * 20 + 13] = value;
        expect(() => project(map, native, 3)).toThrow(
          expect.objectContaining({ code: 'embedding_not_finite', details: { row } }),
        );
      }
    },
  );

  it('a map remains usable after a refused row', () => {
    const map = load(randomValues(4 * 4, 1), 4);
    const native = randomValues(8, 2);
    const before = project(map, native, 4);
    expect(() => project(map, new Float32Array(8).fill(Number.NaN), 4)).toThrow();
    expect(project(map, native, 4)).toEqual(before);
  });
});

function relativeNorms(
  native: Float32Array,
  weights: Float32Array,
  mean: Float32Array | null,
  k: number,
  d: number,
): number[] {
  const columns = weights.length / k;
  return Array.from({ length: native.length / k }, (_, row) => {
    let squares = 0;
    let scale = 0;
    for (let column = 0; column < d; column++) {
      let sum = 0;
      for (let i = 0; i < k; i++) {
        const term = ((native[row * k + i] as number) - (mean?.[i] ?? 0)) * (weights[i * columns + column] as number);
        sum += term;
        scale += term * term;
      }
      squares += sum * sum;
    }
    return Math.sqrt(squares / scale);
  });
}

it('a projection of no rows is empty', () => {
  const map = loadMap({
    nativeDimension: 2,
    dimensions: 1,
    packed: packPanels(Float32Array.of(1, 1), 2, 1),
    mean: null,
  });
  expect(project(map, new Float32Array(0), 1)).toHaveLength(0);
});

it('a projection refuses invalid rows and dimensions', () => {
  const map = loadMap({
    nativeDimension: 2,
    dimensions: 1,
    packed: packPanels(Float32Array.of(1, 1), 2, 1),
    mean: null,
  });
  expect(() => project(map, new Float32Array(3), 1)).toThrow(RangeError);
  expect(() => project(map, new Float32Array(2), 0)).toThrow(RangeError);
  expect(() => project(map, new Float32Array(2), 1.5)).toThrow(RangeError);
});

it('a map refuses weights of the wrong length or with a value that is not finite', () => {
  const packed = packPanels(Float32Array.of(1, 2, 3, 4, 5, 6), 2, 3);
  const weights = { nativeDimension: 2, dimensions: 3, packed, mean: Float32Array.of(1, 2) };
  expect(() => loadMap(weights)).not.toThrow();
  expect(() => loadMap({ ...weights, packed: packed.subarray(1) })).toThrow(RangeError);
  expect(() => loadMap({ ...weights, nativeDimension: 3 })).toThrow(RangeError);
  expect(() => loadMap({ ...weights, nativeDimension: 0, packed: new Float32Array(0) })).toThrow(RangeError);
  expect(() => loadMap({ ...weights, mean: Float32Array.of(1) })).toThrow(RangeError);
  expect(() => loadMap({ ...weights, mean: Float32Array.of(1, Number.NaN) })).toThrow(/finite/);
  for (const weight of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3.4e38]) {
    expect(() => loadMap({ ...weights, packed: packed.with(3, weight) })).toThrow(/finite/);
  }
});

it('columns are packed in panels of eight, the last one padded with zeros', () => {
  const packed = packPanels(
    Float32Array.from({ length: 20 }, (_, i) => i + 1),
    2,
    10,
  );
  expect([...packed.slice(0, 16)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18]);
  expect([...packed.slice(16)]).toEqual([9, 10, 0, 0, 0, 0, 0, 0, 19, 20, 0, 0, 0, 0, 0, 0]);
  expect(() => packPanels(new Float32Array(7), 2, 4)).toThrow(RangeError);
});

it('packed weights are rounded to bfloat16, to nearest, ties to even', () => {
  const tie = 1 + 2 ** -8;
  const packed = Float32Array.of(0, -0, tie, tie + 2 ** -7, tie + 2 ** -20, -1.5, 3.38e38, 2 ** -133);
  const target = new Uint16Array(8);
  packBfloat16(target, packed);
  const values = new Float32Array(Uint32Array.from(target, (bits) => bits << 16).buffer);
  expect([...values.subarray(0, 6)]).toEqual([0, -0, 1, 1 + 2 ** -6, 1 + 2 ** -7, -1.5]);
  expect((values[6] as number) / 3.38e38).toBeCloseTo(1, 2);
  expect(values[7]).toBe(2 ** -133);
});
