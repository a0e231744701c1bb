/** Limit that was exceeded: the owner's, or the total of all owners. */
export type ExceededLimit = 'owner' | 'all';

/** Counter of the bytes that owners currently hold, with a limit per owner and a total limit. */
export class ByteShares {
  readonly #bytesMax: number;
  readonly #bytesOfOneMax: (owner: string) => number;
  readonly #byOwner = new Map<string, number>();
  #bytes = 0;

  constructor({ bytesMax, bytesOfOneMax }: { bytesMax: number; bytesOfOneMax: (owner: string) => number }) {
    this.#bytesMax = bytesMax;
    this.#bytesOfOneMax = bytesOfOneMax;
  }

  /** Total bytes of all owners. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reserve bytes for an owner. Return null, or the limit that this would exceed. */
  take(owner: string, bytes: number): ExceededLimit | null {
    const own = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (own > this.#bytesOfOneMax(owner)) return 'owner';
    if (this.#bytes + bytes > this.#bytesMax) return 'all';
    this.#byOwner.set(owner, own);
    this.#bytes += bytes;
    return null;
  }

  /** Release bytes that the owner reserved. */
  release(owner: string, bytes: number): void {
    const own = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (own === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, own);
    this.#bytes -= bytes;
  }
}
