import type { Embedder } from '../embedding/embedder.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { PlanSettings } from '../usage/quotas.ts';

/** Dependencies and settings of files and batches. */
export interface BatchContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly embedder: Embedder;
  readonly plans: PlanSettings;
  /** Chunks of one batch that are embedded at a time. */
  readonly callsInFlight: number;
  /** Time to keep the record of a batch after its end. */
  readonly retentionMs: number;
}
