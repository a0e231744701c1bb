import type { Sql } from '../platform/postgres.ts';
import { deleteOldJobs } from './operation-store.ts';

/** Maximum number of jobs to delete per statement. */
const ROWS_MAX = 2_000;

/** Delete finished jobs whose retention has ended. Return their number. */
export async function sweepFinishedJobs(sql: Sql, ageMs: number, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ; ) {
    signal.throwIfAborted();
    const rows = await deleteOldJobs(sql, ageMs, ROWS_MAX);
    deleted += rows;
    if (rows < ROWS_MAX) return deleted;
  }
}
