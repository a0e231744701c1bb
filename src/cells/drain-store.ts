import { isInProgress } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';

/** Silence after which a workflow run counts as dead together with its process. */
const RUN_SILENT = '1 minute';

/** Count the jobs and workflow runs of an organization that are in progress. */
export async function countWork(sql: Sql, orgId: string): Promise<{ jobs: number; runs: number }> {
  const [row] = await sql<{ jobs: number; runs: number }[]>`
    SELECT (SELECT count(*)::int FROM jobs WHERE org_id = ${orgId} AND ${isInProgress(sql)}) AS jobs,
           (SELECT count(*)::int FROM workflow_runs WHERE org_id = ${orgId} AND status = 'running'
              AND heartbeat_at > now() - ${RUN_SILENT}::interval) AS runs`;
  return row as { jobs: number; runs: number };
}

/**
 * Return the jobs in progress of an organization to the queue without counting an attempt. Their workers lose their
 * leases and can't write any more. Return the number of jobs.
 */
export async function requeueJobs(sql: Sql, orgId: string): Promise<number> {
  const { count } = await sql`
    UPDATE jobs SET status = 'queued', fence = fence + 1, worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND ${isInProgress(sql)}`;
  return count;
}

/** Return the id of the database's next transaction. */
export async function nextTransaction(sql: Sql): Promise<string> {
  const [row] = await sql<{ id: string }[]>`SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id`;
  return row?.id as string;
}

/** Return true if every writing transaction with a smaller id has ended. */
export async function hasPassed(sql: Sql, transaction: string): Promise<boolean> {
  const [row] = await sql<{ passed: boolean }[]>`
    SELECT pg_snapshot_xmin(pg_current_snapshot()) >= ${transaction}::text::xid8 AS passed`;
  return row?.passed === true;
}
