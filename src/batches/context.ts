import type { Embedder } from '../embedding/embedder.ts';
import type { FileContext } from '../files/files.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Threads } from '../platform/threads.ts';
import type { PlanSettings } from '../usage/quotas.ts';

/** Dependencies and settings of batches. */
export interface BatchContext extends FileContext {
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly embedder: Embedder;
  readonly plans: PlanSettings;
  /** Chunks of one batch that are embedded at a time. */
  readonly callsInFlight: number;
  /** Time to keep the record of a batch after its end. */
  readonly retentionMs: number;
}
