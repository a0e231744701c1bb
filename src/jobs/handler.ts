import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Lease } from './lease.ts';
import type { Job, JobKind, JobPhase, JobView } from './schema.ts';
import type { JobFailure } from './store.ts';

/** Handler of one kind of job. The job engine itself knows nothing about documents or vectors. */
export interface JobHandler {
  readonly kind: JobKind;
  readonly firstPhase: JobPhase;
  /** Consecutive lost leases without progress after which a job fails, as it seems to kill its workers; default 3. */
  readonly crashesMax?: number;
  /** Do the work, and finish the job by `lease.complete`. @throws JobError for a failure to report to the owner */
  run(lease: Lease): Promise<void>;
  /** Clean up, in the transaction that fails the job permanently. A reaper also calls this. */
  onFailed(tx: Sql, job: Job, failure: JobFailure): Promise<void>;
}

/**
 * Create a handler that is loaded with its first job, so that processes without such jobs start without it.
 * @param load loads the handler; its `kind`, `firstPhase` and `crashesMax` must equal those of `about`
 */
export function lazyHandler(
  about: Pick<JobHandler, 'kind' | 'firstPhase' | 'crashesMax'>,
  load: () => Promise<JobHandler>,
): JobHandler {
  let loaded: Promise<JobHandler> | null = null;
  const handler = () => {
    loaded ??= load();
    return loaded;
  };
  return {
    ...about,
    run: async (lease) => (await handler()).run(lease),
    onFailed: async (tx, job, failure) => (await handler()).onFailed(tx, job, failure),
  };
}

/** Operations of one kind of job: the kind-specific parts of cancel, delete and reprocess. */
export interface JobKindOperations {
  /**
   * Clean up, in the transaction that cancels the job or deletes it while queued. The job may have been running until
   * now, and its worker may not know yet.
   */
  onCancelled(tx: Sql, job: Job, caller: Caller): Promise<void>;
  /**
   * Store the files of a new job that `reprocess` will queue under `newJobId`. This precedes its transaction, since
   * PostgreSQL ends transactions that wait for a long copy. If the transaction fails, `forget` deletes the files.
   * @throws AppError if the job can't be repeated; then nothing is left under `newJobId`
   */
  prepareReprocess?(job: Job, newJobId: string): Promise<void>;
  /**
   * Queue a job (`enqueueJob`) under `newJobId` that repeats this finished one, with the same source, priority, bucket
   * and collection, and with `reprocessOfJobId` set.
   * @throws AppError if it can't be repeated (the source is gone, the quota is used up)
   */
  reprocess(tx: Sql, job: Job, newJobId: string, caller: Caller): Promise<JobView>;
  /**
   * Delete files that belong only to this job, which was deleted or never queued. A failure is only logged, so a sweep
   * must find the remaining files.
   */
  forget(job: Pick<Job, 'id' | 'orgId'>): Promise<void>;
}

/** Name of a worker process: `service worker embed` or `service worker ingest`. */
export type WorkerName = 'embed' | 'ingest';

export interface JobDefinition extends JobHandler, JobKindOperations {
  readonly worker: WorkerName;
  /** Maximum number of concurrent jobs of this kind per worker. */
  readonly concurrency: number;
}
