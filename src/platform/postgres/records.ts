import type { Sql, SqlFragment } from '../postgres.ts';

/** Columns of a new row by name. Missing or undefined columns are null. */
export type RowRecord = Readonly<Record<string, unknown>>;

/**
 * Make the FROM clause that passes new rows of a table to its INSERT: rows `record`, which have the types of the table.
 * One parameter for all rows costs the client a fraction of one parameter per value.
 */
export function fromRecords(sql: Sql, table: string, records: readonly RowRecord[]): SqlFragment {
  return sql`FROM jsonb_populate_recordset(NULL::${sql(table)}, ${jsonText(records)}::text::jsonb) AS record`;
}

/** Write JSON for `::text::jsonb`. U+FFFD replaces parts that are not well-formed Unicode, as in any parameter. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item));
}
