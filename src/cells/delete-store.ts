import type { Sql } from '../platform/postgres.ts';
import { rowsOf } from './rows-store.ts';
import { MOVED, MOVED_LAST } from './tables.ts';

/** List the buckets of an organization. */
export async function selectBucketIds(sql: Sql, orgId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`SELECT id FROM buckets WHERE org_id = ${orgId} ORDER BY id`;
  return rows.map(({ id }) => id);
}

/** Delete all rows of an organization. Return the number of rows. */
export async function deleteRows(tx: Sql, orgId: string): Promise<number> {
  let rows = 0;
  // In reverse order, rows go before the rows that they refer to, and webhook endpoints before sources of events.
  for (const table of [...MOVED, ...MOVED_LAST].reverse()) {
    const { count } = await tx`DELETE FROM ${tx(table.name)} WHERE ${rowsOf(tx, table, tx`${orgId}`)}`;
    rows += count;
  }
  await tx`DELETE FROM organization_imports WHERE org_id = ${orgId}`;
  return rows;
}
