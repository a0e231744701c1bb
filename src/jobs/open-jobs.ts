import { type Chore, choreService } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { type Service, serviceGroup } from '../platform/lifecycle.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Tracing } from '../platform/span.ts';
import type { JobDefinition, WorkerName } from './handler.ts';
import type { JobOperations } from './operations.ts';
import { openQueueMetrics } from './queue-metrics.ts';
import { recordReaper } from './reaper-store.ts';
import { recoverAndNotify } from './recovery.ts';
import { sweepFinishedJobs } from './sweep-jobs.ts';
import { JobWorker, type WorkerOptions } from './worker.ts';

const RECOVERY_MS = 5_000;
const RETENTION_EVERY_MS = 6 * 3_600_000;

export interface Jobs {
  readonly operations: JobOperations;
  /**
   * Create a worker for all of its kinds of jobs. Start it by `runServices` or directly.
   * @param options.drainMs time for running jobs to finish on shutdown, before they return to the queue
   * @param options.sweepMs maximum wait for a notification before reading the queue
   */
  worker(name: WorkerName, options?: Pick<WorkerOptions, 'drainMs' | 'sweepMs'>): Service;
  /** Create only the lease recovery service, which runs in every process that works on jobs. */
  recovery(): Service;
  readonly chores: (everyMs: number) => readonly Chore[];
}

/** @param kinds all kinds of jobs */
export function openJobs(
  context: Omit<JobOperations, 'kinds'> & {
    readonly config: Pick<Config, 'workers' | 'bulk' | 'retention'>;
    readonly metrics: Metrics;
    readonly tracing: Tracing | null;
  },
  kinds: readonly JobDefinition[],
): Jobs {
  const { config, sql, notifier, logger, metrics, tracing, visibleTo } = context;
  const operations: JobOperations = {
    sql,
    notifier,
    logger,
    visibleTo,
    kinds: new Map(kinds.map((definition) => [definition.kind, definition])),
  };
  openQueueMetrics(metrics, sql);
  const recovery = (everyMs: number): Chore => ({
    name: 'recovery of jobs',
    everyMs,
    run: () => recoverAndNotify({ sql, notifier, logger }, operations.kinds),
  });
  return {
    operations,
    worker(name, options = {}) {
      const { leaseMs, retriesMax } = config.workers;
      const { retryWindowMs } = config.bulk;
      const own = kinds.filter((definition) => definition.worker === name);
      const workers = own.map(
        (definition) =>
          new JobWorker({ sql, notifier, logger, metrics, tracing }, definition, {
            concurrency: definition.concurrency,
            leaseMs,
            retriesMax,
            retryWindowMs,
            ...options,
          }),
      );
      return serviceGroup(`${name} worker`, workers);
    },
    recovery: () => choreService('recovery', [recovery(RECOVERY_MS)], logger),
    chores: (everyMs) => [
      recovery(Math.min(RECOVERY_MS, everyMs)),
      { name: 'record that a reaper runs', everyMs, run: () => recordReaper(sql, everyMs) },
      {
        name: 'removal of old jobs',
        everyMs: RETENTION_EVERY_MS,
        run: async (signal) => void (await sweepFinishedJobs(sql, config.retention.jobsMs, signal)),
      },
    ],
  };
}
