import type { Embedder } from '../embedding/embedder.ts';
import { type JobDefinition, lazyHandler } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { batchOperations } from './batch-operations.ts';
import type { BatchContext } from './context.ts';
import { expireOverdue, sweepOld, sweepOrphans } from './sweep-batches.ts';

const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_AGE_MS = 24 * 3_600_000;

/** Batches in the shape of OpenAI's API, and deletion of old ones. */
export interface Batches extends BatchContext {
  readonly jobs: JobDefinition;
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openBatches(context: {
  readonly config: Pick<Config, 'bulk' | 'plans' | 'workers' | 'retention'>;
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly embedder: Embedder;
}): Batches {
  const { config, sql, objects, threads, notifier, logger, embedder } = context;
  const batches: BatchContext = {
    sql,
    objects,
    threads,
    notifier,
    logger,
    embedder,
    plans: config.plans,
    callsInFlight: config.bulk.callsInFlight,
    retentionMs: config.retention.jobsMs,
  };
  return {
    ...batches,
    jobs: {
      ...lazyHandler({ kind: 'batch', firstPhase: 'extracting' }, async () => {
        const { batchHandler } = await import('./batch-handler.ts');
        return batchHandler(batches);
      }),
      ...batchOperations(),
      worker: 'embed',
      concurrency: config.workers.embedConcurrency,
    },
    chores: (everyMs) => [
      { name: 'expiry of batches', everyMs, run: () => expireOverdue(batches) },
      { name: 'removal of old batches', everyMs, run: (signal) => sweepOld(batches, signal) },
      {
        name: 'removal of orphaned chunks of batches',
        everyMs: ORPHANS_EVERY_MS,
        run: (signal) => sweepOrphans(batches, ORPHANS_AGE_MS, signal),
      },
    ],
  };
}
