import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { BreakerState } from './breaker.ts';

/** Current load of a provider. It is read only when metrics are collected, so calls pay nothing for it. */
export interface ProviderLoad {
  readonly inFlight: number;
  readonly queuedTexts: number;
  readonly breaker: BreakerState;
}

export interface UpstreamMetrics {
  /** Count one attempt. `outcome`: `ok`, `rejected`, or the cause of the failure. */
  attempted(provider: string, outcome: string, seconds: number): void;
  /** Report the load of a provider. @returns a function that stops reporting */
  watch(provider: string, load: () => ProviderLoad): () => void;
}

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

/** Define the metrics of the upstream calls in a registry. Call this once per registry. */
export function openUpstreamMetrics(registry: Registry): UpstreamMetrics {
  const registers = [registry];
  const watched = new Map<string, () => ProviderLoad>();
  const calls = new Counter({
    name: 'service_upstream_calls_total',
    help: 'Calls to providers, each try counted, by outcome.',
    labelNames: ['provider', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'service_upstream_call_seconds',
    help: 'Time of one try of a call to a provider.',
    labelNames: ['provider'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
    registers,
  });
  const gauge = (name: string, help: string, read: (load: ProviderLoad) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['provider'],
      registers,
      collect() {
        for (const [provider, load] of watched) this.set({ provider }, read(load()));
      },
    });
  const gauges = [
    gauge(
      'service_upstream_in_flight',
      'Calls to a provider under way, waits between retries included.',
      (load) => load.inFlight,
    ),
    gauge('service_upstream_queued_texts', 'Texts that wait for a free call.', (load) => load.queuedTexts),
    gauge(
      'service_upstream_breaker',
      'Circuit breaker: 0 closed, 1 half-open, 2 open.',
      (load) => BREAKER_VALUES[load.breaker],
    ),
  ];
  return {
    attempted(provider, outcome, took) {
      calls.inc({ provider, outcome });
      seconds.observe({ provider }, took);
    },
    watch(provider, load) {
      watched.set(provider, load);
      return () => {
        watched.delete(provider);
        for (const each of gauges) each.remove({ provider });
      };
    },
  };
}
