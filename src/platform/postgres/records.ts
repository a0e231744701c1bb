import type { Sql, SqlFragment } from '../postgres.ts';

/** Columns of a new row by name. Missing or undefined columns are null. */
export type RowRecord = Readonly<Record<string, unknown>>;

/**
 * Build the FROM clause that passes new rows of a table to its INSERT, as `record` with the table's types. One
 * parameter for all rows costs the client a fraction of one parameter per value.
 */
export function fromRecords(sql: Sql, table: string, records: readonly RowRecord[]): SqlFragment {
  return sql`FROM jsonb_populate_recordset(NULL::${sql(table)}, ${jsonText(records)}::text::jsonb) AS record`;
}

/** Serialise a value as JSON for `::text::jsonb`. As in any parameter, replace malformed Unicode by U+FFFD. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item));
}
