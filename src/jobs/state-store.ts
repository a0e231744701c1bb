import type { Sql, SqlFragment } from '../platform/postgres.ts';

// Conditions on a row of `jobs`, as literals: only those let PostgreSQL use the partial indexes. The states are those of
// schema.ts, which a test compares.

/** Somebody works on the job. */
export function isInProgress(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('extracting', 'chunking', 'embedding', 'indexing')`;
}

/** The job waits, or somebody works on it. */
export function isUnfinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('queued', 'extracting', 'chunking', 'embedding', 'indexing')`;
}

/** The job has ended, in whatever way. */
export function isFinished(sql: Sql): SqlFragment {
  return sql`jobs.status IN ('ready', 'failed', 'cancelled')`;
}
