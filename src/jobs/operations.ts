import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import { mayHaveCommitted, type Sql, type SqlFragment } from '../platform/postgres.ts';
import type { JobHandler, JobKindOperations } from './handler.ts';
import { type JobNotifier, notifyWorkers } from './notifier.ts';
import { cancelRow, deleteRow } from './operation-store.ts';
import { type CancelReply, isTerminal, type Job, type JobKind, type JobView, UNFINISHED } from './schema.ts';
import { findJob } from './store.ts';

export interface JobOperations {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly kinds: ReadonlyMap<JobKind, Pick<JobHandler, 'onFailed'> & JobKindOperations>;
  /** Condition on a row of `jobs` that the caller may see it. */
  readonly visibleTo: (sql: Sql, caller: Caller) => SqlFragment;
}

/**
 * Cancel a queued job, or with `force` also one in progress. Its worker can't write any more, and stops at its next
 * check of the lease or when notified.
 * @returns `detail` and the current state for a job that has already finished
 * @throws AppError `job_not_found` (404), `job_in_progress` (400), `job_state_changed` (409) if it changed meanwhile
 */
export async function cancelJob(
  operations: JobOperations,
  caller: Caller,
  jobId: string,
  { force }: { force: boolean },
): Promise<CancelReply> {
  const { sql } = operations;
  const job = await findJob(sql, caller.orgId, operations.visibleTo(sql, caller), jobId);
  if (isTerminal(job.status)) return { detail: `the job is already terminal: it is ${job.status}`, status: job.status };
  if (job.status !== 'queued' && !force) {
    throw wrongState('job_in_progress', `the job is ${job.status}; cancel it with force=true`);
  }
  const isCancelled = await sql.begin(async (tx) => {
    const cancelled = await cancelRow(tx, caller.orgId, job.id, force ? UNFINISHED : ['queued']);
    if (cancelled === null) return false;
    await operations.kinds.get(job.kind)?.onCancelled(tx, cancelled, caller);
    await audit(tx, caller, 'job.cancel', job, { was: job.status });
    return true;
  });
  if (!isCancelled) {
    throw conflict(
      `the job is no longer ${force ? 'unfinished' : 'queued'}; read its state again`,
      'job_state_changed',
    );
  }
  await notifyLost(operations, [job]);
  return { status: 'cancelled' };
}

/**
 * Repeat a finished job as a new job.
 * @throws AppError `job_not_found` (404), `job_not_terminal` (400), and the errors of the kind's `reprocess`
 */
export async function reprocessJob(operations: JobOperations, caller: Caller, jobId: string): Promise<JobView> {
  const { sql } = operations;
  const job = await findJob(sql, caller.orgId, operations.visibleTo(sql, caller), jobId);
  if (!isTerminal(job.status)) {
    throw wrongState('job_not_terminal', `the job is ${job.status}; only a finished job can be processed again`);
  }
  const kind = operations.kinds.get(job.kind);
  if (!kind) throw wrongState('job_kind_unknown', `jobs of kind ${job.kind} cannot be processed again`);
  const newJobId = newId('job');
  await kind.prepareReprocess?.(job, newJobId);
  const view = await sql
    .begin(async (tx) => {
      const queued = await kind.reprocess(tx, job, newJobId, caller);
      await audit(tx, caller, 'job.reprocess', job, { new_job_id: queued.id });
      return queued;
    })
    .catch(async (error) => {
      // After a lost connection, the new job may exist. If it doesn't, a sweep deletes its files.
      if (kind.prepareReprocess !== undefined && !mayHaveCommitted(error)) {
        await forgetFiles(operations, kind, { id: newJobId, orgId: job.orgId });
      }
      throw error;
    });
  await notifyWorkers(operations, job.kind);
  return view;
}

/**
 * Delete a job that is not in progress. Its document stays.
 * @throws AppError `job_not_found` (404), `job_in_progress` (400)
 */
export async function deleteJob(operations: JobOperations, caller: Caller, jobId: string): Promise<void> {
  const { sql } = operations;
  const visible = () => findJob(sql, caller.orgId, operations.visibleTo(sql, caller), jobId);
  const { id, kind } = await visible();
  const operationsOfKind = operations.kinds.get(kind);
  const deleted = await sql.begin(async (tx) => {
    const job = await deleteRow(tx, caller.orgId, id);
    if (job?.status === 'queued') await operationsOfKind?.onCancelled(tx, job, caller);
    if (job) await audit(tx, caller, 'job.delete', job, { was: job.status, file_name: job.fileName });
    return job;
  });
  if (deleted === null) {
    const { status } = await visible();
    throw wrongState('job_in_progress', `the job is ${status}; cancel it with force=true before deleting it`);
  }
  if (operationsOfKind) await forgetFiles(operations, operationsOfKind, deleted);
}

/** Delete the files of a job that doesn't exist, or no longer does. Never rejects. */
async function forgetFiles(
  { logger }: Pick<JobOperations, 'logger'>,
  kind: Pick<JobKindOperations, 'forget'>,
  job: Pick<Job, 'id' | 'orgId'>,
): Promise<void> {
  await kind
    .forget(job)
    .catch((error) =>
      logger.warn(
        { err: error, job_id: job.id },
        'files of a job that does not exist could not be removed; a sweep removes them later',
      ),
    );
}

/** Notify the workers of these jobs that they have lost them. */
export async function notifyLost(
  { notifier, logger }: Pick<JobOperations, 'notifier' | 'logger'>,
  jobs: readonly Pick<Job, 'id' | 'kind'>[],
): Promise<void> {
  for (const { id, kind } of jobs) {
    await notifier
      .notifyLost(kind, id)
      .catch((error) => logger.debug({ err: error }, 'notification of a lost job was lost'));
  }
}

function audit(tx: Sql, caller: Caller, action: string, job: Job, detail: Record<string, unknown>): Promise<void> {
  return recordAudit(tx, {
    orgId: caller.orgId,
    actor: caller.actor,
    action,
    target: job.id,
    detail: { kind: job.kind, ...detail },
  });
}

function wrongState(code: string, message: string): AppError {
  return new AppError({ code, status: 400, message });
}
