import { setTimeout as delay } from 'node:timers/promises';
import { lockForMove, updateMoveState } from '../access/move-store.ts';
import { STATES_KEPT_MS } from '../access/moving-organizations.ts';
import { notFound, tryLater } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { countWork, hasPassed, nextTransaction, requeueJobs } from './drain-store.ts';
import type { MoveContext, MoveOptions } from './move-context.ts';

/** Time until every process knows that the organization is moving and its short requests have ended. */
export const LEARNED_MS = 4 * STATES_KEPT_MS;
const POLL_MS = 200;
/** Maximum time that open transactions may delay the export. */
const PASSED_MS_MAX = 120_000;

/** Result of draining an organization. */
interface Drained {
  /** Number of jobs in progress that returned to the queue. */
  readonly requeued: number;
}

/**
 * Make an organization read-only. First the service refuses changes, starts no jobs, and waits at most `waitMs` for
 * jobs in progress; the rest return to the queue. Then the database refuses changes, and open transactions end. After
 * an interruption, the next call continues.
 * @throws AppError `organization_busy` (503); the reason of the signal
 */
export async function drain(
  { sql, direct }: Pick<MoveContext, 'sql' | 'direct'>,
  { orgId, moveId, waitMs }: { readonly orgId: string; readonly moveId: string; readonly waitMs: number },
  options: Pick<MoveOptions, 'signal' | 'onProgress'>,
): Promise<Drained> {
  const { signal } = options;
  const isNew = await inTransaction(sql, async (tx) => {
    const { state } = await lockOrganization(tx, orgId);
    if (state === null) await updateMoveState(tx, orgId, { state: 'draining', id: moveId });
    return state !== 'moving';
  });
  if (isNew) {
    // Wait until every process has reread the state.
    await delay(LEARNED_MS, undefined, { signal });
    await waitForWork(sql, orgId, waitMs, options);
  }
  await inTransaction(sql, async (tx) => {
    await lockOrganization(tx, orgId);
    await updateMoveState(tx, orgId, { state: 'moving', id: moveId });
  });
  // Use a separate transaction, since workers lock a job before the organization.
  const requeued = await requeueJobs(sql, orgId);
  await waitForTransactions(direct, signal);
  return { requeued };
}

async function lockOrganization(tx: Sql, orgId: string) {
  const organization = await lockForMove(tx, orgId);
  if (organization === null) throw notFound('organization', orgId);
  return organization;
}

async function waitForWork(
  sql: Sql,
  orgId: string,
  waitMs: number,
  { signal, onProgress }: Pick<MoveOptions, 'signal' | 'onProgress'>,
): Promise<void> {
  const untilMs = performance.now() + waitMs;
  let most = 0;
  for (;;) {
    const { jobs, runs } = await countWork(sql, orgId);
    most = Math.max(most, jobs + runs);
    onProgress?.({ phase: 'jobs', done: most - jobs - runs, total: most });
    if (jobs + runs === 0 || performance.now() >= untilMs) return;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Wait for every transaction that may have started before the database began to refuse changes. */
export async function waitForTransactions(direct: Sql, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + PASSED_MS_MAX;
  const next = await nextTransaction(direct);
  while (!(await hasPassed(direct, next))) {
    if (performance.now() >= untilMs) {
      throw tryLater(
        'transactions that began before the export do not end; end them (see pg_stat_activity), and run the command again to continue',
        'organization_busy',
      );
    }
    await delay(POLL_MS, undefined, { signal });
  }
}
