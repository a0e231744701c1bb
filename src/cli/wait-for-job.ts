import type { JobView } from '../jobs/schema.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { waitWithWorker } from './own-worker.ts';
import type { Session } from './session.ts';

/**
 * Wait until an index job is ready, and show its progress in chunks. After an abort, the job continues or stays queued.
 *
 * @throws AppError `job_failed`, `job_cancelled` (409); `interrupted`
 */
export async function waitForIndexJob(
  session: Session,
  { id, label }: { readonly id: string; readonly label: string },
  signal: AbortSignal,
): Promise<JobView> {
  let hasBegun = false;
  const kept = `the job ${id} is kept; "service jobs show ${id}" shows its progress`;
  return waitWithWorker(session, { kind: 'reindex', kept, signal }, async (progress) => {
    const reading = await session.call('index.progress', { job: id });
    if (reading && !hasBegun) progress.begin(label, reading.total);
    hasBegun ||= reading !== null;
    if (reading) progress.update(reading.done);
    const job = await session.call('jobs.show', { id });
    if (job.status === 'failed' || job.status === 'cancelled') {
      throw endedBadly(id, job.status, job.error_category, job.error_message);
    }
    return job.status === 'ready' ? job : null;
  });
}

/** Create the error for a job that won't get ready. */
export function endedBadly(
  id: string,
  status: 'failed' | 'cancelled',
  category: string | null | undefined,
  message: string | null | undefined,
): AppError {
  if (status === 'cancelled') return conflict(`the job ${id} was cancelled`, 'job_cancelled');
  return new AppError({
    code: 'job_failed',
    status: category === 'upstream_unavailable' ? 502 : 409,
    message: `the job ${id} failed (${category}): ${message}`,
  });
}
