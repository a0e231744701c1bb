import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { JobHandler } from './handler.ts';
import type { JobNotifier } from './notifier.ts';
import type { JobKind } from './schema.ts';
import { failJob, findExpired, lockExpired, requeueExpired } from './store.ts';
import { expireDeadWorkers, forgetOldWorkers, processHost } from './worker-registry.ts';

/** Lost leases without progress in between after which a job counts as one that kills its workers. */
export const CRASHES_MAX = 3;
const BATCH_MAX = 500;

/**
 * Recover jobs whose worker is gone: a job with an expired lease returns to the queue; the third expired lease in a row
 * without progress fails it as `poison`, or a later one if its kind allows more. Any number of processes may do this at once.
 */
export async function recoverJobs(
  sql: Sql,
  handlers: ReadonlyMap<JobKind, Pick<JobHandler, 'onFailed' | 'crashesMax'>>,
): Promise<{ requeued: number; poisoned: number }> {
  await expireDeadWorkers(sql, processHost());
  let requeued = 0;
  let poisoned = 0;
  for (const job of await findExpired(sql, BATCH_MAX)) {
    const crashesMax = handlers.get(job.kind)?.crashesMax ?? CRASHES_MAX;
    if (job.crashCount + 1 < crashesMax) {
      if (await requeueExpired(sql, job)) requeued++;
      continue;
    }
    const failure = {
      category: 'poison',
      message: `the job crashed its worker ${crashesMax} times, so it is not tried again; check its input`,
      retryable: false,
    } as const;
    await sql.begin(async (tx) => {
      if (!(await lockExpired(tx, job)) || !(await failJob(tx, job, job.status, failure))) return;
      await handlers.get(job.kind)?.onFailed(tx, job, failure);
      poisoned++;
    });
  }
  await forgetOldWorkers(sql);
  return { requeued, poisoned };
}

/** Run `recoverJobs`, and notify workers of the jobs that returned to the queue. */
export async function recoverAndNotify(
  context: { sql: Sql; notifier: JobNotifier; logger: Logger },
  handlers: ReadonlyMap<JobKind, Pick<JobHandler, 'onFailed' | 'crashesMax'>>,
): Promise<void> {
  const { requeued, poisoned } = await recoverJobs(context.sql, handlers);
  if (requeued + poisoned === 0) return;
  context.logger.info({ requeued, poisoned }, 'recovered jobs whose worker was gone');
  for (const kind of handlers.keys()) await context.notifier.notifyQueued(kind);
}
