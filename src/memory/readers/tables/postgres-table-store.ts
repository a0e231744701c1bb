import { unprepared } from '../../../platform/postgres/unprepared.ts';
import type { Sql, SqlFragment } from '../../../platform/postgres.ts';
import type { Column, ListedRow, RowQuery, TableDescription, TableName, TableRow } from './table-database.ts';

/** Time limit of a statement on the operator's database. */
const STATEMENT_MS_MAX = 60_000;

/** Return a database's globally unique identity, and the rights of the connected role. */
export async function describeConnection(sql: Sql): Promise<{ identity: string; isSuperuser: boolean }> {
  const [row] = await sql<[{ identity: string; isSuperuser: boolean }]>`
    SELECT pg_postmaster_start_time()::text || '/' || oid::text AS identity,
           current_setting('is_superuser') = 'on' AS "isSuperuser"
    FROM pg_database WHERE datname = current_database()`;
  return row;
}

/** Run queries in a read-only transaction with a time limit per statement. */
export function readOnly<T>(sql: Sql, fn: (tx: Sql) => Promise<T>): Promise<T> {
  return sql.begin('isolation level repeatable read read only', async (tx) => {
    await tx`SELECT set_config('statement_timeout', ${String(STATEMENT_MS_MAX)}, true)`;
    return fn(tx);
  });
}

/** Describe a table or view. Return null if it doesn't exist. */
export async function describeTable(sql: Sql, { schema, table }: TableName): Promise<TableDescription | null> {
  const [found] = await sql`
    SELECT c.oid::bigint AS oid, has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT') AS readable
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relname = ${table} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`;
  if (!found) return null;
  const oid = found['oid'] as number;
  const columns = await sql`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = ${oid}::bigint::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;
  const keys = await sql`
    SELECT a.attname AS name
    FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = ${oid}::bigint::oid AND i.indisprimary ORDER BY k.place`;
  return {
    columns: columns.map((row) => ({ name: row['name'] as string, type: row['type'] as string })),
    primaryKey: keys.map((row) => row['name'] as string),
    isReadable: found['readable'] as boolean,
  };
}

/** List a page of rows in key order, starting after the key `after`. */
export async function listRows(
  tx: Sql,
  query: RowQuery,
  after: readonly string[] | null,
  limit: number,
): Promise<ListedRow[]> {
  const { key, updatedAt } = query;
  const content = rowText(tx, query);
  const digest = tx`encode(sha256(convert_to(${content}, 'UTF8')), 'hex')`;
  const version = updatedAt === null ? digest : tx`coalesce(t.${tx(updatedAt)}::text, ${digest})`;
  const size = updatedAt === null ? tx`octet_length(${content})` : storedSize(tx, query);
  return unprepared(tx<ListedRow[]>`
    SELECT ${keyTexts(tx, key)} AS key, ${version} AS version, ${size}::bigint AS "sizeBytes"
    FROM ${tx(query.schema)}.${tx(query.table)} AS t
    WHERE ${hasKey(tx, key)} AND ${conditions(tx, query)}
      ${after === null ? tx`` : tx`AND (${keyColumns(tx, key)}) > (${keyValues(tx, key, after)})`}
    ORDER BY ${keyColumns(tx, key)} LIMIT ${limit}`);
}

/** Read rows by key. Describe a row of more than `bytesMax` without its values. */
export async function readRows(
  tx: Sql,
  query: RowQuery,
  keys: readonly (readonly string[])[],
  bytesMax: number,
): Promise<TableRow[]> {
  const { key, columns, eventTime, updatedAt } = query;
  const content = rowText(tx, query);
  const digest = tx`encode(sha256(convert_to(${content}, 'UTF8')), 'hex')`;
  const values = list(
    tx,
    columns.map((column) => tx`t.${tx(column)}::text`),
  );
  const wanted = keys.map((each) => tx`(${keyValues(tx, key, each)})`);
  const rows = await unprepared(tx`
    SELECT ${keyTexts(tx, key)} AS key, octet_length(${content})::bigint AS size,
           ${updatedAt === null ? digest : tx`coalesce(t.${tx(updatedAt)}::text, ${digest})`} AS version,
           ${eventTime === null ? tx`NULL` : tx`floor(extract(epoch FROM t.${tx(eventTime)}::timestamptz) * 1000)`}::double precision AS at,
           CASE WHEN octet_length(${content}) <= ${bytesMax} THEN ARRAY[${values}]::text[] END AS values
    FROM ${tx(query.schema)}.${tx(query.table)} AS t
    WHERE (${keyColumns(tx, key)}) IN (${list(tx, wanted)}) AND ${conditions(tx, query)}`);
  return rows.map((row) => {
    const texts = row['values'] as (string | null)[] | null;
    return {
      key: row['key'] as string[],
      version: row['version'] as string,
      sizeBytes: Number(row['size']),
      values: texts && Object.fromEntries(columns.map((column, index) => [column, texts[index] ?? null])),
      eventTimeMs: Number.isFinite(row['at']) ? (row['at'] as number) : null,
    };
  });
}

/** Build the expression for the stored size of the columns, which doesn't read large values. */
function storedSize(tx: Sql, { columns }: RowQuery): SqlFragment {
  return columns.reduce(
    (sum, column) => tx`${sum} + coalesce(pg_column_size(t.${tx(column)}), 0)`,
    tx`0` as SqlFragment,
  );
}

/** Build the text of a document's columns, for change detection. */
function rowText(tx: Sql, { columns, eventTime }: RowQuery): SqlFragment {
  const all = [...new Set([...columns, ...(eventTime === null ? [] : [eventTime])])];
  return tx`ROW(${list(
    tx,
    all.map((column) => tx`t.${tx(column)}`),
  )})::text`;
}

function keyColumns(tx: Sql, key: readonly Column[]): SqlFragment {
  return list(
    tx,
    key.map(({ name }) => tx`t.${tx(name)}`),
  );
}

function keyTexts(tx: Sql, key: readonly Column[]): SqlFragment {
  return tx`ARRAY[${list(
    tx,
    key.map(({ name }) => tx`t.${tx(name)}::text`),
  )}]`;
}

function hasKey(tx: Sql, key: readonly Column[]): SqlFragment {
  return joined(
    tx,
    key.map(({ name }) => tx`t.${tx(name)} IS NOT NULL`),
  );
}

/** Cast key values to the types of their columns, so that an index on the key applies. */
function keyValues(tx: Sql, key: readonly Column[], values: readonly string[]): SqlFragment {
  return list(
    tx,
    key.map(({ type }, index) => tx`${values[index] ?? null}::text::${tx.unsafe(type)}`),
  );
}

function conditions(tx: Sql, { where }: RowQuery): SqlFragment {
  return joined(
    tx,
    where.map(({ name, type, value }) => tx`t.${tx(name)} = ${value}::text::${tx.unsafe(type)}`),
  );
}

function list(tx: Sql, parts: readonly SqlFragment[]): SqlFragment {
  const [first = tx``, ...rest] = parts;
  return rest.reduce((all, part) => tx`${all}, ${part}`, first);
}

function joined(tx: Sql, parts: readonly SqlFragment[]): SqlFragment {
  const [first = tx`true`, ...rest] = parts;
  return rest.reduce((all, part) => tx`${all} AND ${part}`, first);
}
