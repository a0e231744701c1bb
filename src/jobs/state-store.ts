import type { Sql, SqlFragment } from '../platform/postgres.ts';

// Conditions on a row of `jobs`, as literals, since PostgreSQL uses the partial indexes only for literals. A test
// compares the states with those of schema.ts.

/** Return a condition on a row of `jobs`: a worker works on the job. */
export function isInProgress(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
}

/** Return a condition on a row of `jobs`: the job is queued, or a worker works on it. */
export function isUnfinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('queued', 'extracting', 'chunking', 'embedding', 'indexing')`;
}

/** Return a condition on a row of `jobs`: the job is ready, failed or cancelled. */
export function isFinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('ready', 'failed', 'cancelled')`;
}
