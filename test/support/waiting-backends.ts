import type { Sql } from '../../src/platform/postgres.ts';

/** Return the process ids of backends of this database that wait for a lock. */
export async function waitingBackends(sql: Sql): Promise<number[]> {
  // Within a transaction, PostgreSQL would return the same snapshot of pg_stat_activity again.
  await sql`SELECT pg_stat_clear_snapshot()`;
  const rows = await sql`
    SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE NOT granted AND datname = current_database()`;
  return rows.map((row) => row['pid'] as number);
}
