import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Lease } from './lease.ts';
import type { Job, JobKind, JobPhase, JobView } from './schema.ts';
import type { JobFailure } from './store.ts';

/** Work of one kind of job. The job engine itself knows nothing of documents or vectors. */
export interface JobHandler {
  readonly kind: JobKind;
  readonly firstPhase: JobPhase;
  /** Consecutive lost leases without progress after which a job fails as one that kills its workers; default 3. */
  readonly crashesMax?: number;
  /** Do the work and finish it by `lease.complete`. @throws JobError for a failure that is reported to the owner */
  run(lease: Lease): Promise<void>;
  /** Clean up after the job, in the transaction that fails it permanently. A reaper also calls this. */
  onFailed(tx: Sql, job: Job, failure: JobFailure): Promise<void>;
}

/**
 * Make a handler that is loaded with its first job, so that processes without jobs of this kind start without it.
 * @param load loads the handler; its `kind`, `firstPhase` and `crashesMax` are those of `about`
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

/** Operations of one kind of job: the parts of cancel, delete and reprocess that depend on the kind. */
export interface JobKindOperations {
  /**
   * Clean up after the job, in the transaction that cancels it or removes it while it is queued. The job may have been
   * running until now, and its worker may not know yet.
   */
  onCancelled(tx: Sql, job: Job, caller: Caller): Promise<void>;
  /**
   * Store the files of a new job that `reprocess` will queue under `newJobId`, before its transaction, since PostgreSQL
   * ends transactions that wait for a long copy. If the transaction fails, `forget` removes the files.
   * @throws AppError if the job cannot be repeated; then nothing is left under `newJobId`
   */
  prepareReprocess?(job: Job, newJobId: string): Promise<void>;
  /**
   * Queue a job (`enqueueJob`) under `newJobId` that repeats this finished one, on the same source and with the same
   * priority, bucket and collection, and with `reprocessOfJobId` set.
   * @throws AppError if it cannot be repeated (the source is gone, the quota is used up)
   */
  reprocess(tx: Sql, job: Job, newJobId: string, caller: Caller): Promise<JobView>;
  /**
   * Remove files that belong only to this job, which is deleted or was never queued. A failure is logged; a sweep must
   * find the remaining files.
   */
  forget(job: Pick<Job, 'id' | 'orgId'>): Promise<void>;
}

/** Name of a worker process: `service worker embed` or `service worker ingest`. */
export type WorkerName = 'embed' | 'ingest';

export interface JobDefinition extends JobHandler, JobKindOperations {
  readonly worker: WorkerName;
  /** Jobs of this kind that one worker runs at a time. */
  readonly concurrency: number;
}
