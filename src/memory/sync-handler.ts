import { recordAudit } from '../access/audit.ts';
import { selectUser } from '../access/user-store.ts';
import type { JobHandler, JobKindOperations } from '../jobs/handler.ts';
import { JobError, type Lease } from '../jobs/lease.ts';
import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import type { Job } from '../jobs/schema.ts';
import type { HeldJob } from '../jobs/store.ts';
import { AppError, conflict, notFound } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { oneLine } from '../platform/printable.ts';
import { replaceFaults } from './fault-store.ts';
import { enqueueSync, queueSync } from './queue-sync.ts';
import { openReader, type ReaderContext } from './readers/open-reader.ts';
import { SourceFault, type SourceReader } from './readers/source-reader.ts';
import { beginSync, cancelSync, endSync, findUnfinishedSync, lockSource, type Source } from './source-store.ts';
import { readerState } from './state-store.ts';
import { type SyncResult, syncSource } from './sync-source.ts';

export interface SyncContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly readers: ReaderContext;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
}

/** Create the handler of jobs that synchronise one source. Each new or changed document gets an ingest job. */
export function syncHandler(context: SyncContext): JobHandler {
  return {
    kind: 'sync',
    firstPhase: 'extracting',
    run: (lease) => sync(context, lease),
    async onFailed(tx, job, failure) {
      await endSync(tx, sourceOf(job), job.id, { state: 'error', counts: null, failure });
    },
  };
}

async function sync(context: SyncContext, lease: Lease): Promise<void> {
  const { sql, objects } = context;
  const { job, held } = lease;
  const source = await beginSync(sql, job.orgId, sourceOf(job).id, held);
  if (source === null) {
    throw new JobError({
      category: 'source_deleted',
      message: 'the source was deleted, or has a newer job',
      retryable: false,
    });
  }
  // Let ingest workers start with the first batch.
  const notifying = setInterval(() => void notifyWorkers(context, 'ingest'), 1_000);
  try {
    const owner = source.userId === null ? null : await selectUser(sql, job.orgId, source.userId);
    const department = owner?.department ?? null;
    const result = await readSource(context.readers, source, held, (reader) =>
      syncSource({ sql, objects, source, held, department }, reader, lease),
    );
    lease.signal.throwIfAborted();
    const runsAgain = await sql.begin((tx) => finish(tx, lease, source, result));
    if (runsAgain) await notifyWorkers(context, 'sync');
  } catch (error) {
    throw toJobError(error);
  } finally {
    clearInterval(notifying);
    await notifyWorkers(context, 'ingest');
  }
}

async function readSource<T>(
  readers: ReaderContext,
  source: Source,
  held: HeldJob,
  use: (reader: SourceReader) => Promise<T>,
): Promise<T> {
  const reader = await openReader(readers, source, readerState(readers.sql, source, held));
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

/** Record the result when the job ends. @returns true if another synchronisation was queued */
async function finish(tx: Sql, lease: Lease, source: Source, result: SyncResult): Promise<boolean> {
  const { job } = lease;
  await lease.complete(tx, { chunksCount: 0, fileType: source.type, actualCost: 0 });
  const { unchanged, failed, faults } = result;
  const [firstFault = null] = faults;
  const message =
    firstFault === null
      ? null
      : oneLine(
          `${failed} ${failed === 1 ? 'entry' : 'entries'} could not be read; ${firstFault.key}: ${firstFault.fault}`,
        );
  const failure = message === null ? null : ({ category: 'source_entries', message } as const);
  const isAgain = await endSync(tx, source, job.id, { state: 'idle', counts: { unchanged, failed }, failure });
  await replaceFaults(tx, source, faults, source.retryKeys);
  await recordAudit(tx, {
    orgId: job.orgId,
    actor: `source:${source.id}`,
    action: 'source.sync',
    target: source.id,
    detail: { job_id: job.id, unchanged, failed },
  });
  if (!isAgain) return false;
  const current = await lockSource(tx, source.orgId, source.id);
  if (current === null || current.isPaused) return false;
  await queueSync(tx, current);
  return true;
}

function toJobError(error: unknown): unknown {
  if (error instanceof SourceFault) {
    const { category, message, retryable } = error;
    return new JobError({ category, message: oneLine(message), retryable }, error);
  }
  if (error instanceof AppError && error.code === 'bucket_not_found') {
    return new JobError(
      { category: 'source_deleted', message: 'the bucket of the source was deleted', retryable: false },
      error,
    );
  }
  return error;
}

/** Return the job operations of sources. At most one job synchronises a source at a time. */
export function syncOperations(): JobKindOperations {
  return {
    async onCancelled(tx, job) {
      await cancelSync(tx, job.orgId, sourceOf(job).id, job.id);
    },
    async reprocess(tx, job, newJobId) {
      const { id } = sourceOf(job);
      const source = await lockSource(tx, job.orgId, id);
      if (source === null) throw notFound('source', id);
      const unfinished = await findUnfinishedSync(tx, source);
      if (unfinished !== null) throw conflict(`the source is already being synchronised by job ${unfinished.id}`);
      return enqueueSync(tx, source, newJobId, { reprocessOfJobId: job.id, keys: null });
    },
    // A synchronisation has no files of its own.
    async forget() {},
  };
}

function sourceOf(job: Job): { id: string; orgId: string } {
  return { id: job.view.source_entry_id ?? '', orgId: job.orgId };
}
