/** Part of the limits that has no room: that of the owner, or that of all owners. */
export type ExceededLimit = 'owner' | 'all';

/** Bytes that owners hold at the moment, with a limit for each owner and one for all together. */
export class ByteShares {
  readonly #bytesMax: number;
  readonly #bytesOfOneMax: (owner: string) => number;
  readonly #byOwner = new Map<string, number>();
  #bytes = 0;

  constructor({ bytesMax, bytesOfOneMax }: { bytesMax: number; bytesOfOneMax: (owner: string) => number }) {
    this.#bytesMax = bytesMax;
    this.#bytesOfOneMax = bytesOfOneMax;
  }

  /** Bytes of all owners. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Take bytes for an owner. Return the limit that has no room for them; null if they were taken. */
  take(owner: string, bytes: number): ExceededLimit | null {
    const own = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (own > this.#bytesOfOneMax(owner)) return 'owner';
    if (this.#bytes + bytes > this.#bytesMax) return 'all';
    this.#byOwner.set(owner, own);
    this.#bytes += bytes;
    return null;
  }

  /** Give back bytes that the owner took. */
  release(owner: string, bytes: number): void {
    const own = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (own === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, own);
    this.#bytes -= bytes;
  }
}
