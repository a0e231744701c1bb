import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { areaBytes } from './kernel-memory.ts';
import type { VectorBlocks } from './vector-blocks.ts';

/** Rows whose mean can be a centre: with fewer a search is fast without one. They are waited for up to the first search. */
const ROWS = { least: 256, most: 1_024 };
/** Squared length from which a mean is a centre. A shorter one costs little, and equal vectors of two tables keep equal scores. */
const SQUARED_LENGTH_MIN = 0.4;

/**
 * Centre of the vectors of a table: the mean of the first ones if it is long, or else zero. The vectors of many models share
 * a large part, which tells nothing about their differences: without it their numbers can have smaller steps, and their
 * signs differ. It is set when there are rows enough, or before the first search; vectors wait until then.
 */
export class VectorCentre {
  readonly #vectors: VectorBlocks;
  #waiting: Float32Array[] = [];
  #waitingRows = 0;
  #isSet = false;
  /** After the rotation: Float32Array [1024]; null: zero. */
  #value: Float32Array | null = null;

  constructor(vectors: VectorBlocks) {
    this.#vectors = vectors;
  }

  /** Memory of the vectors that wait. */
  get waitingBytes(): number {
    return this.#waiting.reduce((sum, own) => sum + areaBytes(own), 0);
  }

  /** Vectors that wait: Float32Array [n x 1024] each. */
  get waiting(): readonly Float32Array[] {
    return this.#waiting;
  }

  /** Number of vectors that wait. */
  get waitingRows(): number {
    return this.#waitingRows;
  }

  /** Centre, after the rotation, once it is set: Float32Array [1024]; null: zero. */
  get value(): Float32Array | null {
    return this.#value;
  }

  /** Take vectors: Float32Array [n x 1024]. @param store called with those that can be stored now */
  take(vectors: Float32Array, store: (vectors: Float32Array) => void): void {
    if (this.#isSet) {
      store(vectors);
      return;
    }
    this.#waiting.push(this.#vectors.keep(vectors));
    this.#waitingRows += vectors.length / INDEX_DIMENSIONS;
    if (this.#waitingRows >= ROWS.most) this.settle(store);
  }

  /** Set the centre, if it is not yet. @param store called with the vectors that waited for it */
  settle(store: (vectors: Float32Array) => void): void {
    if (this.#isSet) return;
    if (this.#waitingRows >= ROWS.least) {
      const mean = meanOf(this.#waiting, this.#waitingRows);
      if (squaredLength(mean) >= SQUARED_LENGTH_MIN) this.#value = this.#vectors.rotated(mean);
    }
    this.#isSet = true;
    for (const vectors of this.#waiting) store(vectors);
    this.release();
  }

  /** Release the memory of the vectors that wait. */
  release(): void {
    for (const vectors of this.#waiting) this.#vectors.forget(vectors);
    this.#waiting = [];
    this.#waitingRows = 0;
  }

  /** Return what the centre adds to the dot products of its table with the query of a slot. */
  productWith(slot: number): number {
    return this.#value === null ? 0 : this.#vectors.productOf(slot, this.#value);
  }
}

function meanOf(parts: readonly Float32Array[], rows: number): Float32Array {
  const sums = new Float64Array(INDEX_DIMENSIONS);
  for (const vectors of parts) {
    for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) {
      for (let at = 0; at < INDEX_DIMENSIONS; at++) sums[at] = (sums[at] as number) + (vectors[from + at] as number);
    }
  }
  return Float32Array.from(sums, (sum) => sum / rows);
}

function squaredLength(vector: Float32Array): number {
  return vector.reduce((sum, component) => sum + component * component, 0);
}
