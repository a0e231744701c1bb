import type { Allowed, RowRange } from '../best-rows.ts';

/** Vectors of the rows of one table. */
export interface TableVectors {
  readonly memoryBytes: number;
  /** Append vectors: Float32Array [n x 1024], each of length 1 or all zeros. */
  add(vectors: Float32Array): void;
  /** Offer the allowed rows nearest to a vector, with their cosine similarity. `vector`: Float32Array [1024] */
  search(vector: Float32Array, allowed: Allowed, range: RowRange): void;
  /** Offer these rows, with their cosine similarity to a vector. */
  offerRows(vector: Float32Array, rows: Iterable<number>, range: RowRange): void;
  /** Release memory and files. Do not use the object afterwards. */
  release(): void;
}
