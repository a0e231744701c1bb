/** Maximum number of refusals to remember. */
const REFUSED_MAX = 1_000;

/** Version up to which a table is not read, and the time until which that holds. */
interface Refusal {
  readonly version: number;
  readonly untilMs: number;
}

/** Tables that were too large for the memory or could not be read. They are not read again at once. */
export class RefusedTables {
  readonly #refusals = new Map<string, Refusal>();

  /** Refuse a table at this version and older ones for a time. Beyond the maximum, forget the oldest refusal. */
  add(name: string, version: number, forMs: number): void {
    this.#refusals.delete(name);
    this.#refusals.set(name, { version, untilMs: performance.now() + forMs });
    const [oldest] = this.#refusals.keys();
    if (this.#refusals.size > REFUSED_MAX && oldest !== undefined) this.#refusals.delete(oldest);
  }

  has(name: string, version: number): boolean {
    const refusal = this.#refusals.get(name);
    return refusal !== undefined && refusal.version >= version && refusal.untilMs > performance.now();
  }
}
