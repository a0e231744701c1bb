import type { Metric, Registry } from 'prom-client';

type Labels<Label extends string> = Readonly<Record<Label, string>>;

interface MetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  readonly registry: Registry;
}

/** Line of the exposition format of Prometheus. */
interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Metric that is added to with every request. `prom-client` finds the number to change by a text of all labels each time,
 * which took a twentieth of the gateway's CPU; here its series is looked up once, with `of`, and kept by the caller.
 */
abstract class SeriesMetric<Label extends string, Series> {
  readonly name: string;
  readonly help: string;
  abstract readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator = 'sum';
  readonly #labelNames: readonly Label[];
  readonly #series = new Map<string, { readonly labels: Labels<Label>; readonly series: Series }>();

  constructor({ name, help, labelNames, registry }: MetricOptions<Label>) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    // The registry needs the fields above and `get`; its type names only the classes of `prom-client`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Return the series of these labels. */
  of(labels: Labels<Label>): Series {
    const key = JSON.stringify(this.#labelNames.map((name) => labels[name]));
    const known = this.#series.get(key) ?? { labels, series: this.open() };
    this.#series.set(key, known);
    return known.series;
  }

  async get() {
    const values = [...this.#series.values()].flatMap(({ labels, series }) => this.samplesOf(labels, series));
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values };
  }

  protected abstract open(): Series;
  protected abstract samplesOf(labels: Labels<Label>, series: Series): Sample[];
}

/** Number of a metric for one combination of labels. */
export class Tally {
  value = 0;

  add(count: number): void {
    this.value += count;
  }
}

/** Counter, or gauge that goes up and down. */
export class TallyMetric<Label extends string> extends SeriesMetric<Label, Tally> {
  readonly type: 'counter' | 'gauge';

  constructor(type: 'counter' | 'gauge', options: MetricOptions<Label>) {
    super(options);
    this.type = type;
    // Without labels there is one series, which is there from the beginning.
    if (options.labelNames.length === 0) this.of({} as Labels<Label>);
  }

  protected open(): Tally {
    return new Tally();
  }

  protected samplesOf(labels: Labels<Label>, { value }: Tally): Sample[] {
    return [{ labels, value }];
  }
}

/** Distribution of values for one combination of labels. */
export class Distribution {
  readonly #bounds: readonly number[];
  /** Values of each bucket alone; the last one has those beyond all bounds. */
  readonly counts: number[];
  sum = 0;

  /** @param bounds upper bounds of the buckets, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++;
    (this.counts[bucket] as number)++;
    this.sum += value;
  }
}

/** Histogram. */
export class DistributionMetric<Label extends string> extends SeriesMetric<Label, Distribution> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  /** @param options.buckets upper bounds, ascending */
  constructor(options: MetricOptions<Label> & { readonly buckets: readonly number[] }) {
    super(options);
    this.#bounds = options.buckets;
  }

  protected open(): Distribution {
    return new Distribution(this.#bounds);
  }

  protected samplesOf(labels: Labels<Label>, { counts, sum }: Distribution): Sample[] {
    let count = 0;
    const buckets = counts.map((own, bucket) => {
      count += own;
      return {
        metricName: `${this.name}_bucket`,
        labels: { le: boundOf(this.#bounds[bucket]), ...labels },
        value: count,
      };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}

function boundOf(bound: number | undefined): string {
  return bound === undefined ? '+Inf' : String(bound);
}

/** Make a function that keeps what `make` returns for each key. */
export function remembered<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key);
      known.set(key, value);
    }
    return value;
  };
}
