import type { Sql, SqlFragment } from '../platform/postgres.ts';

// Conditions on a row of `jobs`, written as literals, since PostgreSQL uses partial indexes only for literals. A test
// compares the states with schema.ts.

/** Build the condition that a worker works on a row of `jobs`. */
export function isInProgress(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
}

/** Build the condition that a row of `jobs` is queued or a worker works on it. */
export function isUnfinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('queued', 'extracting', 'chunking', 'embedding', 'indexing')`;
}

/** Build the condition that a row of `jobs` is ready, failed or cancelled. */
export function isFinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('ready', 'failed', 'cancelled')`;
}
