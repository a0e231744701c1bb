import { AppError } from '../platform/errors.ts';
import { BREAKER_STATES, type ChannelLoad, type ServerLoad } from '../tui/server-load.ts';
import { MetricsDifference, type MetricsReading } from './metrics-difference.ts';
import { readMetrics, type Sample } from './read-metrics.ts';

/** Maximum time over which rates and latencies are computed. */
const WINDOW_MS = 10_000;
const HISTORY_MAX = 60;
/** Outcomes that aren't the vendor's fault: `rejected` means invalid input, `abandoned` that the client left. */
const NO_FAULTS = new Set(['ok', 'rejected', 'abandoned']);
/** Operations of this gauge, probes and monitors, which don't count as load. */
const WATCHING = new Set(['getMetrics', 'getHealth', 'getReadiness']);

/** Gauge of one server's load, for about one reading per second. Its rates are differences between readings. */
export class ServerGauge {
  readonly #locate: () => Promise<string>;
  readonly #readSamples: (url: string, signal: AbortSignal) => Promise<Sample[]>;
  #url: string | null = null;
  #readings: MetricsReading[] = [];
  #requests: number[] = [];
  #hitRates: (number | null)[] = [];
  #latencies = new Map<string, (number | null)[]>();

  /**
   * @param locate returns the current address of the server, without a path; throws AppError if there is none
   * @param readSamples reads its metrics; over HTTP by default
   */
  constructor(locate: () => Promise<string>, readSamples = readMetrics) {
    this.#locate = locate;
    this.#readSamples = readSamples;
  }

  /** Read the load. If the server cannot be read, set `trouble`. @throws the signal's reason */
  async read(signal: AbortSignal): Promise<ServerLoad> {
    try {
      const url = await this.#locate();
      // Counters of different servers aren't comparable.
      if (url !== this.#url) this.#readings = [];
      this.#url = url;
      const samples = await this.#readSamples(url, signal);
      const load = samples.filter(({ labels }) => !WATCHING.has(labels['operation'] ?? ''));
      this.#readings.push({ atMs: performance.now(), samples: load });
    } catch (error) {
      if (!(error instanceof AppError) || signal.aborted) throw error;
      this.#readings = [];
      return { ...this.#load(), trouble: error.message };
    }
    const newest = this.#readings.at(-1) as MetricsReading;
    while (this.#readings.length > 2 && newest.atMs - (this.#readings[0] as MetricsReading).atMs > WINDOW_MS) {
      this.#readings.shift();
    }
    this.#remember();
    return this.#load();
  }

  /** Add the values since the last reading to the histories of the sparklines. */
  #remember(): void {
    if (this.#readings.length < 2) return;
    const step = new MetricsDifference(this.#readings.slice(-2));
    keep(this.#requests, step.perSecond('service_http_requests_total'));
    keep(this.#hitRates, hitRate(step));
    for (const provider of step.labelValues('service_upstream_calls_total', 'provider')) {
      const history = this.#latencies.get(provider) ?? [];
      this.#latencies.set(provider, history);
      keep(history, step.quantileMs('service_upstream_call_seconds', 0.95, { provider }));
    }
  }

  #load(): ServerLoad {
    const since = new MetricsDifference(this.#readings);
    const answers = 'service_http_requests_total';
    const lookups = 'service_embedding_cache_texts_total';
    return {
      url: this.#url,
      trouble: null,
      requests: {
        per_second: since.perSecond(answers),
        fault_rate: since.share(answers, ({ status = '' }) => status.startsWith('5')),
        p50_ms: since.quantileMs('service_http_request_seconds', 0.5),
        p95_ms: since.quantileMs('service_http_request_seconds', 0.95),
        history: [...this.#requests],
      },
      texts_per_second: since.perSecond('service_texts_embedded_total'),
      cache: {
        hit_rate: hitRate(since),
        texts_per_second: since.perSecond(lookups, { layer: 'memory' }),
        bytes: since.now('service_embedding_cache_bytes'),
        history: [...this.#hitRates],
      },
      upstreams: since.labelValues('service_upstream_calls_total', 'provider').map((provider) => ({
        provider,
        calls_per_second: since.perSecond('service_upstream_calls_total', { provider }),
        error_rate: since.share('service_upstream_calls_total', ({ outcome = '' }) => !NO_FAULTS.has(outcome), {
          provider,
        }),
        p50_ms: since.quantileMs('service_upstream_call_seconds', 0.5, { provider }),
        p95_ms: since.quantileMs('service_upstream_call_seconds', 0.95, { provider }),
        in_flight: since.now('service_upstream_in_flight', { provider }),
        queued_texts: since.now('service_upstream_queued_texts', { provider }),
        breaker: BREAKER_STATES[since.now('service_upstream_breaker', { provider })] ?? 'closed',
        history_p95_ms: [...(this.#latencies.get(provider) ?? [])],
      })),
      channels: channelLoads(since),
    };
  }
}

function channelLoads(since: MetricsDifference): ChannelLoad[] {
  const deliveries = 'service_channel_deliveries_total';
  const seconds = 'service_channel_reply_seconds';
  return since.labelValues(deliveries, 'channel').map((channel) => ({
    channel,
    bot: since.labelValues(deliveries, 'bot', { channel })[0] ?? '',
    deliveries_per_second: since.perSecond(deliveries, { channel }),
    limited_rate: since.share(deliveries, ({ outcome }) => outcome === 'rate_limited', { channel }),
    refusals_per_second: since.perSecond('service_channel_refusals_total', { channel }),
    faults_per_second: since.perSecond('service_channel_faults_total', { channel }),
    p50_ms: since.quantileMs(seconds, 0.5, { channel }),
    p95_ms: since.quantileMs(seconds, 0.95, { channel }),
  }));
}

/**
 * Compute the hit rate of all layers. Every text is looked up in memory first, so that layer's count includes all
 * texts.
 */
function hitRate(since: MetricsDifference): number | null {
  const name = 'service_embedding_cache_texts_total';
  const all = since.grown(name, { layer: 'memory' });
  return all > 0 ? Math.min(1, since.grown(name, { outcome: 'hit' }) / all) : null;
}

function keep<T>(history: T[], value: T): void {
  history.push(value);
  if (history.length > HISTORY_MAX) history.shift();
}
