import { Counter, Gauge, type Registry } from 'prom-client';

/** Definition of a gauge whose samples come from a common reading. */
export interface PolledGauge<Reading> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** Return the samples: the values of the labels, in the order of their names, then the value. */
  readonly samples: (reading: Reading) => readonly (readonly [...labels: string[], value: number])[];
}

/** Time for which a reading is reused. Several readers may collect the metrics, and each reading takes queries. */
const FRESH_MS = 5_000;

/**
 * Define gauges that are read together when the metrics are collected. A failed reading omits its samples and is
 * counted. Other metrics are not affected.
 * @param source name of the reading in the count of failures
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
        // Without labels, a reset yields a sample of 0.
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
