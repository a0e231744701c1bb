/**
 * Benchmark of printing embedding lists compared with `JSON.stringify`, on random unit vectors:
 * `node test/bench/print.bench.ts`. Both start from the Float32Array of the projection and end with bytes for the
 * socket.
 */
import { renderEmbeddingList } from '../../src/printing/print-floats.ts';
import { createRandom } from '../support/random.ts';

const ROUNDS = 40;
const SHAPES: readonly [texts: number, dimensions: number][] = [
  [1, 1024],
  [100, 256],
  [100, 1024],
  [100, 1536],
  [1000, 1024],
];

const TAIL = { model: 'local/lexical', promptTokens: 12_345 };

function unitVectors(n: number, d: number): Float32Array {
  const vectors = new Float32Array(n * d);
  for (let row = 0; row < n; row++) {
    const values = vectors.subarray(row * d, (row + 1) * d);
    for (let i = 0; i < d; i++) values[i] = normalSample();
    const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < d; i++) values[i] = (values[i] ?? 0) / norm;
  }
  return vectors;
}

const random = createRandom(1);

/** Draw a normally distributed number (Box-Muller transform). */
function normalSample(): number {
  return Math.sqrt(-2 * Math.log(1 - random.real())) * Math.cos(2 * Math.PI * random.real());
}

function stringify(vectors: Float32Array, d: number): Buffer {
  const data = [];
  for (let from = 0, index = 0; from < vectors.length; from += d, index++) {
    data.push({ object: 'embedding', index, embedding: Array.from(vectors.subarray(from, from + d)) });
  }
  const usage = { prompt_tokens: TAIL.promptTokens, total_tokens: TAIL.promptTokens };
  return Buffer.from(JSON.stringify({ object: 'list', data, model: TAIL.model, usage }));
}

/** Measure the fastest and the median round in milliseconds, after a warm-up. */
async function measure(run: () => Buffer | Promise<Buffer>): Promise<{ best: number; median: number; bytes: number }> {
  for (let i = 0; i < 5; i++) await run();
  let bytes = 0;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    bytes = (await run()).length;
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { best: times[0] ?? 0, median: times[ROUNDS >> 1] ?? 0, bytes };
}

const rows = [];
for (const [n, d] of SHAPES) {
  const vectors = unitVectors(n, d);
  const ours = await measure(() => renderEmbeddingList(vectors, d, TAIL));
  const theirs = await measure(() => stringify(vectors, d));
  rows.push({
    shape: `${n} x ${d}`,
    'ms best': ours.best.toFixed(3),
    'ms median': ours.median.toFixed(3),
    'stringify ms best': theirs.best.toFixed(3),
    'stringify ms median': theirs.median.toFixed(3),
    'times faster': (theirs.median / ours.median).toFixed(1),
    MB: (ours.bytes / 1e6).toFixed(3),
    'stringify MB': (theirs.bytes / 1e6).toFixed(3),
  });
}
console.table(rows);
