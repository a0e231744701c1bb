import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Lease } from './lease.ts';
import type { Job, JobKind, JobPhase, JobView } from './schema.ts';
import type { JobFailure } from './store.ts';

/** The work of one kind of job; the engine around it knows nothing of documents or vectors. */
export interface JobHandler {
  readonly kind: JobKind;
  readonly firstPhase: JobPhase;
  /** Do the work and finish it by `lease.complete`. Throw JobError for what the owner can be told. */
  run(lease: Lease): Promise<void>;
  /** In the transaction that fails the job for good, also by a reaper: put what it worked on in order. */
  onFailed(tx: Sql, job: Job, failure: JobFailure): Promise<void>;
}

/** What one kind of job does when somebody cancels it, deletes it or wants it done again. */
export interface JobKindOperations {
  /**
   * In the transaction that cancels the job, or removes it while it is queued: put what it worked on in order. It may
   * have been running until now, and its worker may not know yet.
   */
  onCancelled(tx: Sql, job: Job): Promise<void>;
  /**
   * Queue a job (`enqueueJob`) under `newJobId` that does the work of this finished one again, on the same source and
   * with the same priority, bucket and collection, and with `reprocessOfJobId` set.
   *
   * @throws AppError where it cannot be done again (the source is gone, the quota is used up)
   */
  reprocess(tx: Sql, job: Job, newJobId: string, caller: Caller): Promise<JobView>;
  /** After the job's row is gone: remove what belongs to nothing else. A failure is logged; a sweep must find the rest. */
  forget(job: Job): Promise<void>;
}

/** Processes that work on jobs: `service worker embed` and `service worker ingest`. */
export type WorkerName = 'embed' | 'ingest';

/** Everything that the engine has to know of one kind of job. */
export interface JobDefinition extends JobHandler, JobKindOperations {
  readonly worker: WorkerName;
  /** Jobs of this kind that one worker runs at a time. */
  readonly concurrency: number;
}
