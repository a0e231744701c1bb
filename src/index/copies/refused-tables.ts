/** Maximum number of remembered refusals. */
const REFUSED_MAX = 1_000;

/** Table version up to which reading is refused, and the end of the refusal. */
interface Refusal {
  readonly version: number;
  readonly untilMs: number;
}

/** Tables that were too large for memory or unreadable, and should not be read again too soon. */
export class RefusedTables {
  readonly #refusals = new Map<string, Refusal>();

  /** Refuse this and older versions of a table for a time. Beyond the maximum, forget the oldest refusal. */
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
