import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from './version.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly httpRequests: Counter<RouteLabel | 'status'>;
  readonly httpSeconds: Histogram<RouteLabel>;
  readonly httpInFlight: Gauge;
  readonly jobsFinished: Counter<'kind' | 'status'>;
  readonly jobSeconds: Histogram<'kind' | 'outcome'>;
  readonly jobWaitSeconds: Histogram<'kind'>;
  readonly textsEmbedded: Counter<'model'>;
  readonly tokensEmbedded: Counter<'model'>;
}

/**
 * Labels of a route: operation id, method and path pattern. The path itself is never a label, because clients choose
 * it.
 */
type RouteLabel = 'operation' | 'method' | 'route';

/** Histogram buckets for durations, from a cached answer to a slow vendor. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Histogram buckets for durations, from a small text to a bulk job of an hour. */
const JOB_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** Define the metrics in a new registry, so that several appliances can run in one process (tests). */
export function openMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'service_' });
  const registers = [registry];
  new Gauge({ name: 'service_build_info', help: '1; the label is the release.', labelNames: ['version'], registers })
    .labels(VERSION)
    .set(1);
  return {
    registry,
    ...httpMetrics(registers),
    ...jobMetrics(registers),
    textsEmbedded: new Counter({
      name: 'service_texts_embedded_total',
      help: 'Texts turned into vectors.',
      labelNames: ['model'],
      registers,
    }),
    tokensEmbedded: new Counter({
      name: 'service_tokens_embedded_total',
      help: 'Tokens of the texts turned into vectors, as they are metered; cached texts count too.',
      labelNames: ['model'],
      registers,
    }),
  };
}

function httpMetrics(registers: Registry[]) {
  const labelNames = ['operation', 'method', 'route'] as const;
  return {
    httpRequests: new Counter({
      name: 'service_http_requests_total',
      help: 'Requests answered, by route and status.',
      labelNames: [...labelNames, 'status'] as const,
      registers,
    }),
    httpSeconds: new Histogram({
      name: 'service_http_request_seconds',
      help: 'Time from first byte read to last byte written, by route.',
      labelNames,
      buckets: REQUEST_SECONDS,
      registers,
    }),
    httpInFlight: new Gauge({
      name: 'service_http_requests_in_flight',
      help: 'Requests whose answer is not complete.',
      registers,
    }),
  };
}

function jobMetrics(registers: Registry[]) {
  return {
    jobsFinished: new Counter({
      name: 'service_jobs_finished_total',
      help: 'Jobs that reached a terminal state in this process.',
      labelNames: ['kind', 'status'] as const,
      registers,
    }),
    jobSeconds: new Histogram({
      name: 'service_job_seconds',
      help: 'Time of one attempt at a job, by its outcome: ready, failed, queued (to be tried again) or lost.',
      labelNames: ['kind', 'outcome'] as const,
      buckets: JOB_SECONDS,
      registers,
    }),
    jobWaitSeconds: new Histogram({
      name: 'service_job_wait_seconds',
      help: 'Time from the creation of a job until a worker first claimed it.',
      labelNames: ['kind'] as const,
      buckets: JOB_SECONDS,
      registers,
    }),
  };
}
