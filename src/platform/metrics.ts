import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  readonly httpRequests: Counter<'operation' | 'status'>;
  readonly httpSeconds: Histogram<'operation'>;
  readonly jobsFinished: Counter<'kind' | 'status'>;
  readonly textsEmbedded: Counter<'model'>;
}

/** Define the metrics in a new registry, so that several appliances can run in one process (tests). */
export function openMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'service_' });
  const registers = [registry];
  return {
    registry,
    httpRequests: new Counter({
      name: 'service_http_requests_total',
      help: 'Requests answered, by operation and status.',
      labelNames: ['operation', 'status'],
      registers,
    }),
    httpSeconds: new Histogram({
      name: 'service_http_request_seconds',
      help: 'Time from first byte read to last byte written.',
      labelNames: ['operation'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    jobsFinished: new Counter({
      name: 'service_jobs_finished_total',
      help: 'Jobs that reached a terminal state in this process.',
      labelNames: ['kind', 'status'],
      registers,
    }),
    textsEmbedded: new Counter({
      name: 'service_texts_embedded_total',
      help: 'Texts turned into vectors.',
      labelNames: ['model'],
      registers,
    }),
  };
}
