import type { ActiveMap } from '../../projection/projections.ts';
import { MemoryCache } from './memory-cache.ts';

/** More rows make good use of the matrix by themselves, and would push out what is asked for one by one. */
const ROWS_MAX = 8;

/**
 * Canonical vectors of texts that are asked for again and again. The native ones are cached anyway, but for a single text a
 * projection costs more than all the rest of its request: the whole matrix is read for one row (0.2 ms at 1,536 by 1,536).
 */
export class ProjectedCache {
  readonly #memory: MemoryCache;

  /** @param maxBytes bound of it all; 0 turns it off */
  constructor(maxBytes: number) {
    this.#memory = new MemoryCache(maxBytes);
  }

  /**
   * @param keys of the native vectors' cache, one a text
   * @returns Float32Array [n x dimensions], the caller's own; null where one of them is not there
   */
  recall(keys: readonly string[], map: ActiveMap, dimensions: number): Float32Array | null {
    if (keys.length > ROWS_MAX) return null;
    const names = keys.map((key) => nameOf(key, map, dimensions));
    if (!names.every((name) => this.#memory.has(name))) return null;
    const vectors = new Float32Array(keys.length * dimensions);
    for (const [row, name] of names.entries()) this.#memory.read(name, vectors, row * dimensions);
    return vectors;
  }

  keep(keys: readonly string[], map: ActiveMap, dimensions: number, vectors: Float32Array): void {
    if (keys.length > ROWS_MAX) return;
    for (const [row, key] of keys.entries()) {
      const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
      this.#memory.set(nameOf(key, map, dimensions), { vector, tokens: 0 });
    }
  }
}

/** Another map, or another length, is another vector. */
function nameOf(key: string, { space, version }: ActiveMap, dimensions: number): string {
  return `${key} ${space} ${version} ${dimensions}`;
}
