import type { Sample } from './read-metrics.ts';

/** Metrics of a server at one time by `performance.now()`. */
export interface MetricsReading {
  readonly atMs: number;
  readonly samples: readonly Sample[];
}

/** Labels that a sample must have, possibly among others. */
type Match = Readonly<Record<string, string>>;

/** Differences of metrics between the first and the last of several readings. */
export class MetricsDifference {
  readonly #last: readonly Sample[];
  readonly #before = new Map<string, number>();
  readonly #seconds: number;

  constructor(readings: readonly MetricsReading[]) {
    const first = readings[0];
    const last = readings.at(-1);
    this.#last = last?.samples ?? [];
    // A single reading shows no growth.
    for (const sample of first?.samples ?? []) this.#before.set(keyOf(sample), sample.value);
    this.#seconds = first === undefined || last === undefined ? 0 : (last.atMs - first.atMs) / 1000;
  }

  /** Sum the growth of all counters with a name. A smaller value than before means a reset to 0. */
  grown(name: string, match: Match = {}): number {
    return this.#all(name, match).reduce((sum, sample) => sum + this.#growth(sample), 0);
  }

  perSecond(name: string, match: Match = {}): number {
    return this.#seconds > 0 ? this.grown(name, match) / this.#seconds : 0;
  }

  /** Return the share of the growth that is in samples accepted by `counts`; null without growth. */
  share(name: string, counts: (labels: Match) => boolean, match: Match = {}): number | null {
    const all = this.grown(name, match);
    if (all <= 0) return null;
    const part = this.#all(name, match).filter(({ labels }) => counts(labels));
    return part.reduce((sum, sample) => sum + this.#growth(sample), 0) / all;
  }

  /** Sum the gauges with a name. */
  now(name: string, match: Match = {}): number {
    return this.#all(name, match).reduce((sum, sample) => sum + sample.value, 0);
  }

  labelValues(name: string, label: string, match: Match = {}): string[] {
    const values = this.#all(name, match).flatMap(({ labels }) => labels[label] ?? []);
    return [...new Set(values)].sort();
  }

  /**
   * Estimate a quantile of a histogram of seconds, in milliseconds, by linear interpolation within its bucket (like
   * `histogram_quantile` of Prometheus). Return the lower bound for the last bucket, which has no upper bound.
   */
  quantileMs(name: string, quantile: number, match: Match = {}): number | null {
    const counts = new Map<number, number>();
    for (const sample of this.#all(`${name}_bucket`, match)) {
      const bound = sample.labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample.labels['le']);
      counts.set(bound, (counts.get(bound) ?? 0) + this.#growth(sample));
    }
    const buckets = [...counts].sort(([a], [b]) => a - b);
    const rank = quantile * (buckets.at(-1)?.[1] ?? 0);
    if (rank <= 0) return null;
    let lower = { bound: 0, count: 0 };
    for (const [bound, count] of buckets) {
      if (count >= rank) {
        if (bound === Number.POSITIVE_INFINITY) return 1000 * lower.bound;
        return 1000 * (lower.bound + ((bound - lower.bound) * (rank - lower.count)) / (count - lower.count));
      }
      lower = { bound, count };
    }
    return null;
  }

  #all(name: string, match: Match): Sample[] {
    const labels = Object.entries(match);
    return this.#last.filter(
      (sample) => sample.name === name && labels.every(([label, value]) => sample.labels[label] === value),
    );
  }

  #growth(sample: Sample): number {
    // Without an earlier value, the counter started after the first reading, unless this is the first reading.
    const before = this.#seconds > 0 ? (this.#before.get(keyOf(sample)) ?? 0) : sample.value;
    return sample.value < before ? sample.value : sample.value - before;
  }
}

function keyOf({ name, labels }: Sample): string {
  return JSON.stringify([name, Object.entries(labels).sort()]);
}
