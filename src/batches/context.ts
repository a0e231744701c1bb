import type { Embedder } from '../embedding/embedder.ts';
import type { FileContext } from '../files/files.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Threads } from '../platform/threads.ts';

/** Dependencies and settings for batches. */
export interface BatchContext extends FileContext {
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly embedder: Embedder;
  /** Maximum number of chunks of one batch to embed concurrently. */
  readonly callsInFlight: number;
  /** Time to keep the record of an ended batch. */
  readonly retentionMs: number;
}
