import type { RowKeys } from './protocol.ts';

/** Number of chunk indexes per bit mask. */
const MASKED_MAX = 32;

/** Set of row keys. Comparing it with a table of a million rows blocks the thread for about ten milliseconds. */
export class RowKeySet {
  /** Bit mask of the first chunk indexes, by generation. */
  readonly #masks = new Map<number, number>();
  readonly #others = new Map<number, Set<number>>();

  static of({ generations, chunkIndexes }: RowKeys): RowKeySet {
    const keys = new RowKeySet();
    for (const [at, generation] of generations.entries()) keys.add(Number(generation), chunkIndexes[at] as number);
    return keys;
  }

  add(generation: number, chunkIndex: number): void {
    if (isMasked(chunkIndex)) {
      this.#masks.set(generation, (this.#masks.get(generation) ?? 0) | (1 << chunkIndex));
      return;
    }
    const others = this.#others.get(generation);
    if (others) others.add(chunkIndex);
    else this.#others.set(generation, new Set([chunkIndex]));
  }

  has(generation: number, chunkIndex: number): boolean {
    if (isMasked(chunkIndex)) return (((this.#masks.get(generation) ?? 0) >>> chunkIndex) & 1) === 1;
    return this.#others.get(generation)?.has(chunkIndex) ?? false;
  }
}

function isMasked(chunkIndex: number): boolean {
  return chunkIndex >= 0 && chunkIndex < MASKED_MAX;
}
