import { CACHE_KEY_CHARS, type CachedVector } from './cache-key.ts';

/**
 * What an entry takes beside its numbers and its key: objects, the map's slot, the allocation of its buffer.
 * Resident memory of 20,000 to 50,000 entries of 16 to 3,072 dimensions grew by 0.8 to 1.2 kB an entry more than
 * their numbers (Node 24, x64).
 */
export const ENTRY_OVERHEAD_BYTES = 1024 + CACHE_KEY_CHARS;

interface Entry {
  readonly key: string;
  /** Never given out: it is written over once the entry has gone. */
  readonly vector: Float32Array;
  readonly tokens: number;
  older: Entry | undefined;
  newer: Entry | undefined;
}

/**
 * Vectors in memory, least recently used out first, never more than `maxBytes`; 0 keeps nothing.
 *
 * The order is a linked list: a Map in order of insertion would do, but it searches its first entry among all those
 * deleted before: 11 µs an eviction at 18,000 entries, against 0.5 µs.
 *
 * The numbers of an entry that goes make room for those of the next. As garbage they could only be collected with the
 * whole heap: once in twelve answers of 100 texts, at 8 ms of CPU an answer.
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

  /**
   * Copy a vector to `into[at …)`, and count it as used.
   *
   * @returns its tokens; undefined where it is not there
   */
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

  /** Keeps a copy of the vector. */
  set(key: string, { vector, tokens }: CachedVector): void {
    let room = this.#remove(this.#entries.get(key), vector.length);
    const bytes = sizeOf(vector);
    if (bytes > this.#maxBytes) return;
    while (this.#bytes + bytes > this.#maxBytes) room = this.#remove(this.#oldest, vector.length) ?? room;
    const own = room ?? new Float32Array(vector.length);
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

  /** @returns the entry's numbers, to be written over, where there are `length` of them */
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
