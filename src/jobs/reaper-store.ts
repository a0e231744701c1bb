import type { Sql } from '../platform/postgres.ts';

/** Record that a process runs the chores, and when it will run them again. */
export async function recordReaper(sql: Sql, everyMs: number): Promise<void> {
  await sql`
    INSERT INTO reaper_runs (every_ms, ran_at) VALUES (${everyMs}, now())
    ON CONFLICT (id) DO UPDATE SET every_ms = excluded.every_ms, ran_at = excluded.ran_at`;
}

/** Return the age of the last heartbeat of a reaper, and its interval; null if there was none. */
export async function selectReaperAge(sql: Sql): Promise<{ ageMs: number; everyMs: number } | null> {
  const [row] = await sql<{ ageMs: number; everyMs: number }[]>`
    SELECT every_ms AS "everyMs", (extract(epoch FROM now() - ran_at) * 1000)::float8 AS "ageMs" FROM reaper_runs`;
  return row ?? null;
}
