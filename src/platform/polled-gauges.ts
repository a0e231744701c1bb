import { Counter, Gauge, type Registry } from 'prom-client';

/** Gauge whose samples come from a shared reading. */
export interface PolledGauge<Reading> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Return the samples: the label values, in the order of the label names, then the value. */
  readonly samples: (reading: Reading) => readonly (readonly [...labels: string[], value: number])[];
}

/** Time for which a reading is reused. Several scrapers may collect the metrics, and each reading costs queries. */
const FRESH_MS = 5_000;

/**
 * Define gauges that are read together when the metrics are collected. If a reading fails, count the failure and omit
 * its samples. Other metrics aren't affected.
 * @param source name of the reading in the failure count
 * @param read must settle within the time that a scrape may take
 */
export function openPolledGauges<Reading>(
  registry: Registry,
  source: string,
  read: () => Promise<Reading>,
  gauges: readonly PolledGauge<Reading>[],
): void {
  const failures = failedReadings(registry);
  failures.inc({ source }, 0);
  let last: { readonly reading: Promise<Reading | null>; untilMs: number } | null = null;
  const readFresh = (): Promise<Reading | null> => {
    if (last !== null && performance.now() < last.untilMs) return last.reading;
    const current = {
      reading: read().catch(() => {
        failures.inc({ source });
        return null;
      }),
      untilMs: Number.POSITIVE_INFINITY,
    };
    last = current;
    void current.reading.then(() => {
      current.untilMs = performance.now() + FRESH_MS;
    });
    return current.reading;
  };
  for (const { name, help, labelNames = [], samples } of gauges) {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      async collect() {
        const reading = await readFresh();
        this.reset();
        // A reset of a gauge without labels would yield a sample of 0.
        if (reading === null && labelNames.length === 0) this.remove();
        for (const sample of reading === null ? [] : samples(reading)) {
          const value = sample.at(-1) as number;
          if (labelNames.length === 0) this.set(value);
          else this.labels(...(sample.slice(0, -1) as string[])).set(value);
        }
      },
    });
  }
}

const FAILURES = 'service_metrics_failed_readings_total';

function failedReadings(registry: Registry): Counter<'source'> {
  const known = registry.getSingleMetric(FAILURES);
  if (known !== undefined) return known as Counter<'source'>;
  return new Counter({
    name: FAILURES,
    help: 'Readings for the metrics that failed, such as queries of a database that does not answer.',
    labelNames: ['source'],
    registers: [registry],
  });
}
