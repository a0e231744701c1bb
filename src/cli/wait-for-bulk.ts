import type { BulkJobView } from '../bulk/schema.ts';
import { AppError } from '../platform/errors.ts';
import { note } from './output.ts';
import { ownWorker } from './own-worker.ts';
import { openProgress } from './progress.ts';
import type { Session } from './session.ts';

/**
 * Wait until a bulk job is ready, and show its progress. If no worker is alive, run one in this process meanwhile.
 * After an abort, the job remains: another worker continues it, or it stays queued. stderr names the job.
 *
 * @throws AppError `job_failed` (409, or 502 if the provider failed), `job_cancelled` (409), `interrupted`
 */
export async function waitForBulk(session: Session, jobId: string, signal: AbortSignal): Promise<BulkJobView> {
  const worker = ownWorker(session, signal, 'bulk');
  const progress = await openProgress();
  try {
    let hasBegun = false;
    return await worker.waitFor(async () => {
      const job = await session.call('bulk.status', { id: jobId });
      const { input_count: total, completed_count: done } = job.metadata;
      if (!hasBegun) progress.begin('embedding', total);
      hasBegun = true;
      progress.update(done);
      if (job.status === 'ready') return job;
      if (job.status === 'failed' || job.status === 'cancelled') throw failureOf(job);
      return null;
    });
  } catch (error) {
    progress.close();
    if (signal.aborted)
      note(`interrupted: the job ${jobId} is kept; "service bulk status ${jobId}" shows its progress`);
    throw error;
  } finally {
    progress.close();
    await worker.stop();
  }
}

function failureOf({ id, status, error }: BulkJobView): AppError {
  if (status === 'cancelled') {
    return new AppError({ code: 'job_cancelled', status: 409, message: `the job ${id} was cancelled` });
  }
  const message = `the job ${id} failed (${error?.category}): ${error?.message}`;
  return new AppError({ code: 'job_failed', status: error?.category === 'upstream_unavailable' ? 502 : 409, message });
}
