import type { ListedRow, RowQuery, TableRow } from './table-database.ts';

/**
 * Row of a query whose columns have fixed names: `key0`, `key1` …, `version`, `size`, and `value0`, `value1` …, since
 * names of columns of the operator may be anything.
 */
export type AliasedRow = Readonly<Record<string, unknown>>;

export function toListedRow(row: AliasedRow, { key }: RowQuery): ListedRow {
  return {
    key: key.map((_, index) => String(row[`key${index}`])),
    version: String(row['version']),
    sizeBytes: Number(row['size']),
  };
}

/** Return a row with its values, or without them if it has more than `bytesMax`. */
export function toTableRow(row: AliasedRow, query: RowQuery, bytesMax: number, eventTimeMs: number | null): TableRow {
  const listed = toListedRow(row, query);
  const values = query.columns.map((name, index) => [name, row[`value${index}`] as string | null]);
  return { ...listed, values: listed.sizeBytes > bytesMax ? null : Object.fromEntries(values), eventTimeMs };
}
