import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { Allowed, RowRange } from '../best-rows.ts';
import { grown } from '../grow.ts';
import { dotProductWith } from './dot-product.ts';
import type { TableVectors } from './table-vectors.ts';

/** Unquantised vectors of a small table. A search compares all of them. */
export class ExactVectors implements TableVectors {
  /** Float32Array [rows x 1024], row-major, with spare capacity. */
  #vectors = new Float32Array(0);
  #rows = 0;

  get memoryBytes(): number {
    return this.#vectors.byteLength;
  }

  add(vectors: Float32Array): void {
    const used = this.#rows * INDEX_DIMENSIONS;
    this.#vectors = grown(this.#vectors, used + vectors.length);
    this.#vectors.set(vectors, used);
    this.#rows += vectors.length / INDEX_DIMENSIONS;
  }

  search(vector: Float32Array, allowed: Allowed, { best, first }: RowRange): void {
    const productWith = dotProductWith(vector);
    for (let row = 0; row < this.#rows; row++) {
      if (allowed !== null && allowed[row] !== 1) continue;
      const cosine = productWith(this.#vectors, row * INDEX_DIMENSIONS);
      if (cosine >= best.threshold) best.offer(first + row, cosine);
    }
  }

  offerRows(vector: Float32Array, rows: Iterable<number>, { best, first }: RowRange): void {
    const productWith = dotProductWith(vector);
    for (const row of rows) best.offer(first + row, productWith(this.#vectors, row * INDEX_DIMENSIONS));
  }

  release(): void {
    this.#vectors = new Float32Array(0);
    this.#rows = 0;
  }
}
