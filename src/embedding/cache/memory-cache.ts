import { CACHE_KEY_CHARS, type CachedVector } from './cache-key.ts';

/**
 * Bytes of an entry besides its numbers: key, objects, map slot, buffer allocation. Measured with 20,000 to 50,000
 * entries of 16 to 3,072 dimensions: resident memory grew by 0.8 to 1.2 kB per entry beyond the numbers (Node 24, x64).
 */
export const ENTRY_OVERHEAD_BYTES = 1024 + CACHE_KEY_CHARS;

interface Entry {
  readonly key: string;
  /** Internal: callers get copies, because an evicted entry is overwritten. */
  readonly vector: Float32Array;
  readonly tokens: number;
  older: Entry | undefined;
  newer: Entry | undefined;
}

/**
 * Least-recently-used cache of vectors in memory, of at most `maxBytes`; 0 turns it off.
 *
 * A linked list keeps the order of use. A Map's insertion order is too slow, because finding the first entry skips all
 * deleted ones: 11 µs per eviction at 18,000 entries, against 0.5 µs. The array of an evicted entry is reused for the
 * next entry. As garbage, it would cause a full heap collection once per twelve answers of 100 texts, which costs 8 ms
 * of CPU per answer.
 */
export class MemoryCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  #oldest: Entry | undefined;
  #newest: Entry | undefined;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Copy a vector to `into[at …)` and mark it as used. @returns its tokens; undefined if it is not cached */
  read(key: string, into: Float32Array, at: number): number | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry !== this.#newest) {
      this.#unlink(entry);
      this.#append(entry);
    }
    into.set(entry.vector, at);
    return entry.tokens;
  }

  set(key: string, { vector, tokens }: CachedVector): void {
    let reusable = this.#remove(this.#entries.get(key), vector.length);
    const bytes = sizeOf(vector);
    if (bytes > this.#maxBytes) return;
    while (this.#bytes + bytes > this.#maxBytes) reusable = this.#remove(this.#oldest, vector.length) ?? reusable;
    const own = reusable ?? new Float32Array(vector.length);
    own.set(vector);
    const entry: Entry = { key, vector: own, tokens, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
    this.#bytes += bytes;
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#bytes = 0;
  }

  /** Remove an entry. @returns its array for reuse, if it has `length` numbers */
  #remove(entry: Entry | undefined, length: number): Float32Array | undefined {
    if (!entry) return undefined;
    this.#entries.delete(entry.key);
    this.#unlink(entry);
    this.#bytes -= sizeOf(entry.vector);
    return entry.vector.length === length ? entry.vector : undefined;
  }

  #unlink(entry: Entry): void {
    if (entry.older) entry.older.newer = entry.newer;
    else this.#oldest = entry.newer;
    if (entry.newer) entry.newer.older = entry.older;
    else this.#newest = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
  }

  #append(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }
}

function sizeOf(vector: Float32Array): number {
  return vector.byteLength + ENTRY_OVERHEAD_BYTES;
}
