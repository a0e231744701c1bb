import type { Sql } from '../platform/postgres.ts';
import type { Lease } from './lease.ts';
import type { Job, JobKind, JobPhase } from './schema.ts';
import type { JobFailure } from './store.ts';

/** What one kind of job does; the engine around it knows nothing of documents or vectors. */
export interface JobHandler {
  readonly kind: JobKind;
  readonly firstPhase: JobPhase;
  /** Do the work and finish it by `lease.complete`. Throw JobError for what the owner can be told. */
  run(lease: Lease): Promise<void>;
  /** In the transaction that fails the job for good, also by a reaper: put what it worked on in order. */
  onFailed(tx: Sql, job: Job, failure: JobFailure): Promise<void>;
}
