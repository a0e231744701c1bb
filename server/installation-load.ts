import { statfs } from 'node:fs/promises';
import type { Appliance } from '../src/appliance/appliance.ts';
import { selectDatabaseBytes } from '../src/appliance/overview/overview-store.ts';
import type { Attention, Overview } from '../src/appliance/overview/schema.ts';
import { examineRunning } from '../src/cli/doctor.ts';
import { parseMetrics } from '../src/cli/read-metrics.ts';
import { ServerGauge } from '../src/cli/server-load.ts';
import { openQueueGauge } from '../src/jobs/queues.ts';
import type { Sql } from '../src/platform/postgres.ts';

/** Time for which to reuse the doctor's results. Some checks write to disk or read a backup. */
const CHECKS_MS = 30_000;

type InstallationLoad = NonNullable<Overview['installation']>;

/** Gauge of the whole installation, shared by all its viewers. */
export class InstallationGauge {
  readonly #appliance: Appliance;
  readonly #server: ServerGauge;
  readonly #queues = openQueueGauge();
  #attention: { readonly found: Promise<Attention[]>; readonly untilMs: number } | null = null;

  constructor(appliance: Appliance) {
    this.#appliance = appliance;
    const { registry } = appliance.metrics;
    this.#server = new ServerGauge(
      async () => '',
      async () => parseMetrics(await registry.metrics()),
    );
  }

  /** Read the load now. */
  async read(sql: Sql, signal: AbortSignal): Promise<InstallationLoad> {
    const { config, checkReady } = this.#appliance;
    const [load, { queues, workers, throughput }, { checks }, disk, databaseBytes] = await Promise.all([
      this.#server.read(signal),
      this.#queues(sql),
      checkReady(),
      statfs(config.dataDir),
      selectDatabaseBytes(sql),
    ]);
    const { per_second, fault_rate, p50_ms, p95_ms } = load.requests;
    return {
      queues: [...queues],
      workers: [...workers],
      throughput: { ...throughput, history: [...throughput.history] },
      requests: {
        per_second,
        fault_rate,
        p50_ms,
        p95_ms,
        texts_per_second: load.texts_per_second,
        cache_hit_rate: load.cache.hit_rate,
      },
      providers: load.upstreams.map((upstream) => ({
        provider: upstream.provider,
        state: upstream.breaker,
        calls_per_second: upstream.calls_per_second,
        error_rate: upstream.error_rate,
        p50_ms: upstream.p50_ms,
        p95_ms: upstream.p95_ms,
        in_flight: upstream.in_flight,
        queued_texts: upstream.queued_texts,
      })),
      storage: {
        parts: checks,
        disk_free_bytes: disk.bavail * disk.bsize,
        disk_total_bytes: disk.blocks * disk.bsize,
        database_bytes: databaseBytes,
      },
    };
  }

  /** List the faults that need an operator, in the words of `service doctor`. The result is up to half a minute old. */
  async attention(load: InstallationLoad): Promise<Attention[]> {
    const nowMs = performance.now();
    if (this.#attention === null || nowMs > this.#attention.untilMs) {
      this.#attention = { found: this.#examine(), untilMs: nowMs + CHECKS_MS };
    }
    const parts = Object.entries(load.storage.parts).filter(([, state]) => state !== 'ok');
    const open = load.providers.filter(({ state }) => state === 'open');
    return [
      ...parts.map(([name, state]) => ({ severity: 'error' as const, name, message: `${name} ${state}` })),
      ...open.map(({ provider }) => ({
        severity: 'warning' as const,
        name: `provider ${provider}`,
        message: `${provider} fails, and the service retries it from time to time; see the log for its errors`,
      })),
      ...(await this.#attention.found),
    ];
  }

  async #examine(): Promise<Attention[]> {
    const found: Attention[] = [];
    for await (const { name, status, detail } of examineRunning(this.#appliance)) {
      if (status === 'down') found.push({ severity: 'error', name, message: detail });
    }
    return found;
  }
}
