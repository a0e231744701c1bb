/** Time over which the rate is measured. */
const WINDOW_MS = 15_000;

/** Growth rate of a count that is read repeatedly on one clock. */
export class GrowthRate {
  #points: { readonly atMs: number; readonly count: number }[] = [];

  add(atMs: number, count: number): void {
    const last = this.#points.at(-1);
    // Work that restarted has no rate yet.
    if (last !== undefined && (count < last.count || atMs < last.atMs)) this.#points = [];
    if (last?.atMs === atMs) return;
    this.#points.push({ atMs, count });
    // One point from before the window stays, so that the rate spans all of it.
    while ((this.#points[1]?.atMs ?? atMs) < atMs - WINDOW_MS) this.#points.shift();
  }

  /** Growth per second; null until there are two readings to compare. */
  get perSecond(): number | null {
    const first = this.#points[0];
    const last = this.#points.at(-1);
    if (first === undefined || last === undefined || first === last) return null;
    return (1000 * (last.count - first.count)) / (last.atMs - first.atMs);
  }
}
