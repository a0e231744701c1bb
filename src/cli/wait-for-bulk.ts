import type { BulkJobView } from '../bulk/schema.ts';
import { waitWithWorker } from './own-worker.ts';
import type { Session } from './session.ts';
import { endedBadly } from './wait-for-job.ts';

/**
 * Wait until a bulk job is ready, and show its progress. After an abort, the job remains: another worker continues it,
 * or it stays queued.
 *
 * @throws AppError `job_failed` (409, or 502 if the provider failed), `job_cancelled` (409), `interrupted`
 */
export async function waitForBulk(session: Session, id: string, signal: AbortSignal): Promise<BulkJobView> {
  let hasBegun = false;
  const kept = `the job ${id} is kept; "service bulk status ${id}" shows its progress`;
  return waitWithWorker(session, { kind: 'bulk', kept, signal }, async (progress) => {
    const job = await session.call('bulk.status', { id });
    const { input_count: total, completed_count: done } = job.metadata;
    if (!hasBegun) progress.begin('embedding', total);
    hasBegun = true;
    progress.update(done);
    if (job.status === 'failed' || job.status === 'cancelled') {
      throw endedBadly(id, job.status, job.error?.category, job.error?.message);
    }
    return job.status === 'ready' ? job : null;
  });
}
