import { recordAudit } from '../access/audit.ts';
import { AppError } from '../platform/errors.ts';
import { mapPostgresError } from '../platform/postgres.ts';
import type { JobHandler } from './handler.ts';
import { failStale, findStale } from './operation-store.ts';
import { type JobOperations, notifyLost } from './operations.ts';
import type { Job, JobKind, ReapReply } from './schema.ts';

/** Maximum number of jobs to reap per call. There are hardly ever more in progress. */
const REAP_MAX = 10_000;

/**
 * Fail jobs of all organizations that have been in progress for `timeoutMinutes` without completing a unit of work. A
 * heartbeat doesn't count as work, so a job that hangs in a live worker is reaped too. With `dryRun`, only list the
 * jobs.
 * @param actor caller's name in the audit log
 */
export async function reapStaleJobs(
  operations: Pick<JobOperations, 'sql' | 'notifier' | 'logger'> & {
    readonly kinds: ReadonlyMap<JobKind, Pick<JobHandler, 'onFailed'>>;
  },
  actor: string,
  options: { timeoutMinutes: number; dryRun?: boolean },
): Promise<ReapReply> {
  const { sql, kinds, logger } = operations;
  const idleMs = options.timeoutMinutes * 60_000;
  const failure = {
    category: 'stale',
    message: `the job did no work for ${options.timeoutMinutes} minutes; process it again`,
    retryable: true,
  } as const;
  const reaped: Job[] = [];
  for (const job of await findStale(sql, idleMs, REAP_MAX)) {
    if (options.dryRun) {
      reaped.push(job);
      continue;
    }
    // Use a separate transaction per job, so that a failed cleanup doesn't block other jobs.
    const isReaped = await sql
      .begin(async (tx) => {
        if (!(await failStale(tx, job, idleMs, failure))) return false;
        await kinds.get(job.kind)?.onFailed(tx, job, failure);
        const detail = { kind: job.kind, was: job.status };
        await recordAudit(tx, { orgId: job.orgId, actor, action: 'job.reap', target: job.id, detail });
        return true;
      })
      .catch((error) => {
        const known = mapPostgresError(error);
        if (known instanceof AppError && known.retryable) throw known;
        logger.error({ err: error, job_id: job.id }, 'a stale job could not be reaped');
        return false;
      });
    if (isReaped) reaped.push(job);
  }
  if (!options.dryRun) await notifyLost(operations, reaped);
  return {
    timeout_minutes: options.timeoutMinutes,
    reaped_count: reaped.length,
    jobs: reaped.map((job) => ({ job_id: job.id, org_id: job.orgId, stuck_status: job.status })),
  };
}
