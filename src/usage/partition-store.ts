import type { Sql } from '../platform/postgres.ts';
import { toDate } from './calendar.ts';

/** Tables of usage by day. They have one partition per month (migration 65). */
const TABLES = ['usage_ledger', 'usage_by_actor'] as const;
/** Number of months for which to create partitions in advance. */
const MONTHS_AHEAD = 2;
/** Time that a change of partitions waits for its locks, which block writers of usage. It is retried later. */
const LOCK_TIMEOUT = '500ms';

/**
 * Create the partitions of this month, the next ones, and months that have rows without a partition. Such rows are in
 * the default partition.
 */
async function makePartitions(sql: Sql, nowMs: number): Promise<void> {
  const now = new Date(nowMs);
  for (const table of TABLES) {
    const strays = await sql<{ month: string }[]>`
      SELECT DISTINCT to_char(date_trunc('month', day), 'YYYY-MM-DD') AS month FROM ${sql(`${table}_rest`)}`;
    const ahead = Array.from({ length: MONTHS_AHEAD + 1 }, (_, months) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)).toISOString().slice(0, 10),
    );
    for (const month of new Set([...ahead, ...strays.map((stray) => stray.month)])) {
      await withLocks(sql, (tx) => tx`SELECT make_month_partition(${table}, ${month}::date)`);
    }
  }
}

/** Create missing partitions, and drop those with usage older than `ageMs` (null keeps all). */
export async function keepPartitions(sql: Sql, ageMs: number | null, nowMs: number): Promise<void> {
  await makePartitions(sql, nowMs);
  if (ageMs !== null) await dropPartitionsBefore(sql, toDate(nowMs - ageMs));
}

/** Drop the partitions whose days are all before `day`, `YYYY-MM-DD`. */
async function dropPartitionsBefore(sql: Sql, day: string): Promise<void> {
  for (const table of TABLES) {
    const rows = await sql<{ name: string }[]>`
      SELECT name FROM month_partitions(${table}) WHERE until <= ${day}::date ORDER BY until`;
    for (const { name } of rows) await withLocks(sql, (tx) => tx`DROP TABLE IF EXISTS ${tx(name)}`);
  }
}

function withLocks(sql: Sql, change: (tx: Sql) => PromiseLike<unknown>): Promise<void> {
  return sql.begin(async (tx) => {
    await tx`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
    await change(tx);
  });
}
