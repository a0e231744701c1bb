import type { Chore } from './chores.ts';
import type { Sql } from './postgres.ts';

const CHECK_MS = 5_000;
/** Minimum number of rows of a table to analyse. */
const ROWS_MIN = 200;

/**
 * Create the chore that makes PostgreSQL gather statistics of tables without any. PostgreSQL does so itself once a
 * minute, but until then uses plans for empty tables. In an installation's first minute, each upload would compare its
 * bytes with those of every earlier document.
 */
export function statisticsChore(sql: Sql): Chore {
  return { name: 'statistics of new tables', everyMs: CHECK_MS, run: () => analyseNewTables(sql) };
}

async function analyseNewTables(sql: Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    SELECT pg_class.relname AS name FROM pg_class JOIN pg_stat_user_tables ON relid = pg_class.oid
    WHERE schemaname = current_schema() AND reltuples < 0 AND n_live_tup >= ${ROWS_MIN}`;
  for (const { name } of tables) await sql`ANALYZE ${sql(name)}`;
}
