import type { Sql, SqlFragment } from '../postgres.ts';

/** Columns of a new row by their names; those that are missing or undefined are null. */
export type RowRecord = Readonly<Record<string, unknown>>;

/**
 * Give new rows of a table to its INSERT: FROM and rows `record`, which have the types of the table. One parameter for all of it
 * costs the client a fraction of what one for each value does.
 */
export function fromRecords(sql: Sql, table: string, records: readonly RowRecord[]): SqlFragment {
  return sql`FROM jsonb_populate_recordset(NULL::${sql(table)}, ${jsonText(records)}::text::jsonb) AS record`;
}

/** Write JSON for `::text::jsonb`. A text that is not well-formed Unicode gets U+FFFD where it is not, as any parameter. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'string' ? item.toWellFormed() : item));
}
