import type { Embedder } from '../embedding/embedder.ts';
import { type JobDefinition, lazyHandler } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { BulkContext } from './bulk.ts';
import { bulkOperations } from './bulk-operations.ts';
import { sweepBulkOrphans, sweepBulkResults } from './sweep-bulk.ts';

const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_AGE_MS = 3_600_000;

/** Bulk embedding: jobs, their results, and the removal of both. */
export interface Bulk extends BulkContext {
  readonly jobs: JobDefinition;
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openBulk(context: {
  readonly config: Pick<Config, 'bulk' | 'plans' | 'workers'>;
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly embedder: Embedder;
}): Bulk {
  const { config, sql, objects, threads, notifier, logger, embedder } = context;
  const bulk: BulkContext = { sql, objects, threads, notifier, logger, embedder, plans: config.plans, ...config.bulk };
  return {
    ...bulk,
    jobs: {
      ...lazyHandler({ kind: 'bulk', firstPhase: 'embedding' }, async () => {
        const { bulkHandler } = await import('./bulk-handler.ts');
        return bulkHandler(bulk);
      }),
      ...bulkOperations(bulk),
      worker: 'embed',
      concurrency: config.workers.embedConcurrency,
    },
    chores: (everyMs) => [
      {
        name: 'removal of old bulk results',
        everyMs,
        run: async (signal) => void (await sweepBulkResults(bulk, signal)),
      },
      {
        name: 'removal of orphaned bulk files',
        everyMs: ORPHANS_EVERY_MS,
        run: async (signal) => void (await sweepBulkOrphans(sql, objects, ORPHANS_AGE_MS, signal)),
      },
    ],
  };
}
