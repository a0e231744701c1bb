import type { ActiveMap } from '../../projection/projections.ts';
import { MemoryCache } from './memory-cache.ts';

/** Maximum number of rows to cache. Larger requests use the matrix efficiently, and would evict single texts. */
const ROWS_MAX = 8;

/**
 * Cache of canonical vectors of repeatedly requested texts. Native vectors are cached, too, but for a single text the
 * projection costs more than the rest of its request, because it reads the whole matrix for one row (0.2 ms at 1,536 by
 * 1,536).
 */
export class ProjectedCache {
  readonly #memory: MemoryCache;

  /** @param maxBytes limit of the whole cache; 0 turns it off */
  constructor(maxBytes: number) {
    this.#memory = new MemoryCache(maxBytes);
  }

  /**
   * @param nativeKeys keys of the native vectors' cache, one per text
   * @returns Float32Array [n x dimensions], owned by the caller; null if one of the vectors is not cached
   */
  get(nativeKeys: readonly string[], map: ActiveMap, dimensions: number): Float32Array | null {
    if (nativeKeys.length > ROWS_MAX) return null;
    const keys = nativeKeys.map((key) => keyOf(key, map, dimensions));
    if (!keys.every((key) => this.#memory.has(key))) return null;
    const vectors = new Float32Array(keys.length * dimensions);
    for (const [row, key] of keys.entries()) this.#memory.read(key, vectors, row * dimensions);
    return vectors;
  }

  set(nativeKeys: readonly string[], map: ActiveMap, dimensions: number, vectors: Float32Array): void {
    if (nativeKeys.length > ROWS_MAX) return;
    for (const [row, key] of nativeKeys.entries()) {
      const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
      this.#memory.set(keyOf(key, map, dimensions), { vector, tokens: 0 });
    }
  }
}

/** Build a key from everything that a canonical vector depends on. */
function keyOf(nativeKey: string, { space, version }: ActiveMap, dimensions: number): string {
  return `${nativeKey} ${space} ${version} ${dimensions}`;
}
