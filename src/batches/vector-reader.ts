import { readRange } from '../bulk/read-range.ts';
import { type Objects, objectNotFound } from '../platform/objects/objects.ts';
import type { BatchRow } from './batches-store.ts';
import { chunkKey } from './object-keys.ts';
import type { Plan, PlannedChunk, PlannedText } from './plan.ts';
import type { Progress } from './progress.ts';
import { findStoredChunk } from './store-chunk.ts';

/**
 * Reader of a batch's vectors, roughly in text order. The first access reads a whole chunk. After the chunk has left
 * the cache, later accesses, for repeated texts, read single vectors.
 */
export class VectorReader {
  readonly #objects: Objects;
  readonly #batch: BatchRow;
  readonly #plan: Plan;
  readonly #progress: Progress;
  readonly #seen = new Set<number>();

  constructor(
    objects: Objects,
    source: { readonly batch: BatchRow; readonly plan: Plan; readonly progress: Progress },
  ) {
    this.#objects = objects;
    this.#batch = source.batch;
    this.#plan = source.plan;
    this.#progress = source.progress;
  }

  /**
   * Copy the vector of a text into `target` of the same length.
   * @throws AppError `object_not_found` (404) if the chunk is missing or damaged
   */
  async read({ chunk, row }: PlannedText, target: Float32Array): Promise<void> {
    const held = this.#progress.vectorsOf(chunk) ?? (this.#seen.has(chunk) ? null : await this.#load(chunk));
    this.#seen.add(chunk);
    if (held !== null) {
      // Copy immediately, since evicting a chunk frees it.
      target.set(held.subarray(row * target.length, (row + 1) * target.length));
      return;
    }
    const bytes = new Uint8Array(target.buffer, target.byteOffset, target.byteLength);
    await readRange(this.#objects, this.#keyOf(chunk), row * target.byteLength, bytes);
  }

  async #load(chunk: number): Promise<Float32Array> {
    const planned = this.#plan.chunks[chunk] as PlannedChunk;
    const stored = await findStoredChunk(this.#objects, this.#batch, planned);
    if (stored === null) throw objectNotFound(this.#keyOf(chunk));
    this.#progress.keepVectors(chunk, stored.vectors);
    return stored.vectors;
  }

  #keyOf(chunk: number): string {
    return chunkKey(this.#batch.orgId, this.#batch.id, chunk);
  }
}
