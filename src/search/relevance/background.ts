import type { ComparedRow } from '../../index/chunk-index.ts';

/** Distribution of a query's cosine similarity to unrelated texts. */
export interface CosineBackground {
  readonly mean: number;
  readonly deviation: number;
}

/** Number of rows that the usual background of a kind of model counts for. */
const PRIOR_ROWS = 16;
/** Minimum number of rows for a background if the kind of model has no usual one. */
const ROWS_MIN = 24;
const DEVIATION_MIN = 0.01;

/**
 * Estimate the background of a query from a sample of the index.
 *
 * @param sample rows, compared with the vector of the query
 * @param usual usual background of the kind of model, which dominates small samples; null if it differs between models
 */
export function backgroundOf(sample: readonly ComparedRow[], usual: CosineBackground | null): CosineBackground | null {
  if (usual === null && sample.length < ROWS_MIN) return null;
  const prior = usual === null ? 0 : PRIOR_ROWS;
  let sum = prior * (usual?.mean ?? 0);
  let squares = prior * ((usual?.mean ?? 0) ** 2 + (usual?.deviation ?? 0) ** 2);
  for (const { cosine } of sample) {
    sum += cosine ?? 0;
    squares += (cosine ?? 0) ** 2;
  }
  const rows = sample.length + prior;
  const mean = sum / rows;
  return { mean, deviation: Math.max(DEVIATION_MIN, Math.sqrt(Math.max(0, squares / rows - mean * mean))) };
}

/**
 * Return the inverse document frequency of a term in the sample. It is smoothed so that a term of every row still
 * counts.
 */
export function weightOf(term: string, sample: readonly ComparedRow[]): number {
  const rows = countTerms(sample).get(term) ?? 0;
  return Math.log(1 + (sample.length + 1) / (rows + 0.5));
}

const counted = new WeakMap<readonly ComparedRow[], ReadonlyMap<string, number>>();

/** Count, once for each sample, the rows that have each term of the query. */
function countTerms(sample: readonly ComparedRow[]): ReadonlyMap<string, number> {
  const known = counted.get(sample);
  if (known) return known;
  const rows = new Map<string, number>();
  for (const { terms } of sample) for (const term of terms) rows.set(term, (rows.get(term) ?? 0) + 1);
  counted.set(sample, rows);
  return rows;
}
