import type { ListedRow, RowQuery, TableRow } from './table-database.ts';

/**
 * Query row with fixed column aliases, since the operator's column names are arbitrary: `key0`, `key1` …, `version`,
 * `size`, and `value0`, `value1` ….
 */
export type AliasedRow = Readonly<Record<string, unknown>>;

export function toListedRow(row: AliasedRow, { key }: RowQuery): ListedRow {
  return {
    key: key.map((_, index) => String(row[`key${index}`])),
    version: String(row['version']),
    sizeBytes: Number(row['size']),
  };
}

/** Convert a row, without its values if they exceed `bytesMax`. */
export function toTableRow(row: AliasedRow, query: RowQuery, bytesMax: number, eventTimeMs: number | null): TableRow {
  const listed = toListedRow(row, query);
  const values = query.columns.map((name, index) => [name, row[`value${index}`] as string | null]);
  return { ...listed, values: listed.sizeBytes > bytesMax ? null : Object.fromEntries(values), eventTimeMs };
}
