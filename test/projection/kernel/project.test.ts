import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadMap, project } from '../../../src/projection/kernel/loaded-map.ts';
import { packPanels } from '../../../src/projection/kernel/pack-panels.ts';
import { roundWeights } from '../../../src/projection/kernel/round-weights.ts';
import {
  allocateKernelMemory,
  compileFirstValid,
  instantiateKernel,
  KERNEL_BUILDS,
} from '../../../src/projection/kernel/wasm-kernel.ts';
import { SEED } from '../../support/random.ts';
import { largestError, norm, projection, randomValues, unitRows } from './reference.ts';

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

  it('a projection differs from float64 by no more than rounding to 16 bits explains, for any shape', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), ({ rows, k, columns, seed, centred }, pick) => {
        const d = 1 + (pick % columns);
        const weights = randomValues(k * columns, seed);
        const mean = centred ? randomValues(k, seed + 1) : null;
        const native = unitRows(randomValues(rows * k, seed + 2), k);
        const expected = projection(native, weights, mean, k, d);
        const projected = project(load(weights, k, mean), native, d);
        for (const [row, relative] of relativeNorms(native, weights, mean, k, d).entries()) {
          const [from, to] = [row * d, (row + 1) * d];
          // Half a unit of each of k numbers of a row and of a column, of which the norm is 32,767; twice, as it also
          // changes the length.
          const bound = (2 * Math.sqrt(k)) / 32_767 / relative;
          expect(largestError(projected.subarray(from, to), expected.subarray(from, to))).toBeLessThan(bound + 1e-6);
        }
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it.each([
    [101, 1536, 1024, 1024],
    [7, 1537, 200, 131],
    [25, 4096, 96, 96],
    [7, 1536, 1536, 1536],
    [7, 1536, 1536, 256],
    [7, 384, 1024, 1024],
  ])(
    'a projection of %i x %i by %i, %i kept, has a cosine of at least 0.999999 with that of float64',
    (rows, k, columns, d) => {
      const weights = randomValues(k * columns, 1);
      const mean = randomValues(k, 2).map((x) => x / 50);
      const native = unitRows(randomValues(rows * k, 3), k);
      const projected = project(load(weights, k, mean), native, d);
      const exact = projection(native, weights, mean, k, d);
      for (let row = 0; row < rows; row++) {
        let cosine = 0;
        for (let i = row * d; i < (row + 1) * d; i++) cosine += (projected[i] as number) * (exact[i] as number);
        expect(cosine).toBeGreaterThanOrEqual(0.999_999);
      }
    },
  );

  it('a vector and a column that have all their length in one number are multiplied without overflow', () => {
    const k = 1536;
    const column = Float32Array.from({ length: k }, (_, i) => (i === 700 ? -3e38 : 0));
    const weights = Float32Array.from({ length: 2 * k }, (_, at) =>
      at % 2 === 0 ? (column[at >> 1] as number) : 1e37,
    );
    const projected = project(load(weights, k), column, 2);
    const exact = projection(column, weights, null, k, 2);
    expect(largestError(projected, exact)).toBeLessThan(1e-4);
  });

  it('columns of very different lengths keep their proportions', () => {
    const weights = Float32Array.of(1, 0, 1e-3, 0, 1e-20, 1e-35, 0, 1, 0, 1e-3, 0, 0);
    const [first, second, third, fourth, fifth, sixth] = project(load(weights, 2), Float32Array.of(0.6, 0.8), 6);
    expect(second).toBeCloseTo(0.8, 4);
    expect(first).toBeCloseTo(0.6, 4);
    expect((third as number) / (first as number)).toBeCloseTo(1e-3, 6);
    expect((fourth as number) / (second as number)).toBeCloseTo(1e-3, 6);
    expect((fifth as number) / 0.6e-20).toBeCloseTo(1, 3);
    expect(sixth).toBe(0);
  });

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

/** Compute the lengths of the projected rows, relative to the product of those of the row and of all kept columns. */
function relativeNorms(
  native: Float32Array,
  weights: Float32Array,
  mean: Float32Array | null,
  k: number,
  d: number,
): number[] {
  const columns = weights.length / k;
  return Array.from({ length: native.length / k }, (_, row) => {
    const centred = Array.from({ length: k }, (_, i) => (native[row * k + i] as number) - (mean?.[i] ?? 0));
    let [squares, weightSquares] = [0, 0];
    for (let column = 0; column < d; column++) {
      let sum = 0;
      for (const [i, value] of centred.entries()) {
        const weight = weights[i * columns + column] as number;
        sum += value * weight;
        weightSquares += weight * weight;
      }
      squares += sum * sum;
    }
    return Math.sqrt(squares / weightSquares) / Math.hypot(...centred);
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
  for (const weight of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
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

it.each(KERNEL_BUILDS)('%s rounds weights to pairs of integers, each column to the same norm', (build) => {
  const memory = allocateKernelMemory(4_096);
  const kernel = instantiateKernel(compileFirstValid([build]), memory);
  const packed = packPanels(Float32Array.of(3, 0, 8, 4, 0, -6, 0, 0, 0), 3, 3);
  const scales = roundWeights({ kernel, memory }, packed, 3, { target: 1_024, scratch: 0 });
  const [first, ...others] = [...new Int16Array(memory.buffer, 1_024, 48)];
  expect([first, ...others.slice(0, 5)]).toEqual([19_660, 26_214, 0, 0, 26_214, -19_660]);
  expect(others.slice(5).every((value) => value === 0)).toBe(true);
  expect([...scales]).toEqual([0.5, 0, 1, 0, 0, 0, 0, 0]);
});
