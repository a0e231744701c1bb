import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/** Row of the sample of an index. */
export interface SampledRow {
  readonly documentId: string;
  /** Float32Array [1024], L2-normalised. */
  readonly vector: Float32Array;
  /** Hashes of its terms: no text of a document is kept. */
  readonly terms: ReadonlySet<number>;
}

/** Cosine similarities of a query with texts that it has nothing to do with. */
export interface CosineBackground {
  readonly mean: number;
  readonly deviation: number;
}

/** Rows that a background counts for, if the kind of the model has a usual one. */
const PRIOR_ROWS = 16;
/** Rows below which there is no background without a usual one. */
const ROWS_MIN = 24;
const DEVIATION_MIN = 0.01;
/** Components of a query that are not zero, as those of the built-in model are, up to which the others are left out. */
const SPARSE_MAX = INDEX_DIMENSIONS / 4;

/**
 * Estimate the background of a query from a sample of the index.
 *
 * @param usual background of the kind of the model, which small samples are drawn to; null: it differs between models
 */
export function backgroundOf(
  query: Float32Array,
  sample: readonly SampledRow[],
  usual: CosineBackground | null,
): CosineBackground | null {
  if (usual === null && sample.length < ROWS_MIN) return null;
  const prior = usual === null ? 0 : PRIOR_ROWS;
  let sum = prior * (usual?.mean ?? 0);
  let squares = prior * ((usual?.mean ?? 0) ** 2 + (usual?.deviation ?? 0) ** 2);
  const cosineWith = dotWith(query);
  for (const { vector } of sample) {
    const cosine = cosineWith(vector);
    sum += cosine;
    squares += cosine * cosine;
  }
  const rows = sample.length + prior;
  const mean = sum / rows;
  return { mean, deviation: Math.max(DEVIATION_MIN, Math.sqrt(Math.max(0, squares / rows - mean * mean))) };
}

/** Inverse document frequency of a term in the sample, smoothed so that a term of every row still counts. */
export function weightOf(term: string, sample: readonly SampledRow[]): number {
  const rows = countTerms(sample).get(hashOf(term)) ?? 0;
  return Math.log(1 + (sample.length + 1) / (rows + 0.5));
}

const counted = new WeakMap<readonly SampledRow[], ReadonlyMap<number, number>>();

/** Count the rows of a sample that have each term, once for each sample. */
function countTerms(sample: readonly SampledRow[]): ReadonlyMap<number, number> {
  const known = counted.get(sample);
  if (known) return known;
  const rows = new Map<number, number>();
  for (const { terms } of sample) for (const term of terms) rows.set(term, (rows.get(term) ?? 0) + 1);
  counted.set(sample, rows);
  return rows;
}

/** Hash of a term: FNV-1a of 32 bits. */
export function hashOf(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Make a function that computes the dot product with a vector, which may be zero in most of its components. */
function dotWith(a: Float32Array): (b: Float32Array) => number {
  const used: number[] = [];
  for (let at = 0; at < INDEX_DIMENSIONS; at++) if (a[at] !== 0) used.push(at);
  if (used.length > SPARSE_MAX) return (b) => dot(a, b);
  return (b) => used.reduce((sum, at) => sum + (a[at] as number) * (b[at] as number), 0);
}

/** Dot product in four sums, since an addition to one sum waits for the addition before. */
function dot(a: Float32Array, b: Float32Array): number {
  let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
  for (let at = 0; at < INDEX_DIMENSIONS; at += 4) {
    sum0 += (a[at] as number) * (b[at] as number);
    sum1 += (a[at + 1] as number) * (b[at + 1] as number);
    sum2 += (a[at + 2] as number) * (b[at + 2] as number);
    sum3 += (a[at + 3] as number) * (b[at + 3] as number);
  }
  return sum0 + sum1 + (sum2 + sum3);
}
