import { isInProgress } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';

/** Time after which a run of a workflow without a sign of life has ended with its process. */
const RUN_SILENT = '1 minute';

/** Count the jobs and runs of workflows of an organization that processes work on. */
export async function countWork(sql: Sql, orgId: string): Promise<{ jobs: number; runs: number }> {
  const [row] = await sql<{ jobs: number; runs: number }[]>`
    SELECT (SELECT count(*)::int FROM jobs WHERE org_id = ${orgId} AND ${isInProgress(sql)}) AS jobs,
           (SELECT count(*)::int FROM workflow_runs WHERE org_id = ${orgId} AND status = 'running'
              AND heartbeat_at > now() - ${RUN_SILENT}::interval) AS runs`;
  return row as { jobs: number; runs: number };
}

/**
 * Put the jobs of an organization that are in progress back into the queue, without spending an attempt. Their workers
 * can write nothing any more. Return their number.
 */
export async function requeueJobs(sql: Sql, orgId: string): Promise<number> {
  const { count } = await sql`
    UPDATE jobs SET status = 'queued', fence = fence + 1, worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND ${isInProgress(sql)}`;
  return count;
}

/** Return the number of the next transaction of the database. */
export async function nextTransaction(sql: Sql): Promise<string> {
  const [row] = await sql<{ id: string }[]>`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id`;
  return row?.id as string;
}

/** Return true if every transaction with a smaller number that changes something has ended. */
export async function hasPassed(sql: Sql, transaction: string): Promise<boolean> {
  const [row] = await sql<{ passed: boolean }[]>`
    SELECT pg_snapshot_xmin(pg_current_snapshot()) >= ${transaction}::text::xid8 AS passed`;
  return row?.passed === true;
}
