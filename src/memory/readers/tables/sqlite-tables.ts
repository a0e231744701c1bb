import { runWithin } from '../../../platform/deadline.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { openThread } from '../../../platform/threads.ts';
import { SourceFault } from '../source-reader.ts';
import { type AliasedRow, toListedRow, toTableRow } from './aliased-rows.ts';
import type { SqliteCall } from './sqlite-thread.ts';
import type { Column, RowQuery, TableDatabase } from './table-database.ts';

const THREAD_MODULE = new URL('./sqlite-thread.ts', import.meta.url).href;
/** Time limit of a statement. */
const STATEMENT_MS_MAX = 60_000;
/** Column types that a bound text can be cast to (https://sqlite.org/lang_expr.html#castexpr). */
const CASTABLE = /^[\w ]+(?:\([\d, ]+\))?$/;

/** Open an SQLite file. Times are ISO 8601 texts, Julian days or Unix seconds, as read by SQLite's `unixepoch`. */
export function openSqliteTables(file: string): TableDatabase {
  const thread = openThread();
  const run = async (sql: string, values: readonly string[], signal: AbortSignal): Promise<AliasedRow[]> => {
    const argument: SqliteCall = { file, sql, values };
    try {
      const task = { argument, filename: THREAD_MODULE, name: 'runSqlite' };
      return await runWithin(STATEMENT_MS_MAX, signal, (limited) => thread.run<AliasedRow[]>(task, limited));
    } catch (error) {
      signal.throwIfAborted();
      throw sqliteFault(error, file);
    }
  };
  return {
    async describe({ table }, signal) {
      const columns = await run('SELECT name, type, pk FROM pragma_table_xinfo(?)', [table], signal);
      if (columns.length === 0) return null;
      const keys = columns.filter((row) => Number(row['pk']) > 0).toSorted((a, b) => Number(a['pk']) - Number(b['pk']));
      return {
        columns: columns.map((row) => ({ name: row['name'] as string, type: row['type'] as string })),
        primaryKey: keys.map((row) => row['name'] as string),
        isReadable: true,
      };
    },
    isTime: () => true,
    async list(query, after, limit, signal) {
      const keys = keyColumns(query.key);
      const next = after === null ? '' : `AND (${keys}) > (${keyValues(query.key)})`;
      const sql = `
        SELECT ${keyTexts(query.key)}, ${version(query)} AS version, ${size(query)} AS size
        FROM ${quoted(query.table)} AS t WHERE ${conditions(query)} ${next} ORDER BY ${keys} LIMIT ${limit}`;
      const rows = await run(sql, [...valuesOf(query), ...(after ?? [])], signal);
      return rows.map((row) => toListedRow(row, query));
    },
    async read(query, keys, bytesMax, signal) {
      const { sql, values } = readSql(query, keys, bytesMax);
      return (await run(sql, values, signal)).map((row) => toTableRow(row, query, bytesMax, timeOf(row)));
    },
    async close() {
      thread.close();
    },
  };
}

function readSql(query: RowQuery, keys: readonly (readonly string[])[], bytesMax: number) {
  const values = query.columns.map(
    (name, index) => `CASE WHEN ${size(query)} <= ${bytesMax} THEN ${asText(name)} END AS value${index}`,
  );
  const time = query.eventTime === null ? 'NULL' : `unixepoch(t.${quoted(query.eventTime)}, 'auto')`;
  const wanted = keys.map(() => `(${keyValues(query.key)})`).join(', ');
  const parts = [
    keyTexts(query.key),
    `${version(query)} AS version`,
    `${size(query)} AS size`,
    `${time} AS at`,
    ...values,
  ];
  return {
    sql: `SELECT ${parts.join(', ')} FROM ${quoted(query.table)} AS t
          WHERE ${conditions(query)} AND (${keyColumns(query.key)}) IN (VALUES ${wanted})`,
    values: [...valuesOf(query), ...keys.flat()],
  };
}

/** Parse a time in seconds since 1970. */
function timeOf(row: AliasedRow): number | null {
  return row['at'] === null ? null : Number(row['at']) * 1_000;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function asText(name: string): string {
  return `CAST(t.${quoted(name)} AS TEXT)`;
}

function keyColumns(key: readonly Column[]): string {
  return key.map(({ name }) => `t.${quoted(name)}`).join(', ');
}

function keyTexts(key: readonly Column[]): string {
  return key.map(({ name }, index) => `${asText(name)} AS key${index}`).join(', ');
}

/** Build the placeholder of a bound text, cast to a column's type. */
function bound({ type }: Column): string {
  return CASTABLE.test(type) ? `CAST(? AS ${type})` : '?';
}

function keyValues(key: readonly Column[]): string {
  return key.map(bound).join(', ');
}

function conditions({ key, where }: RowQuery): string {
  const hasKey = key.map(({ name }) => `t.${quoted(name)} IS NOT NULL`);
  return [...hasKey, ...where.map((column) => `t.${quoted(column.name)} = ${bound(column)}`)].join(' AND ');
}

function valuesOf({ where }: RowQuery): string[] {
  // SQLite compares truth values as numbers.
  return where.map(({ value }) => (value === 'true' ? '1' : value === 'false' ? '0' : value));
}

/** Build the expression for the size in bytes of a document's columns. */
function size({ columns }: RowQuery): string {
  return columns.map((name) => `coalesce(length(CAST(t.${quoted(name)} AS BLOB)), 0)`).join(' + ');
}

function version({ columns, eventTime, updatedAt }: RowQuery): string {
  const all = [...new Set([...columns, ...(eventTime === null ? [] : [eventTime])])];
  const digest = `sha256(${all.map((name) => `sha256(${asText(name)})`).join(' || ')})`;
  return updatedAt === null ? digest : `coalesce(${asText(updatedAt)}, ${digest})`;
}

function sqliteFault(error: unknown, file: string): SourceFault {
  const { message, name } = error as Error;
  const reason = boundedLine(message, 300);
  if (name === 'TimeoutError') {
    return new SourceFault('source_unavailable', `the file ${file} took too long to answer`, { retryable: true });
  }
  if (/no such (?:table|column)/.test(message)) {
    return new SourceFault('source_missing', `the table cannot be read any more (${reason})`);
  }
  if (/unable to open|not a database/.test(message)) {
    return new SourceFault('source_missing', `${file} cannot be read (${reason}); check that it is a file of SQLite`);
  }
  if (/node:sqlite/.test(message)) {
    return new SourceFault('source_settings', 'files of SQLite need Node.js 24, which "npm ci" installs on most hosts');
  }
  return new SourceFault('source_unavailable', `${file} cannot be read (${reason})`, { retryable: true });
}
