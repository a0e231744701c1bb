import { timesTranspose } from '../kernel/matmul.ts';

/** Number of rows whose similarities are held in memory at once. */
const BLOCK_ROWS = 512;

/**
 * Call `visit` once per query with its similarities to all documents: dot products, which are cosines for rows of unit
 * length. The array is valid only during the call.
 *
 * @param queries Float32Array [n x columns]
 * @param documents Float32Array [m x columns]
 */
export function visitSimilarities(
  queries: Float32Array,
  documents: Float32Array,
  columns: number,
  visit: (query: number, similarities: Float32Array) => void,
): void {
  const count = documents.length / columns;
  for (let begin = 0; begin * columns < queries.length; begin += BLOCK_ROWS) {
    const block = queries.subarray(begin * columns, (begin + BLOCK_ROWS) * columns);
    const rows = block.length / columns;
    const similarities = timesTranspose(block, documents, rows, columns, count);
    for (let row = 0; row < rows; row++) visit(begin + row, similarities.subarray(row * count, (row + 1) * count));
  }
}

/** Return the number of others at least as similar as `own`: 0 is the top rank. Ties count against `own`. */
export function rankOf(similarities: Float32Array, own: number): number {
  const value = similarities[own] as number;
  let rank = 0;
  for (let i = 0; i < similarities.length; i++) {
    if (i !== own && (similarities[i] as number) >= value) rank++;
  }
  return rank;
}

/** Return the indices of the `k` most similar, best first, without `excluded`. Break ties by index. */
export function topK(similarities: Float32Array, k: number, excluded: number): Int32Array {
  const best = new Int32Array(Math.min(k, similarities.length - 1));
  let filled = 0;
  for (let i = 0; i < similarities.length; i++) {
    if (i === excluded) continue;
    const value = similarities[i] as number;
    if (filled === best.length && value <= (similarities[best[filled - 1] as number] as number)) continue;
    let at = filled < best.length ? filled++ : filled - 1;
    while (at > 0 && (similarities[best[at - 1] as number] as number) < value) {
      best[at] = best[at - 1] as number;
      at--;
    }
    best[at] = i;
  }
  return best;
}

/** Find the `k` nearest others of every row by dot product: Int32Array [n x min(k, n - 1)]. */
export function nearestOthers(queries: Float32Array, documents: Float32Array, columns: number, k: number): Int32Array {
  const count = documents.length / columns;
  const width = Math.min(k, count - 1);
  const nearest = new Int32Array((queries.length / columns) * width);
  visitSimilarities(queries, documents, columns, (query, similarities) => {
    nearest.set(topK(similarities, width, query), query * width);
  });
  return nearest;
}

/** Compute the share of common entries, row by row: 0..1. */
export function overlap(a: Int32Array, b: Int32Array, width: number): number {
  let common = 0;
  for (let at = 0; at < a.length; at += width) {
    const wanted = new Set(b.subarray(at, at + width));
    for (let i = at; i < at + width; i++) if (wanted.has(a[i] as number)) common++;
  }
  return a.length === 0 ? 0 : common / a.length;
}
