import type { Sql } from './sql.ts';

/** Read the version and the clock of the database server. */
export async function describeServer(sql: Sql): Promise<{ version: string; now: Date }> {
  const [row] = await sql<{ version: string; now: Date }[]>`
    select current_setting('server_version') as version, clock_timestamp() as now`;
  if (row === undefined) throw new Error('a select without a table returned no row');
  return { version: row.version, now: row.now };
}
