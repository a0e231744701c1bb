import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql } from '../platform/postgres.ts';
import { JobKind } from './schema.ts';
import { isFinished, isInProgress } from './state-store.ts';

/** Number of jobs of one kind and priority across all organizations, at one moment. */
export interface QueueDepth {
  readonly kind: JobKind;
  readonly priority: number;
  /** Queued jobs, including those not due yet. */
  readonly queued: number;
  /** Queued jobs that are due later, after a failed attempt. */
  readonly delayed: number;
  readonly in_progress: number;
  /** Age of the oldest queued job; null if there is none. */
  readonly oldest_seconds: number | null;
}

/** Load of a registered worker, or of an unregistered one that holds jobs. */
export interface WorkerLoad {
  readonly id: string;
  /** Kind of its jobs; null if the worker is gone and its leases are about to expire. */
  readonly kind: JobKind | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly started_at: string | null;
  /** Time since its last heartbeat. */
  readonly silent_seconds: number | null;
  readonly jobs: number;
  /** Time until the first of its leases expires, negative afterwards; null if it holds none. */
  readonly lease_seconds: number | null;
}

export async function readQueueDepths(sql: Sql): Promise<QueueDepth[]> {
  return sql<QueueDepth[]>`
    SELECT kind, priority, count(*) FILTER (WHERE queued)::int AS queued, count(*) FILTER (WHERE delayed)::int AS delayed,
           count(*) FILTER (WHERE NOT queued)::int AS in_progress,
           extract(epoch FROM now() - min(created_at) FILTER (WHERE queued))::float8 AS oldest_seconds
    FROM (SELECT kind, priority, true AS queued, coalesce(scheduled_at > now(), false) AS delayed, created_at
          FROM jobs WHERE status = 'queued'
          UNION ALL
          SELECT kind, priority, false, false, created_at
          FROM jobs WHERE ${isInProgress(sql)}) AS live
    GROUP BY kind, priority ORDER BY kind, priority`;
}

/** Ages of the leases of one kind of job, in seconds; 0 if there are none. */
export interface LeaseAges {
  readonly kind: JobKind;
  /** Time since the first claim of the longest-running job. */
  readonly oldestSeconds: number;
  /** Longest time since a running job finished a unit of work. */
  readonly idleSeconds: number;
  /** Time since the expiry of the lease that expired first. */
  readonly overdueSeconds: number;
}

/** Read the ages of the leases of all organizations, with an entry for each kind. */
export async function readLeaseAges(sql: Sql): Promise<LeaseAges[]> {
  const rows = await sql`
    SELECT kind, extract(epoch FROM now() - min(started_at))::float8 AS oldest,
           extract(epoch FROM now() - min(checkpoint_at))::float8 AS idle,
           extract(epoch FROM now() - min(lease_expires_at))::float8 AS overdue
    FROM jobs WHERE ${isInProgress(sql)} GROUP BY kind`;
  return JobKind.options.map((kind) => {
    const row = rows.find((each) => each['kind'] === kind);
    const seconds = (name: string) => Math.max(0, (row?.[name] as number | null | undefined) ?? 0);
    return { kind, oldestSeconds: seconds('oldest'), idleSeconds: seconds('idle'), overdueSeconds: seconds('overdue') };
  });
}

export async function readWorkerLoads(sql: Sql): Promise<WorkerLoad[]> {
  const rows = await sql`
    SELECT coalesce(workers.id, held.worker_id) AS id, workers.kind, workers.host, workers.pid, workers.started_at,
           extract(epoch FROM now() - workers.seen_at)::float8 AS silent_seconds, coalesce(held.jobs, 0) AS jobs,
           extract(epoch FROM held.lease_expires_at - now())::float8 AS lease_seconds
    FROM workers FULL JOIN (
      SELECT worker_id, count(*)::int AS jobs, min(lease_expires_at) AS lease_expires_at FROM jobs
      WHERE ${isInProgress(sql)} AND worker_id IS NOT NULL
      GROUP BY worker_id) AS held ON held.worker_id = workers.id
    ORDER BY jobs DESC, workers.started_at, id`;
  return rows.map(withIsoTimes<WorkerLoad>);
}

/** Number of jobs that finished in one second of the database clock. */
export interface FinishedSecond {
  /** Seconds since 1970. */
  readonly second: number;
  readonly finished: number;
  /** Finished jobs that failed. */
  readonly failed: number;
}

/** Count the jobs of all organizations that finished in the last `seconds`, per second. Omit seconds without any. */
export async function readFinishedSeconds(sql: Sql, seconds: number): Promise<{ at: Date; rows: FinishedSecond[] }> {
  const rows = await sql<FinishedSecond[]>`
    SELECT floor(extract(epoch FROM completed_at))::bigint AS second, count(*)::int AS finished,
           count(*) FILTER (WHERE status = 'failed')::int AS failed
    FROM jobs
    WHERE completed_at >= date_trunc('second', now()) - ${seconds} * interval '1 second' AND ${isFinished(sql)}
    GROUP BY 1`;
  const [clock] = await sql`SELECT now() AS at`;
  return { at: clock?.['at'] as Date, rows };
}
