import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { mapPostgresError, type Sql } from '../platform/postgres.ts';
import type { JobHandler } from './handler.ts';
import type { JobNotifier } from './notifier.ts';
import type { Job, JobKind } from './schema.ts';
import { failJob, findExpired, lockExpired, requeueExpired } from './store.ts';
import { expireDeadWorkers, forgetOldWorkers, processHost } from './worker-store.ts';

/** Number of lost leases without progress in between after which a job counts as killing its workers. */
export const CRASHES_MAX = 3;
const BATCH_MAX = 500;

/** Error codes after which no other job can be recovered either. */
const OUTAGES: ReadonlySet<string> = new Set(['postgres_unavailable', 'postgres_refused']);

type Handlers = ReadonlyMap<JobKind, Pick<JobHandler, 'onFailed' | 'crashesMax'>>;

/**
 * Recover jobs whose worker is gone. A job with an expired lease returns to the queue. The third consecutive expired
 * lease without progress (or a later one, if its kind allows more) fails the job as `poison`. Any number of processes
 * may run this. If a job can't be recovered, for example because its cleanup fails, log it; the next call tries again.
 * @throws AppError `postgres_unavailable`, `postgres_refused`
 */
export async function recoverJobs(
  sql: Sql,
  handlers: Handlers,
  logger: Pick<Logger, 'error'>,
): Promise<{ requeued: number; poisoned: number }> {
  await expireDeadWorkers(sql, processHost());
  const counts = { requeued: 0, poisoned: 0 };
  for (const job of await findExpired(sql, BATCH_MAX)) {
    try {
      const end = await recoverJob(sql, handlers, job);
      if (end !== null) counts[end]++;
    } catch (error) {
      // Don't let this job block those behind it.
      const known = mapPostgresError(error);
      if (known instanceof AppError && OUTAGES.has(known.code)) throw known;
      logger.error({ err: error, job_id: job.id }, 'a job whose worker is gone could not be recovered');
    }
  }
  await forgetOldWorkers(sql);
  return counts;
}

/** Recover a job. Return null if it has changed or another transaction holds its row. */
async function recoverJob(sql: Sql, handlers: Handlers, job: Job): Promise<'requeued' | 'poisoned' | null> {
  const crashesMax = handlers.get(job.kind)?.crashesMax ?? CRASHES_MAX;
  if (job.crashCount + 1 < crashesMax) return (await requeueExpired(sql, job)) ? 'requeued' : null;
  const failure = {
    category: 'poison',
    message: `the job crashed its worker ${crashesMax} times, so it is not tried again; check its input`,
    retryable: false,
  } as const;
  return sql.begin(async (tx) => {
    if (!(await lockExpired(tx, job)) || !(await failJob(tx, job, job.status, failure))) return null;
    await handlers.get(job.kind)?.onFailed(tx, job, failure);
    return 'poisoned';
  });
}

/** Run `recoverJobs`, and notify workers of the jobs that returned to the queue. */
export async function recoverAndNotify(
  context: { sql: Sql; notifier: JobNotifier; logger: Logger },
  handlers: Handlers,
): Promise<void> {
  const { requeued, poisoned } = await recoverJobs(context.sql, handlers, context.logger);
  if (requeued + poisoned === 0) return;
  context.logger.info({ requeued, poisoned }, 'recovered jobs whose worker was gone');
  for (const kind of handlers.keys()) await context.notifier.notifyQueued(kind);
}
