import type { Sql } from '../platform/postgres.ts';
import { deleteOldJobs } from './operation-store.ts';

/** Number of jobs that one statement deletes. */
const ROWS_MAX = 2_000;

/** Delete finished jobs whose retention is over. Return their number. */
export async function sweepFinishedJobs(sql: Sql, ageMs: number, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ; ) {
    signal.throwIfAborted();
    const rows = await deleteOldJobs(sql, ageMs, ROWS_MAX);
    deleted += rows;
    if (rows < ROWS_MAX) return deleted;
  }
}
