import type { JobKind, JobView } from '../jobs/schema.ts';
import { AppError } from '../platform/errors.ts';
import { note } from './output.ts';
import { ownWorker } from './own-worker.ts';
import { openProgress } from './progress.ts';
import type { Session } from './session.ts';

/** Progress of a job, as `readProgress` reports it. */
export interface JobProgressReading {
  readonly done: number;
  readonly total: number;
}

/**
 * Wait until a job is ready, and show its progress. If no worker is alive, run one in this process meanwhile. After an
 * abort, the job continues or stays queued.
 *
 * @throws AppError `job_failed`, `job_cancelled` (409); `interrupted`
 */
export async function waitForJob(
  session: Session,
  job: { readonly id: string; readonly kind: JobKind; readonly label: string },
  options: { readProgress: () => Promise<JobProgressReading | null>; signal: AbortSignal },
): Promise<JobView> {
  const { signal } = options;
  const worker = ownWorker(session, signal, job.kind);
  const progress = await openProgress();
  try {
    let hasBegun = false;
    return await worker.waitFor(async () => {
      const reading = await options.readProgress();
      if (reading && !hasBegun) progress.begin(job.label, reading.total);
      hasBegun ||= reading !== null;
      if (reading) progress.update(reading.done);
      const view = await session.call('jobs.show', { id: job.id });
      if (view.status === 'ready') return view;
      if (view.status === 'failed' || view.status === 'cancelled') throw endedBadly(view);
      return null;
    });
  } catch (error) {
    if (signal.aborted)
      note(`interrupted: the job ${job.id} is kept; "service jobs show ${job.id}" shows its progress`);
    throw error;
  } finally {
    progress.close();
    await worker.stop();
  }
}

function endedBadly({ id, status, error_category, error_message }: JobView): AppError {
  if (status === 'cancelled') {
    return new AppError({ code: 'job_cancelled', status: 409, message: `the job ${id} was cancelled` });
  }
  const message = `the job ${id} failed (${error_category}): ${error_message}`;
  return new AppError({ code: 'job_failed', status: error_category === 'upstream_unavailable' ? 502 : 409, message });
}
