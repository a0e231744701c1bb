/** Time window of the measurement. */
const WINDOW_MS = 15_000;

/** Growth rate of a count that is repeatedly read with a timestamp of one clock. */
export class GrowthRate {
  #points: { readonly atMs: number; readonly count: number }[] = [];

  add(atMs: number, count: number): void {
    const last = this.#points.at(-1);
    // Restarted work has no rate yet.
    if (last !== undefined && (count < last.count || atMs < last.atMs)) this.#points = [];
    if (last?.atMs === atMs) return;
    this.#points.push({ atMs, count });
    // Keep one point from before the window, so that the rate spans all of it.
    while ((this.#points[1]?.atMs ?? atMs) < atMs - WINDOW_MS) this.#points.shift();
  }

  /** Growth per second; null before the second reading. */
  get perSecond(): number | null {
    const first = this.#points[0];
    const last = this.#points.at(-1);
    if (first === undefined || last === undefined || first === last) return null;
    return (1000 * (last.count - first.count)) / (last.atMs - first.atMs);
  }
}
