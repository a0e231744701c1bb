/**
 * Benchmark of projection on one core, and of the larger products of fitting: `node test/bench/kernel.bench.ts`.
 * GFLOP/s count a multiplication and an addition for each weight and row. "project" is the whole work of a request:
 * copying in and out, mean, product, L2 norm. Plain JavaScript is the product alone, four columns at a time from a
 * transposed matrix, the fastest of three tried ways. The row of a single text is measured once more with cold caches: so
 * much other memory is read before each round that the map is read from memory again, as between two requests.
 */
import { loadMap, project } from '../../src/projection/kernel/loaded-map.ts';
import { matmul, transposeTimes } from '../../src/projection/kernel/matmul.ts';
import { packPanels } from '../../src/projection/kernel/pack-panels.ts';
import { compileFirstValid, KERNEL_BUILDS } from '../../src/projection/kernel/wasm-kernel.ts';
import { createRandom } from '../support/random.ts';

const PROJECTIONS: readonly [rows: number, native: number, dimensions: number][] = [
  [1, 1536, 1024],
  [100, 384, 1024],
  [100, 1536, 1024],
  [100, 3072, 3072],
];

const random = createRandom(1);

function randomValues(length: number): Float32Array {
  return new Float32Array(length).map(() => random.real() - 0.5);
}

/** Multiply in plain JavaScript. @param transposedWeights [columns x k]; columns are a multiple of 4 */
function plainJavaScript(
  a: Float32Array,
  transposedWeights: Float32Array,
  rows: number,
  k: number,
  columns: number,
): Float32Array {
  const w = transposedWeights;
  const c = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const from = row * k;
    for (let column = 0; column < columns; column += 4) {
      const [w0, w1, w2, w3] = [column * k, (column + 1) * k, (column + 2) * k, (column + 3) * k];
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      for (let i = 0; i < k; i++) {
        const x = a[from + i] as number;
        s0 += x * (w[w0 + i] as number);
        s1 += x * (w[w1 + i] as number);
        s2 += x * (w[w2 + i] as number);
        s3 += x * (w[w3 + i] as number);
      }
      c.set([s0, s1, s2, s3], row * columns + column);
    }
  }
  return c;
}

/** Memory larger than the caches of common CPUs. */
const otherMemory = new Float64Array(128e6 / 8).fill(1);

/** Measure the fastest and the median round in milliseconds, after a warm-up. */
function measure(run: () => Float32Array, rounds: number, isCold = false): { best: number; median: number } {
  run();
  const times = Array.from({ length: rounds }, () => {
    if (isCold && otherMemory.reduce((sum, value) => sum + value, 0) === 0) throw new Error('the memory is empty');
    const start = performance.now();
    run();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  return { best: times[0] ?? 0, median: times[rounds >> 1] ?? 0 };
}

const rate = (flops: number, ms: number) => (flops / ms / 1e6).toFixed(1);

console.table(
  PROJECTIONS.flatMap(([rows, k, d]) => {
    const weights = randomValues(k * d);
    const native = randomValues(rows * k);
    const flops = 2 * rows * k * d;
    const rounds = flops > 1e9 ? 15 : 60;
    const map = { nativeDimension: k, dimensions: d, packed: packPanels(weights, k, d), mean: randomValues(k) };
    const plain = measure(() => plainJavaScript(native, weights, rows, k, d), 3);
    return KERNEL_BUILDS.map((build) => {
      const loaded = loadMap(map, { module: compileFirstValid([build]), threadsMax: 0 });
      const { best, median } = measure(() => project(loaded, native, d), rounds);
      return {
        'project with': build.replace('.wasm', ''),
        shape: `${rows} x ${k} by ${d}`,
        'ms best': best.toFixed(2),
        'ms median': median.toFixed(2),
        'GFLOP/s best': rate(flops, best),
        'GFLOP/s median': rate(flops, median),
        'plain JavaScript ms': plain.best.toFixed(1),
        'times faster': (plain.best / best).toFixed(1),
      };
    });
  }),
);

console.table(
  [1, 6].map((rows) => {
    const [k, d] = [1536, 1536];
    const map = { nativeDimension: k, dimensions: d, packed: packPanels(randomValues(k * d), k, d), mean: null };
    const loaded = loadMap(map, { threadsMax: 0 });
    const native = randomValues(rows * k);
    const [warm, cold] = [false, true].map((isCold) => measure(() => project(loaded, native, d), 40, isCold));
    return {
      project: `${rows} x ${k} by ${d}`,
      'ms median, map in the caches': warm?.median.toFixed(3),
      'ms median, cold caches': cold?.median.toFixed(3),
    };
  }),
);

const PRODUCTS = [
  { name: 'matmul', m: 1536, k: 1536, n: 4096 },
  { name: 'transposeTimes', m: 1536, k: 5000, n: 1536 },
] as const;
console.table(
  PRODUCTS.map(({ name, m, k, n }) => {
    const [a, b] = [randomValues(m * k), randomValues(k * n)];
    const run = name === 'matmul' ? () => matmul(a, m, k, b, n) : () => transposeTimes(a, b, k, m, n);
    const { best, median } = measure(run, 5);
    const flops = 2 * m * k * n;
    return {
      product: name,
      shape: `${m} x ${k} by ${n}`,
      'ms best': best.toFixed(0),
      'ms median': median.toFixed(0),
      'GFLOP/s best': rate(flops, best),
      'GFLOP/s median': rate(flops, median),
    };
  }),
);
