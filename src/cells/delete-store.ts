import type { Sql } from '../platform/postgres.ts';
import { rowsOf } from './rows-store.ts';
import { MOVED, MOVED_LAST } from './tables.ts';

/** List the buckets of an organization. */
export async function selectBucketIds(sql: Sql, orgId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`SELECT id FROM buckets WHERE org_id = ${orgId} ORDER BY id`;
  return rows.map(({ id }) => id);
}

/** Delete all rows of an organization. Return their number. */
export async function deleteRows(tx: Sql, orgId: string): Promise<number> {
  let rows = 0;
  // Backwards, so that a row goes before those that it refers to, and endpoints before what makes events for them.
  for (const table of [...MOVED, ...MOVED_LAST].reverse()) {
    const { count } = await tx`DELETE FROM ${tx(table.name)} WHERE ${rowsOf(tx, table, tx`${orgId}`)}`;
    rows += count;
  }
  await tx`DELETE FROM organization_imports WHERE org_id = ${orgId}`;
  return rows;
}
