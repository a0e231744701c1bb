import type { Sql, SqlFragment } from '../postgres.ts';

const ARRAYS = {
  text: (sql: Sql) => sql`text[]`,
  bigint: (sql: Sql) => sql`bigint[]`,
  integer: (sql: Sql) => sql`integer[]`,
  double: (sql: Sql) => sql`double precision[]`,
};

/** Column of the rows passed to a statement: its type, and its value in each row, which may be null. */
type Column<Row> = readonly [type: keyof typeof ARRAYS, of: (row: Row) => string | number | null];

/**
 * Pass rows to a statement: `FROM ${valueRows(sql, 'given', rows, { id: ['text', (row) => row.id] })}`. PostgreSQL
 * plans such a statement once per connection. With plain arrays it plans again for each length, which takes longer than
 * writing a few rows. With JSON it expects a hundred rows and tends to scan whole tables.
 */
export function valueRows<Row>(
  sql: Sql,
  name: string,
  rows: readonly Row[],
  columns: Readonly<Record<string, Column<Row>>>,
): SqlFragment {
  const values = Object.values(columns).map(
    ([type, of]) => sql`(SELECT ${rows.map(of)}::${ARRAYS[type](sql)})` as SqlFragment,
  );
  const list = values.reduce((before, each) => sql`${before}, ${each}`);
  return sql`unnest(${list}) AS ${sql(name)} (${sql(Object.keys(columns))})`;
}
