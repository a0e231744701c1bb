import { type JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { BatchRow } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import type { Plan } from './plan.ts';
import { type GroupChoice, updateChoice } from './progress-store.ts';
import { forgetChunks } from './stored-progress.ts';

/** Number of failed attempts after which to use the fallback. */
const ATTEMPTS_BEFORE_FALLBACK = 2;

/**
 * Switch the groups whose model stays unavailable to the routing's fallback. Embed a whole group again if the
 * fallback's vectors aren't comparable or have another dimension.
 * @returns the new choices; null if it is too early or there is no fallback
 */
export async function switchToFallback(
  context: BatchContext,
  lease: Lease,
  { batch, plan, choices }: { batch: BatchRow; plan: Plan; choices: readonly GroupChoice[] },
  outage: JobError,
): Promise<readonly GroupChoice[] | null> {
  if (lease.job.retryCount < ATTEMPTS_BEFORE_FALLBACK) return null;
  const { sql, embedder, logger } = context;
  const switched = [...choices];
  let isSwitched = false;
  for (const [group, choice] of choices.entries()) {
    if (choice.fault !== null) continue;
    const dimensions = plan.groups[group]?.dimensions ?? null;
    const fallback = await embedder.fallbackForJob(batch.orgId, { model: choice.backend, dimensions });
    if (fallback === null || fallback.model.id === choice.backend) continue;
    const next = { backend: fallback.model.id, dimensions: fallback.dimensions };
    if (!fallback.isComparable || next.dimensions !== choice.dimensions) {
      const own = plan.chunks.filter((chunk) => chunk.group === group).map(({ number }) => number);
      await forgetChunks(context, lease, batch, own);
    }
    if (!(await updateChoice(sql, lease.held, batch.id, group, next))) throw new LeaseLost(batch.jobId);
    const facts = { batch_id: batch.id, from: choice.backend, to: next.backend, err: outage };
    logger.warn(facts, 'the fallback finishes requests of a batch');
    switched[group] = { ...next, fault: null };
    isSwitched = true;
  }
  return isSwitched ? switched : null;
}
