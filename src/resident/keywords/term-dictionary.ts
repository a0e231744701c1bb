import { grown } from '../grow.ts';

/** Maximum load factor of the hash table. */
const LOAD_MAX = 0.6;
const SLOTS_MIN = 1_024;

/** Hash table from terms (UTF-8 bytes) to numbers, with open addressing in typed arrays. */
export class TermDictionary {
  /** Number of the slot's term plus 1; 0 for an empty slot. */
  #slots = new Int32Array(SLOTS_MIN);
  #bytes = new Uint8Array(0);
  /** Start of each term in the bytes, and the end of the last one. */
  #starts = new Uint32Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get memoryBytes(): number {
    return this.#slots.byteLength + this.#bytes.byteLength + this.#starts.byteLength;
  }

  /** Return the number of the term `source[from .. to)`, or -1 if unknown. */
  find(source: Uint8Array, from: number, to: number): number {
    return (this.#slots[this.#slotOf(source, from, to)] as number) - 1;
  }

  /** Return the number of the term `source[from .. to)`. An unknown term gets the next number, counting from 0. */
  add(source: Uint8Array, from: number, to: number): number {
    const slot = this.#slotOf(source, from, to);
    const known = (this.#slots[slot] as number) - 1;
    if (known >= 0) return known;
    const start = this.#starts[this.#size] as number;
    const end = start + to - from;
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, end);
    // Terms are short, so copying bytes is faster than creating a view.
    for (let at = from; at < to; at++) this.#bytes[start + at - from] = source[at] as number;
    if (this.#size + 2 > this.#starts.length) this.#starts = grown(this.#starts, this.#size + 2);
    this.#starts[this.#size + 1] = end;
    this.#slots[slot] = ++this.#size;
    if (this.#size > this.#slots.length * LOAD_MAX) this.#rehash();
    return this.#size - 1;
  }

  /** List the terms that start with this byte and whose length in bytes is in this range. */
  termsLike(first: number, lengthMin: number, lengthMax: number): string[] {
    const decoder = new TextDecoder();
    const alike: string[] = [];
    for (let term = 0; term < this.#size; term++) {
      const from = this.#starts[term] as number;
      const to = this.#starts[term + 1] as number;
      if (this.#bytes[from] !== first || to - from < lengthMin || to - from > lengthMax) continue;
      alike.push(decoder.decode(this.#bytes.subarray(from, to)));
    }
    return alike;
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let term = 0; term < this.#size; term++) {
      const [from, to] = [this.#starts[term] as number, this.#starts[term + 1] as number];
      this.#slots[this.#slotOf(this.#bytes, from, to)] = term + 1;
    }
  }

  /** Find the slot of the term, or the empty slot where it belongs. */
  #slotOf(source: Uint8Array, from: number, to: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(source, from, to) & mask;
    for (;;) {
      const term = (this.#slots[slot] as number) - 1;
      if (term < 0 || this.#equals(term, source, from, to)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #equals(term: number, source: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[term] as number;
    if ((this.#starts[term + 1] as number) - start !== to - from) return false;
    for (let at = from; at < to; at++) if (source[at] !== this.#bytes[start + at - from]) return false;
    return true;
  }
}

/** Hash with 32-bit FNV-1a, followed by the finalizer of MurmurHash3 (Appleby). */
function hashOf(source: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (source[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
