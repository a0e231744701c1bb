import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type Row, toView } from './rows.ts';
import { isTerminal, type JobKind, type JobStatus, type JobView } from './schema.ts';
import { isFinished, isInProgress } from './state-store.ts';

/** Job with a watcher's fields: the view, its kind and the end of its lease. */
export interface WatchedRow extends JobView {
  readonly kind: JobKind;
  readonly lease_expires_at: string | null;
}

/** Jobs that a watcher may see during the whole watch. */
export interface WatchScope {
  readonly orgId: string;
  readonly kind?: JobKind | undefined;
  readonly bucketId?: string | undefined;
  /** Condition on a row of `jobs` that the watcher may see it. */
  readonly visible: (sql: Sql) => SqlFragment;
}

/** Read the database clock at the start of this transaction. */
export async function readClock(sql: Sql): Promise<Date> {
  const [row] = await sql`SELECT now() AS at`;
  return row?.['at'] as Date;
}

/** Count queued jobs and jobs in progress by state. Omit states without jobs. */
export async function countLive(sql: Sql, scope: WatchScope): Promise<{ status: JobStatus; n: number }[]> {
  // Use a branch for each of the two partial indexes.
  return sql<{ status: JobStatus; n: number }[]>`
    SELECT status, count(*)::int AS n FROM jobs
    WHERE status = 'queued' AND ${within(sql, scope)} GROUP BY status
    UNION ALL
    SELECT status, count(*)::int AS n FROM jobs
    WHERE ${isInProgress(sql)} AND ${within(sql, scope)} GROUP BY status`;
}

export interface FinishedCount {
  readonly status: JobStatus;
  /** Number finished after `after`, up to `settledAt`. */
  readonly settled: number;
  /** Number finished after `settledAt`. */
  readonly fresh: number;
  /** Number finished in the last minute. */
  readonly lastMinute: number;
  readonly firstOfMinute: Date | null;
}

/** Count jobs by state that finished after `after` or within the last minute. */
export async function countFinished(
  sql: Sql,
  scope: WatchScope,
  times: { after: Date; settledAt: Date },
): Promise<FinishedCount[]> {
  return sql<FinishedCount[]>`
    SELECT status,
           count(*) FILTER (WHERE completed_at > ${times.after} AND completed_at <= ${times.settledAt})::int AS settled,
           count(*) FILTER (WHERE completed_at > ${times.after} AND completed_at > ${times.settledAt})::int AS fresh,
           count(*) FILTER (WHERE completed_at > now() - interval '1 minute')::int AS "lastMinute",
           min(completed_at) FILTER (WHERE completed_at > now() - interval '1 minute') AS "firstOfMinute"
    FROM jobs
    WHERE completed_at > least(${times.after}, now() - interval '1 minute')
      AND ${isFinished(sql)} AND ${within(sql, scope)}
    GROUP BY status`;
}

/**
 * List jobs for the table. Without a state: jobs in progress, then queued jobs, each newest first. With a state: the
 * newest jobs in it; for a final state, only those that ended within the last day.
 */
export async function listWatched(
  sql: Sql,
  scope: WatchScope,
  status: JobStatus | null,
  limit: number,
): Promise<WatchedRow[]> {
  if (status !== null && isTerminal(status)) {
    const rows = await sql`
      SELECT * FROM jobs
      WHERE completed_at > now() - interval '1 day' AND status = ${status} AND ${within(sql, scope)}
      ORDER BY completed_at DESC, id DESC LIMIT ${limit}`;
    return rows.map(toWatched);
  }
  const inProgress = await sql`
    SELECT * FROM jobs
    WHERE ${isInProgress(sql)} AND ${within(sql, scope)}
      AND ${status === null ? sql`true` : sql`status = ${status}`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
  const queuedMax = limit - inProgress.length;
  if (queuedMax === 0 || (status !== null && status !== 'queued')) return inProgress.map(toWatched);
  const queued = await sql`
    SELECT * FROM jobs WHERE status = 'queued' AND ${within(sql, scope)}
    ORDER BY created_at DESC, id DESC LIMIT ${queuedMax}`;
  return [...inProgress, ...queued].map(toWatched);
}

/** List jobs that finished after a time, newest first. */
export async function listFinishedAfter(
  sql: Sql,
  scope: WatchScope,
  after: Date,
  limit: number,
): Promise<WatchedRow[]> {
  const rows = await sql`
    SELECT * FROM jobs
    WHERE completed_at > ${after} AND ${isFinished(sql)} AND ${within(sql, scope)}
    ORDER BY completed_at DESC, id DESC LIMIT ${limit}`;
  return rows.map(toWatched);
}

/** Return a job of the organization, of any kind and bucket, or null. */
export async function findWatched(
  sql: Sql,
  { orgId, visible }: Pick<WatchScope, 'orgId' | 'visible'>,
  jobId: string,
): Promise<WatchedRow | null> {
  const [row] = await sql`SELECT * FROM jobs WHERE org_id = ${orgId} AND ${visible(sql)} AND id = ${jobId}`;
  return row ? toWatched(row as Row) : null;
}

function within(sql: Sql, { orgId, kind, bucketId, visible }: WatchScope) {
  return sql`org_id = ${orgId} AND ${visible(sql)}
    ${kind === undefined ? sql`` : sql`AND kind = ${kind}`}
    ${bucketId === undefined ? sql`` : sql`AND bucket_id = ${bucketId}`}`;
}

function toWatched(row: Row): WatchedRow {
  const lease = row['lease_expires_at'];
  return {
    ...toView(row),
    kind: row['kind'] as JobKind,
    lease_expires_at: lease instanceof Date ? lease.toISOString() : null,
  };
}
