import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { MovedTable } from './tables.ts';

/** Build the condition that rows of a table belong to the organization. @param orgId SQL expression of its id */
export function rowsOf(sql: Sql, { name, owner }: MovedTable, orgId: SqlFragment): SqlFragment {
  if (owner === undefined) return sql`org_id = ${orgId}`;
  const { column, table, key } = owner;
  if (table === name) return sql`${sql(column)} = ${orgId}`;
  return sql`${sql(column)} IN (SELECT ${sql(key)} FROM ${sql(table)} WHERE org_id = ${orgId})`;
}
